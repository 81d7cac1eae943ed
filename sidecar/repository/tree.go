package repository

import (
	"sync"

	"github.com/ladder-cmp/ladder/internal/memfs"
)

// Tree is a repository in memory: a file system that can be read and cannot be
// left. It never changes, so it is safe for use by several goroutines.
type Tree struct {
	memfs.Tree
	// Bytes is what it takes of memory, as Limits count it.
	Bytes int64
	files int
	sums  sync.Map // *memfs.Node to Digest, of the files that somebody has asked for
}

// digest is that of the reply to a question. Those of files are remembered,
// since one repository serves many requests.
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
