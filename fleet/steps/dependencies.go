package steps

import (
	"cmp"
	"slices"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/internal/digraph"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
)

// Dependency is what a Link requires of the order of two Applications. A link has a certain
// dependency, an inferred one, or both if an inferred reason requires more than the certain
// ones. From and To are indices of Fleet.Applications.
type Dependency struct {
	From, To int
	// Later requires a later step; otherwise the same one is enough.
	Later bool
	// IsCertain is false if all its reasons are inferred.
	IsCertain bool
	reason    fleet.Reason
	// reasonCount is the number of reasons.
	reasonCount int
	// kinds is true if all reasons are CRDs, which a component can deploy before the rest of its
	// objects (crds: split).
	kinds bool
	// network is true for a dependency on the Pod network that decides only where the owners of the
	// fleet and the profile leave a choice.
	network bool
	// unused is true if no other object uses the objects of From that cause the dependency, so
	// that they can move to another component.
	unused bool
}

// Dependencies returns the dependencies that follow from links, in an order that does not depend
// on the order of the input.
func Dependencies(f *fleet.Fleet) []Dependency {
	var all []Dependency
	used := f.Used()
	for _, l := range f.LinksEverywhere() {
		smoke := f.Applications[l.From].Rung == knowledge.Smokes && f.Applications[l.To].Rung != knowledge.Smokes
		var certain, inferred Dependency
		add := func(n Dependency) {
			to := &inferred
			if n.IsCertain {
				to = &certain
			}
			switch {
			case to.reasonCount == 0:
				*to = n
				to.kinds, to.unused = true, true
			case to.Later == n.Later:
				to.reasonCount++
			default:
				return
			}
			to.kinds = to.kinds && IsCRD(n.reason)
			to.unused = to.unused && used.IsUnused(l.From, n.reason)
		}
		for _, r := range l.Reasons { // the strongest first
			if smoke && !r.Strength.NeedsEarlierStep() {
				add(Dependency{From: l.From, To: l.To, Later: true, reason: r, reasonCount: 1}) // a smoke test checks what it refers to
			}
			if r.Strength >= fleet.Exists {
				certain := !r.Inferred && !(r.IsNamespace() && createsNamespace(f, f.Applications[l.From]))
				add(Dependency{From: l.From, To: l.To, Later: r.Strength.NeedsEarlierStep(), IsCertain: certain, reason: r, reasonCount: 1})
			}
		}
		if certain.reasonCount > 0 {
			all = append(all, certain)
		}
		if inferred.reasonCount > 0 && (certain.reasonCount == 0 || inferred.Later && !certain.Later) {
			all = append(all, inferred)
		}
	}
	slices.SortStableFunc(all, func(x, y Dependency) int {
		return cmp.Or(f.Compare(x.From, y.From), f.Compare(x.To, y.To), toInt(y.IsCertain)-toInt(x.IsCertain))
	})
	return all
}

// sentence describes a dependency and its reason.
func sentence(f *fleet.Fleet, n Dependency) string {
	relation := "not before "
	if n.Later {
		relation = "after "
	}
	return relation + f.Applications[n.To].Name + ", because " + n.Because()
}

// Because returns the reason with its source.
func (n Dependency) Because() string {
	switch {
	case n.IsCertain:
		return n.reason.Located()
	case n.reason.IsNamespace():
		return n.reason.Located("which CreateNamespace=true creates as well")
	}
	return n.reason.Located("inferred")
}

// gap returns the minimum number of steps between the two Applications.
func (n Dependency) gap() int { return toInt(n.Later) }

func toInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// createsNamespace reports whether Argo CD creates the namespace of an Application.
func createsNamespace(f *fleet.Fleet, app *fleet.Application) bool {
	return f.SyncOptions(app.SyncOptions)["CreateNamespace"] == "true"
}

// Ordered is the result of Order. All kept dependencies can be satisfied together. The dropped
// ones are inferred, and contradict certain or stronger ones. Each cycle of certain dependencies
// is an error, and one of them is removed to break it.
type Ordered struct {
	Kept            []Dependency
	dropped, broken []Dependency
	faults          []finding.Finding
}

// Order chooses the dependencies to keep.
func Order(f *fleet.Fleet, all []Dependency) (o Ordered) {
	var inferred []Dependency
	for _, n := range all {
		if n.IsCertain {
			o.Kept = append(o.Kept, n)
		} else {
			inferred = append(inferred, n)
		}
	}
	o.Kept, o.broken, o.faults = breakCycles(f, o.Kept)
	slices.SortStableFunc(inferred, func(x, y Dependency) int {
		return cmp.Or(cmp.Compare(y.reason.Strength, x.reason.Strength), cmp.Compare(y.reasonCount, x.reasonCount))
	})
	out := outgoing(f, o.Kept)
	for _, n := range inferred {
		if chain(out, n.To, n.From, !n.Later) != nil {
			o.dropped = append(o.dropped, n)
			continue
		}
		out[n.From] = append(out[n.From], n)
		o.Kept = append(o.Kept, n)
	}
	return o
}

// outgoing returns the dependencies of each Application.
func outgoing(f *fleet.Fleet, all []Dependency) [][]Dependency {
	out := make([][]Dependency, len(f.Applications))
	for _, n := range all {
		out[n.From] = append(out[n.From], n)
	}
	return out
}

// chain returns the shortest path of dependencies from one Application to another; nil if there
// is none. If strictly is true, one of them must require a later step.
func chain(out [][]Dependency, from, to int, strictly bool) []Dependency {
	path, _ := digraph.Chain(from, to, strictly, func(at int) []Dependency { return out[at] },
		func(n Dependency) (int, bool) { return n.To, n.Later })
	return path
}

// groups returns the group of each Application. Applications in a cycle are in the same group.
func groups(count int, dependencies []Dependency) []int {
	out := make([][]int, count)
	for _, n := range dependencies {
		out[n.From] = append(out[n.From], n.To)
	}
	return digraph.Components(out)
}
