package facts

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/internal/lazyregexp"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// Expected is what a user says that exists outside of the component: an object or, with its
// CRDs and their controller, an API group.
type Expected struct {
	// Entry is how the user wrote it.
	Entry string
	// Group is the API group; empty for an object.
	Group string
	// ID is the object. Its group is "*" if the user wrote none. Without a namespace, that of
	// the component is meant, or of the object with the annotation.
	ID object.ID
}

var (
	expectedKind = lazyregexp.New(`^[A-Z][A-Za-z0-9]*(\.[a-z0-9.-]+)?$`)
	expectedName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9.:_-]*$`)
)

// ReadExpected reads an entry of expects: Kind/name, Kind/namespace/name, with the group
// after the kind if needed, or an API group.
func ReadExpected(entry string) (Expected, bool) {
	parts := strings.Split(entry, "/")
	parts[0] = knowledge.FullKind(parts[0])
	name := parts[len(parts)-1]
	switch {
	case len(parts) == 1 && strings.Contains(entry, ".") && object.IsName(entry):
		return Expected{Entry: entry, Group: entry}, true
	case len(parts) == 2 || len(parts) == 3 && object.IsNamespaceName(parts[1]):
		if !expectedKind.MatchString(parts[0]) || !expectedName.MatchString(name) {
			break
		}
		kind, group, _ := strings.Cut(parts[0], ".")
		e := Expected{Entry: entry, ID: object.ID{Group: "*", Kind: kind, Name: name}}
		if group != "" {
			e.ID.Group = group
		}
		if len(parts) == 3 {
			e.ID.Namespace = parts[1]
		}
		return e, true
	}
	return Expected{}, false
}

// HowToExpect is the remedy for an entry of expects that cannot be read.
const HowToExpect = "write Kind/name, Kind/namespace/name or an API group, such as Secret/backup, Secret/shop/backup or cert-manager.io"

// ExpectedEntry returns the entry of expects for an object that a node refers to.
func (f *Facts) ExpectedEntry(from int, id object.ID) string {
	if id.Namespace == "" || id.Namespace == f.Nodes[from].Destination {
		return id.Kind + "/" + id.Name
	}
	return id.Kind + "/" + id.Namespace + "/" + id.Name
}

// expectedIn reads the entries of a component, which mean objects of its namespace unless
// they name another one.
func expectedIn(p Part) (all []Expected) {
	for _, entry := range p.Expects {
		if e, ok := ReadExpected(entry); ok {
			e.ID.Namespace = cmp.Or(e.ID.Namespace, p.Namespace)
			all = append(all, e)
		}
	}
	return all
}

// Expected returns what exists outside of the only component, according to its user.
func (f *Facts) Expected() []Expected { return f.expected[0] }

// ExpectedBy returns what an annotation of a node says that exists outside.
func (f *Facts) ExpectedBy(i int) (all []Expected) {
	for _, e := range f.Requests().Expected[i] {
		e.ID.Namespace = cmp.Or(e.ID.Namespace, f.Nodes[i].Key.Namespace)
		all = append(all, e)
	}
	return all
}

// Expects reports whether a user says that an object to which a node refers exists outside
// of the component.
func (f *Facts) Expects(from int, id object.ID) bool {
	return f.expectedFor(from, func(e Expected) bool { return e.isObject(id) })
}

// ExpectsKind reports whether a user says that the CRD and the controller of an object exist
// outside of the component.
func (f *Facts) ExpectsKind(i int) bool { return f.ExpectsGroup(i, f.Nodes[i].ID.Group) }

// ExpectsGroup reports whether a user says at a node that the controller of an API group exists
// outside of the component.
func (f *Facts) ExpectsGroup(i int, group string) bool {
	return f.expectedFor(i, func(e Expected) bool { return e.Group != "" && e.Group == group })
}

// ExpectsServer reports whether a user says that the program behind a node exists outside of the
// component: it converts or serves an API group, or admits only objects of some.
func (f *Facts) ExpectsServer(i int) bool {
	n := &f.Nodes[i]
	groups := []string{n.Get("spec", "group").Text()}
	if !n.Kind.Admits.IsZero() {
		groups = nil
		for _, webhook := range f.WebhooksOf(i) {
			for _, rule := range webhook.Value.Get("rules").Items() {
				groups = append(groups, Texts(rule.Get("apiGroups"))...)
			}
		}
	}
	return len(groups) > 0 && !slices.ContainsFunc(groups, func(group string) bool { return !f.ExpectsGroup(i, group) })
}

func (f *Facts) expectedFor(i int, is func(Expected) bool) bool {
	return slices.ContainsFunc(f.expected[f.Nodes[i].Part], is) || slices.ContainsFunc(f.ExpectedBy(i), is)
}

// isObject reports whether an entry means an object. An object without a namespace is
// cluster-scoped, or its namespace is unknown.
func (e Expected) isObject(id object.ID) bool {
	return e.Group == "" && e.ID.Kind == id.Kind && e.ID.Name == id.Name && (e.ID.Group == "*" || e.ID.Group == id.Group) &&
		(id.Namespace == "" || e.ID.Namespace == id.Namespace)
}

// Name is the name of the object, or the group.
func (e Expected) Name() string { return e.ID.Name + e.Group }

// WhoHas returns a node that is the object that a user expects outside or, according to records,
// writes it; created reports whether it is written.
func (f *Facts) WhoHas(e Expected) (node int, created, found bool) {
	for i := range f.Nodes {
		if e.isObject(f.Nodes[i].Key) {
			return i, false, true
		}
	}
	for _, id := range f.Products() {
		if e.isObject(id) {
			return f.Producers(id)[0], true, true
		}
	}
	return 0, false, false
}
