package checkout

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/lazyregexp"
	"github.com/ladder-cmp/ladder/internal/vfs"
)

// Repository is the object database of a git repository. It is safe for concurrent
// use.
//
// The previous version of a component is not on disk. A checkout would need a
// second work tree, and the git program, which CI images often lack; so files are
// read from the object database.
type Repository struct {
	git *git.Repository
	// reading serializes reads, since the library is not safe for concurrent use.
	reading *sync.Mutex
}

// OpenRepository opens the repository of a work tree, which may be an additional one. The
// error is a finding.
func OpenRepository(dir string) (*Repository, error) {
	repo, err := git.PlainOpenWithOptions(dir, &git.PlainOpenOptions{EnableDotGitCommonDir: true})
	if errors.Is(err, git.ErrRepositoryNotExists) {
		return nil, fault(dir, "this is not in a git repository", "compare two directories")
	}
	if err != nil {
		return nil, fault(dir, "the git repository cannot be read: "+err.Error(),
			"check the other revision out with git worktree add, and compare the two directories")
	}
	return &Repository{git: repo, reading: new(sync.Mutex)}, nil
}

func fault(file, message, remedy string) finding.Finding {
	return finding.Finding{Severity: finding.Error, Rule: finding.NotFound, File: file, Message: message, Remedy: remedy}
}

// GitCommit is a commit of a repository.
type GitCommit struct {
	// Hash is the full hash.
	Hash   string
	commit *object.Commit
	of     *Repository
}

// Commit resolves an expression such as main, origin/main, v1.2, HEAD~1 or a hash.
// Reflogs (main@{1}) and message searches (:/text) are refused: the library would
// resolve the former to the branch itself, and does not support the latter.
func (r *Repository) Commit(name string) (GitCommit, error) {
	if strings.Contains(name, "@{") || strings.Contains(name, ":/") {
		return GitCommit{}, fault("", fmt.Sprintf("%q refers to the reflog or to a commit message, which Ladder does not read",
			name), "use the commit that git rev-parse prints for it")
	}
	if strings.Contains(name, ":") {
		return GitCommit{}, fault("", fmt.Sprintf("%q is a file or directory of a revision", name),
			"pass the revision alone, and the directory as a separate argument")
	}
	// The library resolves main^{tree} like main.
	if kind := peeled.FindStringSubmatch(name); kind != nil && kind[1] != "commit" {
		return GitCommit{}, fault("", fmt.Sprintf("%q names a %s, but a revision must be a commit", name, kind[1]), "leave out ^{"+kind[1]+"}")
	}
	r.reading.Lock()
	defer r.reading.Unlock()
	hash, err := r.git.ResolveRevision(plumbing.Revision(name))
	if err == nil {
		var c *object.Commit
		if c, err = r.git.CommitObject(*hash); err == nil {
			return GitCommit{hash.String(), c, r}, nil
		}
	}
	message := fmt.Sprintf("revision %q not found", name)
	switch {
	case errors.Is(err, plumbing.ErrReferenceNotFound), errors.Is(err, plumbing.ErrObjectNotFound), errors.Is(err, io.EOF):
	case strings.HasPrefix(err.Error(), "Revision invalid"): // of a type that the library does not export
		return GitCommit{}, fault("", fmt.Sprintf("%q is not a valid revision", name),
			"write a branch, a tag or a commit, such as main, v1.2 or HEAD~1")
	default:
		message += " that can be read: " + err.Error()
	}
	return GitCommit{}, fault("", message, "name an existing directory, branch, tag or commit; in a shallow clone, fetch it first")
}

// peeled matches an expression for an object of a kind.
var peeled = lazyregexp.New(`\^\{(commit|tree|blob|tag|object)\}`)

// Names lists the branches, remote branches and tags, sorted; none if they cannot
// be read.
func (r *Repository) Names() []string {
	r.reading.Lock()
	defer r.reading.Unlock()
	all, err := r.git.References()
	if err != nil {
		return nil
	}
	var names []string
	_ = all.ForEach(func(ref *plumbing.Reference) error { // unreadable ones are left out
		if n := ref.Name(); n.IsBranch() || n.IsTag() || n.IsRemote() {
			names = append(names, n.Short())
		}
		return nil
	})
	slices.Sort(names)
	return slices.Compact(names)
}

// MergeBase returns the merge base of two commits. If there are several, it is the one
// that git lists first.
func (r *Repository) MergeBase(a, b GitCommit) (GitCommit, error) {
	r.reading.Lock()
	defer r.reading.Unlock()
	all, err := a.commit.MergeBase(b.commit)
	if err == nil && len(all) > 0 {
		return GitCommit{all[0].Hash.String(), all[0], r}, nil
	}
	message := fmt.Sprintf("%.12s and %.12s have no commit in common", a.Hash, b.Hash)
	if err != nil && !errors.Is(err, plumbing.ErrObjectNotFound) {
		message += ": " + err.Error()
	}
	return GitCommit{}, fault("", message, "fetch their whole history, or name one commit in place of the two")
}

// Files returns the files of a commit. Symlinks are followed inside the repository;
// submodules are empty directories.
func (c GitCommit) Files() (fs.FS, error) {
	c.of.reading.Lock()
	defer c.of.reading.Unlock()
	if _, err := c.commit.Tree(); err != nil {
		return nil, fault("", fmt.Sprintf("the files of commit %.12s are not there: %v", c.Hash, err), "fetch them")
	}
	return &vfs.Tree{Root: c.of.node(object.TreeEntry{Name: ".", Mode: filemode.Dir, Hash: c.commit.TreeHash})}, nil
}
