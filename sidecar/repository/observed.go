package repository

import (
	"io/fs"
	"sync"
)

// Observed is a repository that remembers what was asked of it. It is safe for
// use by several goroutines.
type Observed struct {
	FS
	mu   sync.Mutex
	seen Answers
	size int  // of seen, in bytes
	full bool // seen is not all
}

// Answers are the digests of what a repository said, by what it was asked.
type Answers map[Question]Digest

// maxSeen bounds what is remembered of the questions of one rendering, in bytes.
// A chart of 50,000 files takes a third of it; paths through symlink loops can
// be endless, and the server remembers them, not the worker that asks.
const maxSeen = 32 << 20

// Observe watches what is read of a repository.
func Observe(repo fs.FS) *Observed {
	o := &Observed{seen: Answers{}}
	o.FS = func(q Question) Reply {
		if o.isNew(q) {
			o.remember(q, digestOf(repo, q))
		}
		return Ask(repo, q)
	}
	return o
}

// Seen is what was asked until now. It is not complete where more was asked than can
// be remembered.
func (o *Observed) Seen() (seen Answers, complete bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.seen, !o.full
}

func (o *Observed) isNew(q Question) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, known := o.seen[q]
	return !known && !o.full
}

func (o *Observed) remember(q Question, d Digest) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.size += len(q.Path) + DigestSize; o.size > maxSeen {
		o.seen, o.full = nil, true
	}
	if !o.full {
		o.seen[q] = d
	}
}

// Same reports whether a repository would say the same.
func (a Answers) Same(repo fs.FS) bool {
	for q, d := range a {
		if digestOf(repo, q) != d {
			return false
		}
	}
	return true
}
