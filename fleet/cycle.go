package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/object"
)

// broken is a cycle of dependencies, and the one at which it is broken.
type broken struct {
	circle []Need
	at     Need
}

// breakCycles removes dependencies from the cycles until there is an order. So a single wrong
// reference does not leave a fleet without an order: Applications in a cycle, and their
// dependents, still get steps. Applications that depend on each other are one finding, however
// many cycles they form.
func (f *Fleet) breakCycles(needs []Need) (kept, cut []Need, faults []finding.Finding) {
	kept = slices.Clone(needs)
	tangle := groups(len(f.Applications), needs)
	cycles := map[int][]broken{}
	var order []int
	for {
		group := groups(len(f.Applications), kept)
		first := slices.IndexFunc(kept, func(n Need) bool { return n.Later && group[n.From] == group[n.To] })
		if first < 0 {
			break
		}
		b := broken{circle: f.circle(kept, group, group[kept[first].From])}
		b.at = f.weakest(b.circle, needs)
		kept = slices.DeleteFunc(kept, func(n Need) bool { return n.From == b.at.From && n.To == b.at.To })
		cut = append(cut, b.at)
		g := tangle[b.at.From]
		if cycles[g] == nil {
			order = append(order, g)
		}
		cycles[g] = append(cycles[g], b)
	}
	for _, g := range order {
		faults = append(faults, f.cycleFinding(cycles[g]))
	}
	return kept, cut, faults
}

// weakest returns the dependency of a cycle that is easiest to remove: one of objects that
// nothing else uses, such as a dashboard; then the one with the fewest objects; in a tie,
// that of the Application with the most dependents.
func (f *Fleet) weakest(circle, needs []Need) Need {
	waiting := map[int]int{}
	for _, n := range needs {
		waiting[n.To]++
	}
	return slices.MinFunc(circle, func(x, y Need) int {
		return cmp.Or(boolean(y.unused)-boolean(x.unused), cmp.Compare(x.signs, y.signs), cmp.Compare(waiting[y.From], waiting[x.From]), f.Compare(x.From, y.From), f.Compare(x.To, y.To))
	})
}

// cycleFinding names every dependency of the cycles, and which one to remove.
func (f *Fleet) cycleFinding(cycles []broken) finding.Finding {
	var links, cuts []string
	for _, c := range cycles {
		for _, n := range c.circle {
			if link := f.Applications[n.From].Name + " " + f.sentence(n); !slices.Contains(links, link) {
				links = append(links, link)
			}
		}
		cuts = append(cuts, f.cut(c.at))
	}
	first := f.Applications[cycles[0].circle[0].From]
	return finding.Finding{Severity: finding.Error, Rule: "cycle", File: first.File, Object: first.Name,
		Message: "no order satisfies all dependencies: " + strings.Join(links, "; "),
		Remedy:  strings.Join(cuts, ", and ") + "; the computed steps assume this change"}
}

// cut returns the remedy that removes a dependency.
func (f *Fleet) cut(n Need) string {
	from, to := f.Applications[n.From].Name, f.Applications[n.To].Name
	switch {
	case n.kinds && f.Applications[n.To].splits():
		return splitRemedy(to)
	case n.reason.From == (object.ID{}):
		return fmt.Sprintf("remove the dependency of %s on %s", from, to)
	case n.signs > 1:
		return fmt.Sprintf("move %s and %d more from %s to a separate component after %s", n.reason.From, n.signs-1, from, to)
	}
	return fmt.Sprintf("move %s from %s to a separate component after %s", n.reason.From, from, to)
}
