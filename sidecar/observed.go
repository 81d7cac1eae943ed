package sidecar

import (
	"crypto/sha256"
	"encoding/binary"
	"io/fs"
	"sync"
)

// digest stands for a reply. Two replies with the same digest are the same.
type digest [sha256.Size]byte

func (r reply) digest() digest {
	h := sha256.New()
	text := func(s string) {
		binary.Write(h, binary.LittleEndian, int64(len(s)))
		h.Write([]byte(s))
	}
	info := func(i fileInfo) {
		text(i.Base)
		binary.Write(h, binary.LittleEndian, [2]int64{i.Len, int64(i.Bits)})
	}
	switch {
	case r.Fault != nil:
		h.Write([]byte{'!', byte(r.Fault.Kind)})
		text(r.Fault.Text)
	case r.Entries != nil:
		for _, e := range r.Entries {
			// How large a file is says its own reply.
			info(fileInfo{Base: e.Base, Bits: e.Bits})
		}
	default:
		info(r.Info)
		text(r.Target)
		h.Write(r.Data)
	}
	var d digest
	h.Sum(d[:0])
	return d
}

// observed is a repository that remembers what was asked of it. It is safe for
// use by several goroutines.
type observed struct {
	asked
	mu   sync.Mutex
	seen map[question]digest
	size int  // of seen, in bytes
	full bool // seen is not all
}

// maxSeen bounds what is remembered of the questions of one rendering, in bytes.
// A chart of 50,000 files takes a third of it; paths through symlink loops can
// be endless, and the server remembers them, not the worker that asks.
const maxSeen = 32 << 20

// observe watches what is read of a repository.
func observe(repo fs.FS) *observed {
	o := &observed{seen: map[question]digest{}}
	o.asked = func(q question) reply {
		r := ask(repo, q)
		o.mu.Lock()
		_, known := o.seen[q]
		o.mu.Unlock()
		if known {
			return r
		}
		d := r.digest()
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.size += len(q.Path) + len(d); o.size > maxSeen {
			o.seen, o.full = nil, true
		}
		if !o.full {
			o.seen[q] = d
		}
		return r
	}
	return o
}

// same reports whether another repository gives the same replies, and so leads
// to the same answer.
func same(seen map[question]digest, repo fs.FS) bool {
	for q, d := range seen {
		if ask(repo, q).digest() != d {
			return false
		}
	}
	return true
}
