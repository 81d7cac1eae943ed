package steps

import (
	"cmp"
	"iter"
	"slices"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/internal/cycle"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
)

// Need is what a Link requires of the order of two Applications. A link has a certain need, an
// inferred one, or both if an inferred reason requires more than the certain ones. From and To
// are indices of Fleet.Applications.
type Need struct {
	From, To int
	// Later requires a later step; otherwise the same one is enough.
	Later bool
	// Sure is false if all its reasons are inferred.
	Sure   bool
	reason fleet.Reason
	// signs is the number of reasons.
	signs int
	// kinds is true if all reasons are CRDs, which a component can deploy before the rest
	// of its objects (crds: split).
	kinds bool
	// unused is true if no other object uses the objects of From that cause the need, so
	// that they can move to another component.
	unused bool
}

// Needs returns the dependencies that follow from links, in an order that does not depend on
// the order of the input.
func Needs(f *fleet.Fleet) []Need {
	var all []Need
	used := f.Used()
	for _, l := range f.LinksEverywhere() {
		smoke := f.Applications[l.From].Rung == knowledge.Smokes && f.Applications[l.To].Rung != knowledge.Smokes
		var sure, guess Need
		add := func(n Need) {
			to := &guess
			if n.Sure {
				to = &sure
			}
			switch {
			case to.signs == 0:
				*to = n
				to.kinds, to.unused = true, true
			case to.Later == n.Later:
				to.signs++
			default:
				return
			}
			to.kinds = to.kinds && IsCRD(n.reason)
			to.unused = to.unused && used.IsUnused(l.From, n.reason)
		}
		for _, r := range l.Reasons { // the strongest first
			if smoke && !r.Strength.NeedsEarlierStep() {
				add(Need{From: l.From, To: l.To, Later: true, reason: r, signs: 1}) // what it names is what it checks
			}
			if r.Strength >= fleet.Exists {
				sure := !r.Inferred && !(r.IsNamespace() && makesNamespace(f, f.Applications[l.From]))
				add(Need{From: l.From, To: l.To, Later: r.Strength.NeedsEarlierStep(), Sure: sure, reason: r, signs: 1})
			}
		}
		if sure.signs > 0 {
			all = append(all, sure)
		}
		if guess.signs > 0 && (sure.signs == 0 || guess.Later && !sure.Later) {
			all = append(all, guess)
		}
	}
	slices.SortStableFunc(all, func(x, y Need) int {
		return cmp.Or(f.Compare(x.From, y.From), f.Compare(x.To, y.To), boolean(y.Sure)-boolean(x.Sure))
	})
	return all
}

// sentence describes a dependency and its reason.
func sentence(f *fleet.Fleet, n Need) string {
	relation := "not before "
	if n.Later {
		relation = "after "
	}
	return relation + f.Applications[n.To].Name + ", because " + n.Because()
}

// Because is the reason with its source.
func (n Need) Because() string {
	switch {
	case n.Sure:
		return n.reason.Located()
	case n.reason.IsNamespace():
		return n.reason.Located("which CreateNamespace=true creates as well")
	}
	return n.reason.Located("inferred")
}

// gap is the least number of steps between the two Applications.
func (n Need) gap() int { return boolean(n.Later) }

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}

// makesNamespace reports whether Argo CD creates the namespace of an Application.
func makesNamespace(f *fleet.Fleet, app *fleet.Application) bool {
	return f.SyncOptions(app.SyncOptions)["CreateNamespace"] == "true"
}

// Ordered are dependencies of which the kept ones can be satisfied together. Inferred ones that
// are dropped give way to certain and to stronger ones. Each cycle of certain ones is an error, and
// is broken at one of them.
type Ordered struct {
	Kept            []Need
	dropped, broken []Need
	faults          []finding.Finding
}

// Order chooses the dependencies to keep.
func Order(f *fleet.Fleet, all []Need) (o Ordered) {
	var signs []Need
	for _, n := range all {
		if n.Sure {
			o.Kept = append(o.Kept, n)
		} else {
			signs = append(signs, n)
		}
	}
	o.Kept, o.broken, o.faults = breakCycles(f, o.Kept)
	slices.SortStableFunc(signs, func(x, y Need) int {
		return cmp.Or(cmp.Compare(y.reason.Strength, x.reason.Strength), cmp.Compare(y.signs, x.signs))
	})
	out := outgoing(f, o.Kept)
	for _, n := range signs {
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
func outgoing(f *fleet.Fleet, all []Need) [][]Need {
	out := make([][]Need, len(f.Applications))
	for _, n := range all {
		out[n.From] = append(out[n.From], n)
	}
	return out
}

// chain returns the shortest path of dependencies from one Application to another; nil if
// there is none. If strictly is true, one of them must require a later step.
func chain(out [][]Need, from, to int, strictly bool) []Need {
	type state struct {
		at     int
		strict bool
	}
	isEnd := func(s state) bool { return s.at == to && s.strict }
	way, _ := cycle.Path(state{from, !strictly}, isEnd, func(s state) iter.Seq2[Need, state] {
		return func(yield func(Need, state) bool) {
			for _, n := range out[s.at] {
				if !yield(n, state{n.To, s.strict || n.Later}) {
					return
				}
			}
		}
	})
	return way
}

// groups returns the group of each Application. Applications in a cycle are in the same group.
func groups(count int, needs []Need) []int {
	out := make([][]int, count)
	for _, n := range needs {
		out[n.From] = append(out[n.From], n.To)
	}
	return cycle.Components(out)
}

// circle returns the shortest cycle in a group that cannot be satisfied.
func circle(f *fleet.Fleet, needs []Need, group []int, g int) []Need {
	needs = slices.DeleteFunc(slices.Clone(needs), func(n Need) bool { return group[n.From] != g || group[n.To] != g })
	out := outgoing(f, needs)
	var best []Need
	for _, n := range needs { // in the order of names
		if !n.Later {
			continue
		}
		if way := chain(out, n.To, n.From, false); best == nil || len(way)+1 < len(best) {
			best = append([]Need{n}, way...)
		}
	}
	return best
}
