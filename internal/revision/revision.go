// Package revision shows a commit of a git repository as a file system.
//
// What a component was before a change is not on disk. To check it out would
// take a second work tree, and the git program, which images of a CI often lack;
// its files are read from the object database instead.
package revision

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/ladder-cmp/ladder/internal/finding"
)

// Repository is the object database of a git repository. It may be used by
// several goroutines.
type Repository struct {
	git *git.Repository
	// reading keeps readers apart, since the library does not.
	reading *sync.Mutex
}

// Open opens the repository whose work tree is in a directory, or a work tree
// that was added to one. The error is a finding.
func Open(dir string) (*Repository, error) {
	repo, err := git.PlainOpenWithOptions(dir, &git.PlainOpenOptions{EnableDotGitCommonDir: true})
	if errors.Is(err, git.ErrRepositoryNotExists) {
		return nil, fault(dir, "this is not in a git repository", "compare two directories")
	}
	if err != nil {
		return nil, fault(dir, "the git repository cannot be read: "+err.Error(), "check the other revision out with git worktree add, and compare the two directories")
	}
	return &Repository{git: repo, reading: new(sync.Mutex)}, nil
}

func fault(file, message, remedy string) finding.Finding {
	return finding.Finding{Severity: finding.Error, Rule: "no-revision", File: file, Message: message, Remedy: remedy}
}

// Commit is a commit of a repository.
type Commit struct {
	// Hash names it for ever.
	Hash   string
	commit *object.Commit
	of     *Repository
}

// Commit finds the commit that an expression such as main, origin/main, v1.2,
// HEAD~1 or a hash names. What a branch was before (main@{1}) and what a message
// says (:/text) are not looked for: the library takes the one for the branch
// itself, and knows nothing of the other.
func (r *Repository) Commit(name string) (Commit, error) {
	if strings.Contains(name, "@{") || strings.Contains(name, ":/") {
		return Commit{}, fault("", fmt.Sprintf("%q asks for the log of a branch or for a message, which are not read", name), "give the commit that git rev-parse prints for it")
	}
	if strings.Contains(name, ":") {
		return Commit{}, fault("", fmt.Sprintf("%q is a file or directory of a revision", name), "give the revision alone, and the directory as an argument of its own")
	}
	// The library takes main^{tree} for main.
	if kind := peeled.FindStringSubmatch(name); kind != nil && kind[1] != "commit" {
		return Commit{}, fault("", fmt.Sprintf("%q asks for a %s, and a revision is a commit", name, kind[1]), "leave out ^{"+kind[1]+"}")
	}
	r.reading.Lock()
	defer r.reading.Unlock()
	hash, err := r.git.ResolveRevision(plumbing.Revision(name))
	if err == nil {
		var c *object.Commit
		if c, err = r.git.CommitObject(*hash); err == nil {
			return Commit{hash.String(), c, r}, nil
		}
	}
	message := fmt.Sprintf("revision %q not found", name)
	switch {
	case errors.Is(err, plumbing.ErrReferenceNotFound) || errors.Is(err, plumbing.ErrObjectNotFound):
	case errors.Is(err, io.EOF):
		message += ", since " + r.ended(name)
	case strings.HasPrefix(err.Error(), "Revision invalid"): // of a type that the library keeps to itself
		return Commit{}, fault("", fmt.Sprintf("%q is not a valid revision", name), "write a branch, a tag or a commit, such as main, v1.2 or HEAD~1")
	default:
		message += " that can be read: " + err.Error()
	}
	return Commit{}, fault("", message, "name a directory that is there, or a branch, a tag or a commit; in a clone that is shallow, fetch it first")
}

// peeled is an expression that asks for an object of a kind.
var peeled = regexp.MustCompile(`\^\{(commit|tree|blob|tag|object)\}`)

// step is the last one in an expression: to a parent, or to an ancestor.
var step = regexp.MustCompile(`^(.+)([~^])(\d*)$`)

// ended says why an expression leads to no commit, as far as it is known.
func (r *Repository) ended(name string) string {
	for m := step.FindStringSubmatch(name); m != nil; m = step.FindStringSubmatch(m[1]) {
		hash, err := r.git.ResolveRevision(plumbing.Revision(m[1]))
		if err != nil {
			continue
		}
		if c, err := r.git.CommitObject(*hash); err == nil && m[2] == "^" && m[3] == "2" && c.NumParents() == 1 {
			return m[1] + " is not a merge"
		}
		break
	}
	return "the history is shorter"
}

// Unmistakable is what a commit is called where its name is that of something
// else, too: by the place of the reference, such as tags/v1.4, or else by its hash.
func (r *Repository) Unmistakable(name string, c Commit) string {
	r.reading.Lock()
	defer r.reading.Unlock()
	for _, rule := range plumbing.RefRevParseRules {
		full := fmt.Sprintf(rule, name)
		if _, err := r.git.Reference(plumbing.ReferenceName(full), true); err != nil || full == name {
			continue
		}
		if short := strings.TrimPrefix(full, "refs/"); short != name {
			return short
		}
		return full
	}
	return c.Hash[:12]
}

// Names are those of the branches, the branches of remotes and the tags, sorted;
// none if they cannot be read.
func (r *Repository) Names() []string {
	r.reading.Lock()
	defer r.reading.Unlock()
	all, err := r.git.References()
	if err != nil {
		return nil
	}
	var names []string
	_ = all.ForEach(func(ref *plumbing.Reference) error { // as far as they can be read
		if n := ref.Name(); n.IsBranch() || n.IsTag() || n.IsRemote() {
			names = append(names, n.Short())
		}
		return nil
	})
	slices.Sort(names)
	return slices.Compact(names)
}

// Parted is the commit since which two histories have parted: their merge base.
// Of several the one that git lists first counts.
func (r *Repository) Parted(a, b Commit) (Commit, error) {
	r.reading.Lock()
	defer r.reading.Unlock()
	all, err := a.commit.MergeBase(b.commit)
	if err == nil && len(all) > 0 {
		return Commit{all[0].Hash.String(), all[0], r}, nil
	}
	message := fmt.Sprintf("%.12s and %.12s have no commit in common", a.Hash, b.Hash)
	if err != nil && !errors.Is(err, plumbing.ErrObjectNotFound) {
		message += ": " + err.Error()
	}
	return Commit{}, fault("", message, "fetch their whole history, or name one commit in place of the two")
}

// Files are the files of a commit. Symlinks are followed as long as they do not
// leave the repository; submodules are empty directories.
func (c Commit) Files() (fs.FS, error) {
	c.of.reading.Lock()
	defer c.of.reading.Unlock()
	root, err := c.commit.Tree()
	if err != nil {
		return nil, fault("", fmt.Sprintf("the files of commit %.12s are not there: %v", c.Hash, err), "fetch them")
	}
	return &tree{repo: c.of, root: root, read: map[plumbing.Hash]*object.Tree{}}, nil
}
