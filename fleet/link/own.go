package link

import (
	"slices"

	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/knowledge"
)

// A component that bundles a CRD or an operator has no use for another component that bundles
// the same one: the objects of each are served by its own. Without this rule, two releases of a
// chart depend on each other. Components that contain only CRDs are different: a chart may be
// deployed without its CRDs because they are there.

// ownKinds says which objects find their kind in their own Application, by nodes: its
// definition, or a program that installs or reconciles it.
type ownKinds struct{ defined, served map[int]bool }

func (f *finder) ownKinds() ownKinds {
	own := ownKinds{map[int]bool{}, map[int]bool{}}
	for i := range f.graph.Nodes {
		app := f.appOf[f.graph.Nodes[i].Part]
		for _, chart := range f.installersOf(app, f.graph.Nodes[i].Key.Group) {
			own.defined[i] = own.defined[i] || defines(chart, f.graph.Nodes[i].Key.Group)
			own.served[i] = own.served[i] || chart.Rung != crdsRung
		}
	}
	for _, r := range f.graph.References {
		to := f.graph.Nodes[r.To]
		switch {
		case !r.IsAboutKind() || f.appOf[f.graph.Nodes[r.From].Part] != f.appOf[to.Part]:
		case to.Kind.Defines != nil:
			own.defined[r.From] = true
		default:
			own.served[r.From] = true
		}
	}
	return own
}

// satisfies reports whether what the Application of an object contains replaces the target of a
// reference, in another Application, that is about its kind.
func (own ownKinds) satisfies(f *finder, r graph.Reference) bool {
	to := f.graph.Nodes[r.To]
	switch {
	case !r.IsAboutKind() || r.Explicit():
		return false
	case to.Kind.Defines != nil:
		return own.defined[r.From] && !f.hasOnlyCRDs(f.appOf[to.Part])
	}
	return own.served[r.From]
}

// installersOf returns the charts of an Application, of those that are not available locally,
// that install kinds of a group or their controller.
func (f *finder) installersOf(app int, group string) []knowledge.Chart {
	if f.base.Builtin(group) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(f.apps[app].Charts), func(c knowledge.Chart) bool { return !c.InstallsGroup(group) })
}

// defines reports whether a chart that installs kinds of a group contains their CRDs. A chart
// that also needs the group leaves them to another chart.
func defines(chart knowledge.Chart, group string) bool { return !slices.Contains(chart.Needs, group) }

// bundles reports whether an Application contains what installs the kinds of a group.
func (f *finder) bundles(app int, group string) bool {
	return slices.ContainsFunc(f.installersOf(app, group), func(c knowledge.Chart) bool { return defines(c, group) }) ||
		slices.Contains(f.servers(group), app)
}

// provides reports whether a chart of an Application runs the program that a class names.
func (f *finder) provides(app int, class string) bool {
	return slices.ContainsFunc(f.apps[app].Charts, func(c knowledge.Chart) bool { return slices.Contains(c.ClassProviders, class) })
}

// hasOnlyCRDs reports whether an Application is for CRDs alone.
func (f *finder) hasOnlyCRDs(app int) bool {
	for _, chart := range f.apps[app].Charts {
		if chart.Rung != crdsRung {
			return false
		}
	}
	for _, part := range f.apps[app].Parts {
		for _, o := range part.Objects {
			if !crds.Is(o) && o.ID.Kind != "Namespace" {
				return false
			}
		}
	}
	return true
}
