package random

import (
	"cmp"
	"slices"
)

// LookupFunction reads the cluster. In a rendering it always returns an empty
// result, so charts that depend on it behave differently than on installation.
const LookupFunction = "lookup"

// Lookup is a call of lookup in a template.
type Lookup struct {
	// File is the name of the template for messages.
	File string
	// Of is the requested object, such as "Secret shop/db", or the kind of a list.
	Of string
}

// NoteLookup records a call of the function, once.
func (r *Rendering) NoteLookup(l Lookup) {
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	if !slices.Contains(r.of.lookups, l) {
		r.of.lookups = append(r.of.lookups, l)
	}
}

// Lookups returns the calls of the function, in template order.
func (r *Rendering) Lookups() []Lookup {
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	all := slices.Clone(r.of.lookups)
	slices.SortFunc(all, func(a, b Lookup) int { return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Of, b.Of)) })
	return all
}

// NoteDrawn records, once, that the output of a template contains drawn values; a nil
// Rendering records nothing.
func (r *Rendering) NoteDrawn(file string) {
	if r == nil {
		return
	}
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	if !slices.Contains(r.of.drawn, file) {
		r.of.drawn = append(r.of.drawn, file)
	}
}

// Drawn returns the templates whose output differs on every rendering, in order.
func (r *Rendering) Drawn() []string {
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	return slices.Sorted(slices.Values(r.of.drawn))
}
