package checkout

import (
	"io"
	"io/fs"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/ladder-cmp/ladder/internal/vfs"
)

// node returns a file or directory of a commit, which is read when it is needed.
func (r *Repository) node(e object.TreeEntry) *vfs.Node {
	n := &vfs.Node{Name: e.Name, Mode: 0o644}
	read := r.readFile
	switch e.Mode {
	case filemode.Submodule:
		return vfs.NewDir(e.Name)
	case filemode.Dir:
		n.Mode, read = fs.ModeDir|0o755, r.readDir
	case filemode.Symlink:
		n.Mode = fs.ModeSymlink | 0o777
	case filemode.Executable:
		n.Mode = 0o755
	}
	n.Load = sync.OnceValue(func() error {
		r.reading.Lock()
		defer r.reading.Unlock()
		return read(n, e.Hash)
	})
	return n
}

func (r *Repository) readDir(n *vfs.Node, hash plumbing.Hash) error {
	tree, err := r.git.TreeObject(hash)
	if err != nil {
		return err
	}
	n.Children = map[string]*vfs.Node{}
	for _, e := range tree.Entries {
		n.Children[e.Name] = r.node(e)
	}
	return nil
}

func (r *Repository) readFile(n *vfs.Node, hash plumbing.Hash) error {
	blob, err := r.git.BlobObject(hash)
	if err != nil {
		return err
	}
	content, err := blob.Reader()
	if err != nil {
		return err
	}
	defer content.Close()
	n.Data, err = io.ReadAll(content)
	if n.IsLink() {
		n.Data, n.Target = nil, string(n.Data)
	}
	return err
}
