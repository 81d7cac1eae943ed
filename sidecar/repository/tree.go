package repository

import (
	"sync"

	"github.com/ladder-cmp/ladder/internal/vfs"
)

// Tree is a repository in memory: an isolated, immutable file system that is safe
// for concurrent use.
type Tree struct {
	vfs.Tree
	// Bytes is its size in memory, as counted by Limits.
	Bytes int64
	files int
	sums  sync.Map // *vfs.Node to Digest, for files that were read
}

// digest returns the digest of a reply. Those of files are cached, since a
// repository serves many requests.
func (t *Tree) digest(q Question) Digest {
	if q.Op != readFile {
		return Ask(t, q).Digest()
	}
	n, err := t.Find("read", q.Path, true)
	if err != nil || n.IsDir() || len(n.Data) > maxFile {
		return Ask(t, q).Digest()
	}
	if d, known := t.sums.Load(n); known {
		return d.(Digest)
	}
	d := digestOfBytes(n.Data)
	t.sums.Store(n, d)
	return d
}
