package fleet

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/internal/cycle"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
)

// need is what a Link demands of the order of two Applications. A link makes one
// that is sure, one that is inferred, or both, where a sign demands more than
// what is sure. From and to are indices of Fleet.Applications.
type need struct {
	from, to int
	// later means a later phase; else the same one will do.
	later bool
	// sure is false if only signs say so.
	sure   bool
	reason Reason
	// signs is how many reasons say the same.
	signs int
}

// needs lists what links demand, in an order that does not depend on the order
// of the input.
func (f *Fleet) needs() []need {
	var all []need
	for _, l := range f.Links {
		smoke := f.Applications[l.From].Rung == knowledge.Smokes && f.Applications[l.To].Rung != knowledge.Smokes
		var sure, guess need
		add := func(n need) {
			to := &guess
			if n.sure {
				to = &sure
			}
			switch {
			case to.signs == 0:
				*to = n
			case to.later == n.later:
				to.signs++
			}
		}
		for _, r := range l.Reasons { // the strongest first
			if smoke && !r.Strength.Later() {
				add(need{l.From, l.To, true, false, r, 1}) // what it names is what it checks
			}
			if r.Strength >= Exists {
				add(need{l.From, l.To, r.Strength.Later(), !r.Inferred, r, 1})
			}
		}
		if sure.signs > 0 {
			all = append(all, sure)
		}
		if guess.signs > 0 && (sure.signs == 0 || guess.later && !sure.later) {
			all = append(all, guess)
		}
	}
	slices.SortStableFunc(all, func(x, y need) int {
		return cmp.Or(f.compare(x.from, y.from), f.compare(x.to, y.to), boolean(y.sure)-boolean(x.sure))
	})
	return all
}

// compare orders Applications by what does not change with their phases.
func (f *Fleet) compare(x, y int) int {
	a, b := f.Applications[x], f.Applications[y]
	return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Dir, b.Dir), strings.Compare(string(a.Part), string(b.Part)))
}

// sentence says what a need demands and why.
func (f *Fleet) sentence(n need) string {
	relation := "not before "
	if n.later {
		relation = "after "
	}
	return relation + f.Applications[n.to].Name + ", because " + n.because()
}

// because is the reason with the place that it was read from.
func (n need) because() string {
	var aside []string
	if n.reason.File != "" && n.reason.Line > 0 {
		aside = append(aside, fmt.Sprintf("%s:%d", n.reason.File, n.reason.Line))
	}
	if !n.sure {
		aside = append(aside, "inferred")
	}
	if aside == nil {
		return n.reason.String()
	}
	return n.reason.String() + " (" + strings.Join(aside, ", ") + ")"
}

// ordered takes from the needs those that together leave an order. Needs that
// are only inferred give way to the sure ones and to stronger ones; each circle
// of sure ones is an error, and leaves none of its needs.
func (f *Fleet) ordered(all []need) (kept []need, dropped []need, stuck map[int]bool, faults []finding.Finding) {
	var signs []need
	for _, n := range all {
		if n.sure {
			kept = append(kept, n)
		} else {
			signs = append(signs, n)
		}
	}
	stuck = map[int]bool{}
	group := groups(len(f.Applications), kept)
	circles := map[int]bool{}
	for _, n := range kept {
		if n.later && group[n.from] == group[n.to] {
			circles[group[n.from]] = true
		}
	}
	for _, g := range slices.Sorted(maps.Keys(circles)) {
		circle := f.circle(kept, group, g)
		faults = append(faults, f.circleFinding(circle))
		for i := range group {
			if group[i] == g {
				stuck[i] = true
			}
		}
	}
	kept = slices.DeleteFunc(kept, func(n need) bool { return group[n.from] == group[n.to] && circles[group[n.from]] })
	slices.SortStableFunc(signs, func(x, y need) int {
		return cmp.Or(cmp.Compare(y.reason.Strength, x.reason.Strength), cmp.Compare(y.signs, x.signs))
	})
	out := make([][]need, len(f.Applications))
	for _, n := range kept {
		out[n.from] = append(out[n.from], n)
	}
	for _, n := range signs {
		if chain(out, n.to, n.from, !n.later) != nil {
			dropped = append(dropped, n)
			continue
		}
		out[n.from] = append(out[n.from], n)
		kept = append(kept, n)
	}
	return kept, dropped, stuck, faults
}

// chain is the shortest way along needs from one Application to another, nil if
// there is none. If strictly is true, some need on it must demand a later phase.
func chain(out [][]need, from, to int, strictly bool) []need {
	type state struct {
		at     int
		strict bool
	}
	isEnd := func(s state) bool { return s.at == to && s.strict }
	way, _ := cycle.Path(state{from, !strictly}, isEnd, func(s state) iter.Seq2[need, state] {
		return func(yield func(need, state) bool) {
			for _, n := range out[s.at] {
				if !yield(n, state{n.to, s.strict || n.later}) {
					return
				}
			}
		}
	})
	return way
}

// groups gives each Application the number of its group: those that need each
// other in a circle are one.
func groups(count int, needs []need) []int {
	out := make([][]int, count)
	for _, n := range needs {
		out[n.from] = append(out[n.from], n.to)
	}
	return cycle.Components(out)
}

// circle is the shortest one in a group that demands what cannot be.
func (f *Fleet) circle(needs []need, group []int, g int) []need {
	out := make([][]need, len(f.Applications))
	for _, n := range needs {
		if group[n.from] == g && group[n.to] == g {
			out[n.from] = append(out[n.from], n)
		}
	}
	var best []need
	for _, n := range needs { // in the order of names
		if !n.later || group[n.from] != g || group[n.to] != g {
			continue
		}
		if way := chain(out, n.to, n.from, false); best == nil || len(way)+1 < len(best) {
			best = append([]need{n}, way...)
		}
	}
	return best
}

func (f *Fleet) circleFinding(circle []need) finding.Finding {
	var links []string
	for _, n := range circle {
		links = append(links, f.Applications[n.from].Name+" "+f.sentence(n))
	}
	first := f.Applications[circle[0].from]
	return finding.Finding{Severity: finding.Error, Rule: "cycle", File: first.File, Object: first.Name,
		Message: "no order is right: " + strings.Join(links, "; "),
		Remedy:  "split one of them into two components, or take one of the references out"}
}
