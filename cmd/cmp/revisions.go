package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/finding"
	"github.com/ladder-cmp/ladder/revision"
)

// twoSides is how commands that compare tell people what they take.
const twoSides = `The sides are two directories, or directories at two revisions of their git
repository. REV is a branch, a tag or a commit, compared with what lies in the
work tree, committed or not; REV..REV are two of them. With three dots the first
side is the commit since which the two, or REV and HEAD, have parted, so that
what others did to REV since then does not show. Revisions are read from git's
own files: nothing is checked out, and no git program is needed.`

// change is what a command compares: directories before and after.
type change struct {
	// dirs are the directories, as the user named them: one on each side, or the
	// same ones on both.
	before, after []string
	// from and to are the revisions of the sides; nil is what is on disk.
	from, to *commit
	// revisions means that it is about revisions at all.
	revisions bool
}

// commit is a revision as the user named it.
type commit struct {
	name  string
	files fs.FS
}

// readChange reads the arguments of a command: two directories, or revisions and
// then directories.
func readChange(s streams, args []string) (change, error) {
	for _, arg := range args {
		if arg == "" {
			return change{}, usageError{errors.New(`an argument is empty; name the directory or the revision, or "." for this directory`)}
		}
	}
	first, dirs := args[0], once(directories(s, args[1:]))
	repo, err := revision.Open(gitRoot(existing(dirs[0])))
	info, statErr := os.Stat(first)
	if statErr == nil && info.IsDir() {
		if len(dirs) > 1 {
			return change{}, usageError{fmt.Errorf("%s is a directory; name two directories, or a revision and then directories", first)}
		}
		if err == nil && filepath.IsLocal(first) && filepath.Clean(first) == first {
			if c, err := repo.Commit(first); err == nil {
				return change{}, usageError{fmt.Errorf("%s is a directory and a revision; write ./%s or %s", first, first, repo.Unmistakable(first, c))}
			}
		}
		if err := isThere(dirs[0]); err != nil {
			return change{}, err
		}
		return change{before: args[:1], after: dirs}, nil
	}
	if err != nil {
		if statErr == nil {
			return change{}, isThere(first) // a file
		}
		return change{}, finding.Finding{Severity: finding.Error, Rule: "no-revision", File: first, Message: "there is no such directory, and no git repository around " + dirs[0] + " where it would be a revision",
			Remedy: "name two directories, or a revision and then directories of a git repository"}
	}
	for _, dir := range dirs[1:] {
		if gitRoot(existing(dir)) != gitRoot(existing(dirs[0])) {
			return change{}, usageError{fmt.Errorf("%s is not in the repository of %s; name directories of one repository", dir, dirs[0])}
		}
	}
	c := change{before: dirs, after: dirs, revisions: true}
	if c.from, c.to, err = readRange(repo, first); err != nil {
		if statErr == nil {
			return c, isThere(first) // a file
		}
		return c, err
	}
	if !strings.Contains(first, "..") && isRevision(repo, dirs[0], c.from) {
		return c, usageError{fmt.Errorf("%s is a revision, and no directory; write %s..%s, and then directories", dirs[0], first, dirs[0])}
	}
	return c, nil
}

// once leaves out what is named before, in whatever way.
func once(names []string) []string {
	seen := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		abs, err := filepath.Abs(name)
		twice := err == nil && seen[abs]
		seen[abs] = true
		return twice
	})
}

// isRevision reports whether a name is that of a revision, and of no directory: not
// on disk, and not before the change.
func isRevision(repo *revision.Repository, name string, before *commit) bool {
	if _, err := os.Stat(name); err == nil {
		return false
	}
	if _, err := repo.Commit(name); err != nil {
		return false
	}
	c, err := openCheckout(name)
	if err != nil {
		return true
	}
	defer c.close()
	_, err = fs.Stat(before.files, c.dir)
	return err != nil
}

// readRange reads REV, REV..REV or REV...REV.
func readRange(repo *revision.Repository, text string) (from, to *commit, err error) {
	left, right, ranged := strings.Cut(text, "..")
	right, parted := strings.CutPrefix(right, ".")
	open := func(name string) (revision.Commit, error) {
		if name == "" {
			name = "HEAD"
		}
		return repo.Commit(name)
	}
	before, err := open(left)
	if err != nil {
		return nil, nil, err
	}
	if right != "" || parted {
		after, err := open(right)
		if err != nil {
			return nil, nil, err
		}
		if right != "" {
			if to, err = read(right, after); err != nil {
				return nil, nil, err
			}
		}
		if parted {
			if before, err = repo.Parted(before, after); err != nil {
				return nil, nil, err
			}
			left = before.Hash[:12]
		}
	} else if ranged {
		return nil, nil, usageError{fmt.Errorf("%s has no end; write %s to compare with the work tree, or %sHEAD", text, left, text)}
	}
	if left == "" {
		left = "HEAD"
	}
	from, err = read(left, before)
	return from, to, err
}

func read(name string, c revision.Commit) (*commit, error) {
	files, err := c.Files()
	return &commit{name, files}, err
}

// existing is the nearest directory at or above one that may be gone.
func existing(dir string) string {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return dir
	}
	for {
		if resolved, err := filepath.EvalSymlinks(abs); err == nil || filepath.Dir(abs) == abs {
			return resolved
		}
		abs = filepath.Dir(abs)
	}
}

// called names the component of a checkout: at a revision as git does.
func (c *checkout) called() string {
	if c.revision != "" {
		return c.revision + ":" + c.dir
	}
	return c.show(c.dir)
}

// atRevision says of which revision the findings in an error are.
func atRevision(err error, rev *commit) error {
	if rev == nil || err == nil {
		return err
	}
	var all []error
	for _, f := range finding.Of(err) {
		if f.File != "" {
			f.File = rev.name + ":" + f.File
		}
		all = append(all, f)
	}
	return errors.Join(all...)
}

// at is the checkout as it was at a commit; nil leaves it as it is.
func (c *checkout) at(rev *commit) *checkout {
	if rev == nil {
		return c
	}
	past := *c
	past.repo, past.revision = rev.files, rev.name
	return &past
}

// readValues reads a values file that the user names, relative to the working
// directory: at a revision, if it is in the repository there.
func (c *checkout) readValues(name string) ([]byte, error) {
	full := name
	if !filepath.IsAbs(name) {
		full = filepath.Join(workingDir(), name)
	}
	if rel, err := filepath.Rel(c.base, full); c.revision != "" && err == nil && filepath.IsLocal(rel) {
		return fs.ReadFile(c.repo, filepath.ToSlash(rel))
	}
	return os.ReadFile(name)
}
