package fleet

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

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
	reason Reason
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
func (f *Fleet) Needs() []Need {
	var all []Need
	used := f.usedObjects()
	for _, l := range f.linksEverywhere() {
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
			to.kinds = to.kinds && isKind(n.reason)
			to.unused = to.unused && isUnused(used, l.From, n.reason)
		}
		for _, r := range l.Reasons { // the strongest first
			if smoke && !r.Strength.NeedsEarlierStep() {
				add(Need{From: l.From, To: l.To, Later: true, reason: r, signs: 1}) // what it names is what it checks
			}
			if r.Strength >= Exists {
				sure := !r.Inferred && !(isNamespace(r) && f.makesNamespace(f.Applications[l.From]))
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

// Compare orders Applications independently of their steps.
func (f *Fleet) Compare(x, y int) int {
	a, b := f.Applications[x], f.Applications[y]
	return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Dir, b.Dir), strings.Compare(string(a.Part), string(b.Part)))
}

// sentence describes a dependency and its reason.
func (f *Fleet) sentence(n Need) string {
	relation := "not before "
	if n.Later {
		relation = "after "
	}
	return relation + f.Applications[n.To].Name + ", because " + n.Because()
}

// Because is the reason with its source.
func (n Need) Because() string {
	var aside []string
	if n.reason.File != "" && n.reason.Line > 0 {
		aside = append(aside, fmt.Sprintf("%s:%d", n.reason.File, n.reason.Line))
	}
	switch {
	case n.Sure:
	case isNamespace(n.reason):
		aside = append(aside, "which CreateNamespace=true creates as well")
	default:
		aside = append(aside, "inferred")
	}
	if aside == nil {
		return n.reason.String()
	}
	return n.reason.String() + " (" + strings.Join(aside, ", ") + ")"
}

// Ordered returns the dependencies that can be satisfied together. Inferred ones give way to
// certain and to stronger ones. Each cycle of certain ones is an error, and is broken at one
// of them.
func (f *Fleet) Ordered(all []Need) (kept, dropped, broken []Need, faults []finding.Finding) {
	var signs []Need
	for _, n := range all {
		if n.Sure {
			kept = append(kept, n)
		} else {
			signs = append(signs, n)
		}
	}
	kept, broken, faults = f.breakCycles(kept)
	slices.SortStableFunc(signs, func(x, y Need) int {
		return cmp.Or(cmp.Compare(y.reason.Strength, x.reason.Strength), cmp.Compare(y.signs, x.signs))
	})
	out := make([][]Need, len(f.Applications))
	for _, n := range kept {
		out[n.From] = append(out[n.From], n)
	}
	for _, n := range signs {
		if chain(out, n.To, n.From, !n.Later) != nil {
			dropped = append(dropped, n)
			continue
		}
		out[n.From] = append(out[n.From], n)
		kept = append(kept, n)
	}
	return kept, dropped, broken, faults
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
func (f *Fleet) circle(needs []Need, group []int, g int) []Need {
	out := make([][]Need, len(f.Applications))
	for _, n := range needs {
		if group[n.From] == g && group[n.To] == g {
			out[n.From] = append(out[n.From], n)
		}
	}
	var best []Need
	for _, n := range needs { // in the order of names
		if !n.Later || group[n.From] != g || group[n.To] != g {
			continue
		}
		if way := chain(out, n.To, n.From, false); best == nil || len(way)+1 < len(best) {
			best = append([]Need{n}, way...)
		}
	}
	return best
}
