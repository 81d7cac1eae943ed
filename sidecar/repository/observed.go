package repository

import (
	"io/fs"
	"sync"
)

// Observed is a repository that records the questions asked of it. It is safe for
// concurrent use.
type Observed struct {
	FS
	mu   sync.Mutex
	seen Answers
	size int  // of seen, in bytes
	full bool // seen is incomplete
}

// Answers maps questions to the digests of their replies.
type Answers map[Question]Digest

// maxSeen limits the recorded questions of one rendering, in bytes. A chart of
// 50,000 files takes a third of it. Paths through symlink loops can be endless, and
// the memory is that of the server, not of the worker.
const maxSeen = 32 << 20

// Observe records what is read from a repository.
func Observe(repo fs.FS) *Observed {
	o := &Observed{seen: Answers{}}
	o.FS = func(q Question) Reply {
		r := Ask(repo, q)
		each := q.each()
		if q.Op == readFiles {
			each = each[:len(r.Files)] // the others are not answered
		}
		for _, one := range each {
			if o.isNew(one) {
				o.record(one, digestOf(repo, one))
			}
		}
		return r
	}
	return o
}

// Seen returns the answers so far. complete is false if the limit was exceeded.
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

func (o *Observed) record(q Question, d Digest) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.size += len(q.Path) + DigestSize; o.size > maxSeen {
		o.seen, o.full = nil, true
	}
	if !o.full {
		o.seen[q] = d
	}
}

// Same reports whether a repository would give the same answers.
func (a Answers) Same(repo fs.FS) bool {
	for q, d := range a {
		if digestOf(repo, q) != d {
			return false
		}
	}
	return true
}
