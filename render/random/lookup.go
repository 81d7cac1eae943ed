package random

import (
	"cmp"
	"slices"
)

// LookupFunction reads the cluster. A rendering sees none, so what it returns is empty
// each time; charts that install elsewhere what it finds do otherwise here.
const LookupFunction = "lookup"

// Lookup is what a template asked the cluster for.
type Lookup struct {
	// File is the template as messages name it.
	File string
	// Of is the object, such as "Secret shop/db", or the kind of those that it wants to
	// have listed.
	Of string
}

// NoteLookup notes a call of the function, once.
func (r *Rendering) NoteLookup(l Lookup) {
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	if !slices.Contains(r.of.lookups, l) {
		r.of.lookups = append(r.of.lookups, l)
	}
}

// Lookups are the calls of the function, in the order of the templates.
func (r *Rendering) Lookups() []Lookup {
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	all := slices.Clone(r.of.lookups)
	slices.SortFunc(all, func(a, b Lookup) int { return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Of, b.Of)) })
	return all
}
