package sidecar

import (
	"context"
	"encoding/binary"
	"hash/maphash"
	"io/fs"
	"sync"
)

// digest stands for a reply to a question. Two replies to it with the same
// digest are taken to be the same.
//
// It means something in this process only, whose seeds nobody else knows. It is no
// cryptographic hash all the same: who finds two files with the same one, against
// all odds, is given the answer to the one for the other, and that only in one
// directory of one Application, since results are filed under both. In return it
// takes a tenth of SHA-256's time, which would be half of what a remembered answer
// costs.
type digest struct {
	sums  [len(seeds)]uint64
	size  int
	fault bool
}

var seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

// digestSize is what a digest takes of memory, in bytes.
const digestSize = 32

func digestOfBytes(b []byte) digest {
	d := digest{size: len(b)}
	for i, seed := range seeds {
		d.sums[i] = maphash.Bytes(seed, b)
	}
	return d
}

func (r reply) digest() digest {
	if r.Data != nil {
		return digestOfBytes(r.Data)
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
		d := digestOfBytes(b)
		d.fault = true
		return d
	}
	for _, e := range r.Entries {
		// How large a file is says its own reply.
		info(fileInfo{Base: e.Base, Bits: e.Bits})
	}
	if r.Info != (fileInfo{}) {
		info(r.Info)
	}
	b = append(b, r.Target...)
	return digestOfBytes(b)
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
	if o.size += len(q.Path) + digestSize; o.size > maxSeen {
		o.seen, o.full = nil, true
	}
	if !o.full {
		o.seen[q] = d
	}
}

// watch notes what is fetched, too, but for what is on its way.
func (o *observed) watch(from func(context.Context, string) (Found, error)) func(context.Context, string) (Found, error) {
	if from == nil {
		return nil
	}
	return func(ctx context.Context, key string) (Found, error) {
		f, err := from(ctx, key)
		if err == nil {
			o.remember(question{fetch, key}, digestOfBytes([]byte(f.Digest)))
		}
		return f, err
	}
}

// same reports whether another request gets the same replies, and so the same
// answer. Its repository is asked first: that costs nothing.
func same(seen map[question]digest, in Input) bool {
	elsewhere := false
	for q, d := range seen {
		if q.Op == fetch {
			elsewhere = true
		} else if digestOf(in.Repo, q) != d {
			return false
		}
	}
	if !elsewhere {
		return true
	}
	for q, d := range seen {
		if q.Op == fetch && (in.digest == nil || digestOfBytes([]byte(in.digest(q.Path))) != d) {
			return false
		}
	}
	return true
}
