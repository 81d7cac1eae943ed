package steps

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/fleet"
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
func breakCycles(f *fleet.Fleet, needs []Need) (kept, cut []Need, faults []finding.Finding) {
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
		b := broken{circle: circle(f, kept, group, group[kept[first].From])}
		b.at = weakest(f, b.circle, needs)
		kept = slices.DeleteFunc(kept, func(n Need) bool { return n.From == b.at.From && n.To == b.at.To })
		cut = append(cut, b.at)
		g := tangle[b.at.From]
		if cycles[g] == nil {
			order = append(order, g)
		}
		cycles[g] = append(cycles[g], b)
	}
	for _, g := range order {
		faults = append(faults, cycleFinding(f, cycles[g]))
	}
	return kept, cut, faults
}

// weakest returns the dependency of a cycle that is easiest to remove: one of objects that
// nothing else uses, such as a dashboard; then the one with the fewest objects; in a tie,
// that of the Application with the most dependents.
func weakest(f *fleet.Fleet, circle, needs []Need) Need {
	waiting := map[int]int{}
	for _, n := range needs {
		waiting[n.To]++
	}
	return slices.MinFunc(circle, func(x, y Need) int {
		return cmp.Or(boolean(y.unused)-boolean(x.unused), cmp.Compare(x.signs, y.signs), cmp.Compare(waiting[y.From], waiting[x.From]), f.Compare(x.From, y.From), f.Compare(x.To, y.To))
	})
}

// cycleFinding names every dependency of the cycles, and which one to remove.
func cycleFinding(f *fleet.Fleet, cycles []broken) finding.Finding {
	var links, cuts []string
	for _, c := range cycles {
		for _, n := range c.circle {
			if link := f.Applications[n.From].Name + " " + sentence(f, n); !slices.Contains(links, link) {
				links = append(links, link)
			}
		}
		cuts = append(cuts, cut(f, c.at))
	}
	first := f.Applications[cycles[0].circle[0].From]
	return finding.Finding{Severity: finding.Error, Rule: "cycle", File: first.File, Object: first.Name,
		Message: "no order satisfies all dependencies: " + strings.Join(links, "; "),
		Remedy:  strings.Join(cuts, ", and ") + "; the computed steps assume this change"}
}

// cut returns the remedy that removes a dependency.
func cut(f *fleet.Fleet, n Need) string {
	from, to := f.Applications[n.From].Name, f.Applications[n.To].Name
	switch {
	case n.kinds && CanSplit(f.Applications[n.To]):
		return SplitRemedy(to)
	case n.reason.From == (object.ID{}):
		return fmt.Sprintf("remove the dependency of %s on %s", from, to)
	case n.signs > 1:
		return fmt.Sprintf("move %s and %d more from %s to a separate component after %s", n.reason.From, n.signs-1, from, to)
	}
	return fmt.Sprintf("move %s from %s to a separate component after %s", n.reason.From, from, to)
}

// IsCRD reports whether a dependency is the CRD of an object, which a component can deploy before the
// rest of its objects.
func IsCRD(r fleet.Reason) bool {
	return r.Strength == fleet.Applied && (r.To.Kind == "CustomResourceDefinition" || r.To == (object.ID{}) && r.Field == "kind")
}

// CanSplit reports whether the CRDs of an Application can become an Application of their own,
// which is deployed before the rest.
func CanSplit(app *fleet.Application) bool { return app.Part == "" || app.Part == crds.Include }

// SplitRemedy is the fix for a cycle that CRDs of a component are part of.
func SplitRemedy(component string) string {
	return fmt.Sprintf("set crds: split in the component.yaml of %s, which moves its CRDs to an earlier step", component)
}
