package facts

import (
	"strings"

	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// NamedBy finds the objects that a word names, with or without namespace
// ("shop/settings"). It considers only kinds that Pods name in fields, or that they
// call.
func (f *Facts) NamedBy(w Word, namespace string) []int {
	name, qualified := strings.CutPrefix(w.Value, namespace+"/")
	if w.IsFile || w.IsSAN || f.Base.NamesNoObject(w.Name) ||
		!qualified && (strings.Contains(name, "/") || f.IsNamespace(name)) || name == "" {
		return nil
	}
	var all []int
	for _, gk := range f.nameable.get(f.findNameableKinds) {
		all = append(all, f.byKey[object.ID{Group: gk.Group, Kind: gk.Kind, Namespace: namespace, Name: name}]...)
	}
	return all
}

// findNameableKinds returns the kinds without health of their own that Pods name in
// fields, and those that they call.
func (f *Facts) findNameableKinds() []knowledge.GroupKind {
	var all []knowledge.GroupKind
	seen := map[knowledge.GroupKind]bool{}
	add := func(gk knowledge.GroupKind) {
		if k, ok := f.Base.Kind(gk.Group, gk.Kind); ok && !seen[gk] && !k.IsAwaited() && k.Scope == "" {
			seen[gk] = true
			all = append(all, gk)
		}
	}
	for _, rec := range f.Base.PodReferences() {
		for _, gk := range rec.To {
			add(gk)
		}
	}
	for _, n := range f.Nodes {
		if !n.Kind.Selects.IsZero() {
			add(knowledge.GroupKind{Group: n.Kind.Group, Kind: n.Kind.Kind})
		}
	}
	return all
}

// Provider is a workload with a word that is the provider's name in a class.
type Provider struct{ Class, Workload int }

// Providers returns the workloads behind classes.
func (f *Facts) Providers() (all []Provider) {
	for c := range f.Nodes {
		class := &f.Nodes[c]
		name := class.Kind.Provider.Text(class.Root())
		if class.Kind.Provider.IsZero() || name == "" {
			continue
		}
		for _, w := range f.workloadsWith(name) {
			all = append(all, Provider{c, w})
		}
	}
	return all
}
