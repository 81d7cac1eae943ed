package checkout

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ladder-cmp/ladder/internal/finding"
)

// Change is the subject of a comparison: directories before and after.
type Change struct {
	// Before and After are the directories as the user named them: one on each
	// side, or the same ones on both.
	Before, After []string
	// From and To are the revisions of the sides; nil means the files on disk.
	From, To *Commit
	// Revisions reports whether any revision was named.
	Revisions bool
}

// Commit is a revision that the user named.
type Commit struct {
	Name  string
	files fs.FS
}

// ReadChange parses the arguments of a command: two directories, or revisions
// followed by directories, which the function directories may filter.
func ReadChange(args []string, directories func([]string) []string) (Change, error) {
	for _, arg := range args {
		if arg == "" {
			return Change{}, finding.Usage(`an argument is empty; name the directory or the revision, or "." for this directory`)
		}
	}
	first, dirs := args[0], Unique(directories(args[1:]))
	repo, err := repositoryOf(dirs[0])
	info, statErr := os.Stat(first)
	if statErr == nil && info.IsDir() {
		if len(dirs) > 1 {
			return Change{}, finding.Usagef("%s is a directory; name two directories, or a revision and then directories", first)
		}
		if err == nil && filepath.IsLocal(first) && filepath.Clean(first) == first {
			if _, err := repo.Commit(first); err == nil {
				return Change{}, finding.Usagef("%s is a directory and a revision; write ./%s, or heads/%s or tags/%s", first, first, first, first)
			}
		}
		if err := CheckDir(dirs[0]); err != nil {
			return Change{}, err
		}
		return Change{Before: args[:1], After: dirs}, nil
	}
	if err != nil {
		if statErr == nil {
			return Change{}, CheckDir(first) // a file
		}
		return Change{}, finding.Finding{Severity: finding.Error, Rule: finding.NotFound, File: first,
			Message: "no such directory, and no git repository around " + dirs[0] + " where it would be a revision",
			Remedy:  "name two directories, or a revision and then directories of a git repository"}
	}
	for _, dir := range dirs[1:] {
		if GitRoot(NearestExisting(dir)) != GitRoot(NearestExisting(dirs[0])) {
			return Change{}, finding.Usagef("%s is not in the repository of %s; name directories of one repository", dir, dirs[0])
		}
	}
	c := Change{Before: dirs, After: dirs, Revisions: true}
	if c.From, c.To, err = readRange(repo, first); err != nil {
		if statErr == nil {
			return c, CheckDir(first) // a file
		}
		return c, err
	}
	if !strings.Contains(first, "..") && isRevision(repo, dirs[0], c.From) {
		return c, finding.Usagef("%s is a revision, not a directory; use %s..%s, then directories", dirs[0], first, dirs[0])
	}
	return c, nil
}

// repositoryOf opens the git repository of a directory, which need not exist.
func repositoryOf(dir string) (*Repository, error) {
	root := GitRoot(NearestExisting(dir))
	if root == "" { // the library would open that of the working directory
		return nil, finding.Finding{Severity: finding.Error, Rule: finding.NotFound, File: dir, Message: "not in a git repository",
			Remedy: "name a directory in a git repository"}
	}
	return OpenRepository(root)
}

// CheckDirs returns an error for directories that neither side of a change of revisions has.
func (ch Change) CheckDirs() error {
	var faults []error
	for _, dir := range ch.After {
		if ch.Revisions && !isAt(dir, ch.From) && !isAt(dir, ch.To) {
			faults = append(faults, finding.Finding{Severity: finding.Error, Rule: finding.NotFound, File: dir,
				Message: "no such directory", Remedy: "check the path"})
		}
	}
	return errors.Join(faults...)
}

// isAt reports whether a directory exists, on disk or at a commit.
func isAt(dir string, at *Commit) bool {
	c, err := Open(dir)
	if err != nil {
		return false
	}
	defer c.Close()
	c = c.At(at)
	info, err := fs.Stat(c.Repo, c.Dir)
	return err == nil && info.IsDir()
}

// isRevision reports whether a name is a revision, and not a directory on disk or
// before the change.
func isRevision(repo *Repository, name string, before *Commit) bool {
	if _, err := os.Stat(name); err == nil {
		return false
	}
	if _, err := repo.Commit(name); err != nil {
		return false
	}
	c, err := Open(name)
	if err != nil {
		return true
	}
	defer c.Close()
	_, err = fs.Stat(before.files, c.Dir)
	return err != nil
}

// readRange parses REV, REV..REV or REV...REV.
func readRange(repo *Repository, text string) (from, to *Commit, err error) {
	left, right, ranged := strings.Cut(text, "..")
	right, parted := strings.CutPrefix(right, ".")
	open := func(name string) (GitCommit, error) {
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
			if to, err = readCommit(right, after); err != nil {
				return nil, nil, err
			}
		}
		if parted {
			if before, err = repo.MergeBase(before, after); err != nil {
				return nil, nil, err
			}
			left = before.Hash[:12]
		}
	} else if ranged {
		return nil, nil, finding.Usagef("%s has no end; write %s to compare with the work tree, or %sHEAD", text, left, text)
	}
	if left == "" {
		left = "HEAD"
	}
	from, err = readCommit(left, before)
	return from, to, err
}

func readCommit(name string, c GitCommit) (*Commit, error) {
	files, err := c.Files()
	return &Commit{Name: name, files: files}, err
}

// AtRevision adds the revision to the findings of an error.
func AtRevision(err error, rev *Commit) error {
	if rev == nil || err == nil {
		return err
	}
	var all []error
	for _, f := range finding.Of(err) {
		if f.File != "" {
			f.File = rev.Name + ":" + f.File
		}
		all = append(all, f)
	}
	return errors.Join(all...)
}
