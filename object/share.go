package object

import (
	"slices"
	"sync"
)

// Sharing keeps one copy of equal manifests, such as the CRDs of a chart that a fleet deploys several
// times, in the memory of a process that keeps all of them. The zero value is empty. It is safe for
// concurrent use.
type Sharing struct {
	mu  sync.Mutex
	all map[string]*document
}

// minShared is the size in bytes from which manifests are shared. Smaller ones mostly contain the
// name of their Application.
const minShared = 4 << 10

// Share makes objects use the text, and its parsed form, of equal ones before them. A nil Sharing
// shares nothing.
func (s *Sharing) Share(objs []Object) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, o := range objs {
		if len(o.doc.text) < minShared {
			continue
		}
		known := s.all[o.doc.text]
		switch {
		case known == nil:
			if s.all == nil {
				s.all = map[string]*document{}
			}
			s.all[o.doc.text] = o.doc
		case slices.Equal(known.added, o.doc.added): // otherwise their lines may differ
			objs[i].doc = known
		}
	}
}
