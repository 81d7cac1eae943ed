package sidecar

import (
	"crypto/sha256"
	"encoding/binary"
	"io/fs"
	"sync"
)

// digest stands for a reply to a question. Two replies to it with the same
// digest are the same.
type digest struct {
	sum   [sha256.Size]byte
	fault bool
}

func (r reply) digest() digest {
	if r.Data != nil {
		return digest{sum: sha256.Sum256(r.Data)}
	}
	var b []byte
	text := func(s string) {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	info := func(i fileInfo) {
		text(i.Base)
		b = binary.AppendVarint(b, i.Len)
		b = binary.AppendUvarint(b, uint64(i.Bits))
	}
	if r.Fault != nil {
		b = append(b, byte(r.Fault.Kind))
		text(r.Fault.Text)
		return digest{sha256.Sum256(b), true}
	}
	for _, e := range r.Entries {
		// How large a file is says its own reply.
		info(fileInfo{Base: e.Base, Bits: e.Bits})
	}
	if r.Info != (fileInfo{}) {
		info(r.Info)
	}
	b = append(b, r.Target...)
	return digest{sum: sha256.Sum256(b)}
}

// digester is a repository that knows the digests of its replies by heart.
type digester interface {
	digest(question) digest
}

func digestOf(repo fs.FS, q question) digest {
	if known, ok := repo.(digester); ok {
		return known.digest(q)
	}
	return ask(repo, q).digest()
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
		o.mu.Lock()
		_, known := o.seen[q]
		known = known || o.full
		o.mu.Unlock()
		if !known {
			o.remember(q, digestOf(repo, q))
		}
		return ask(repo, q)
	}
	return o
}

func (o *observed) remember(q question, d digest) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.size += len(q.Path) + len(d.sum); o.size > maxSeen {
		o.seen, o.full = nil, true
	}
	if !o.full {
		o.seen[q] = d
	}
}

// same reports whether another repository gives the same replies, and so leads
// to the same answer.
func same(seen map[question]digest, repo fs.FS) bool {
	for q, d := range seen {
		if digestOf(repo, q) != d {
			return false
		}
	}
	return true
}
