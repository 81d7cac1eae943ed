package object

import (
	"slices"
	"strings"
	"sync"
)

// Sharing parses, annotates and keeps equal manifests once, such as the CRDs of a chart that a fleet
// deploys several times, and keeps equal parts of other manifests once. It is for a process that keeps
// all of them. The zero value is empty; a nil Sharing shares nothing. It is safe for concurrent use.
type Sharing struct {
	mu             sync.Mutex
	parsed, edited map[string]*document
	nodes          nodes
}

// Parse is the function Parse for texts of which some documents are equal. The objects have copies of
// their documents: one that is not edited would keep the whole text in memory.
func (s *Sharing) Parse(file string, line int, text string) ([]Object, error) {
	return parse(file, line, text, s)
}

// find returns the document that was parsed from an equal text; nil if there is none.
func (s *Sharing) find(text string) *document {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.parsed[text]
}

// add returns the document of a text that was parsed: a new one, or an equal one that was added
// meanwhile.
func (s *Sharing) add(d *document) *document {
	if s == nil {
		return d
	}
	d.text, d.root = strings.Clone(d.text), s.nodes.intern(d.root)
	d.edits = &edits{}
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.parsed[d.text]; known != nil {
		return known
	}
	if s.parsed == nil {
		s.parsed, s.edited = map[string]*document{}, map[string]*document{}
	}
	s.parsed[d.text] = d
	return d
}

// Share makes objects that were edited in other ways than by annotations use the text, and its parsed
// form, of equal ones before them.
func (s *Sharing) Share(objs []Object) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, o := range objs {
		if o.doc.edits != nil {
			continue
		}
		known := s.edited[o.doc.content()]
		switch {
		case known == nil:
			if s.edited == nil {
				s.parsed, s.edited = map[string]*document{}, map[string]*document{}
			}
			s.edited[o.doc.content()] = o.doc
		case slices.Equal(known.added, o.doc.added): // otherwise their lines may differ
			objs[i].doc = known
		}
	}
}

// edits are the documents that are a shared one with other annotations.
type edits struct {
	mu  sync.Mutex
	all []*document
}

// annotated returns a document with annotations that it lacks. Objects that share a document share
// the result.
func (d *document) annotated(added []Annotation) (*document, error) {
	if d.edits == nil {
		return annotate(d, added)
	}
	d.edits.mu.Lock()
	defer d.edits.mu.Unlock()
	for _, known := range d.edits.all {
		if slices.Equal(known.added, added) {
			return known, nil
		}
	}
	made, err := annotate(d, added)
	if err == nil && made.added != nil { // others may differ in their lines
		made.edits = &edits{}
		d.edits.all = append(d.edits.all, made)
	}
	return made, err
}
