package steps

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/internal/digraph"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/object"
)

// brokenCycle is a cycle of dependencies, and the dependency that is removed from it.
type brokenCycle struct {
	cycle   []Dependency
	removed Dependency
}

// breakCycles removes dependencies from the cycles until there is an order. So a single wrong
// reference does not leave a fleet without an order: Applications in a cycle, and their
// dependents, still get steps. Applications that depend on each other are one finding, however
// many cycles they form.
func breakCycles(f *fleet.Fleet, dependencies []Dependency) (kept, removed []Dependency, faults []finding.Finding) {
	kept = slices.Clone(dependencies)
	componentOf := groups(len(f.Applications), dependencies)
	cycles := map[int][]brokenCycle{}
	var order []int
	for {
		group := groups(len(f.Applications), kept)
		first := slices.IndexFunc(kept, func(n Dependency) bool { return n.Later && group[n.From] == group[n.To] })
		if first < 0 {
			break
		}
		within := slices.DeleteFunc(slices.Clone(kept), func(n Dependency) bool {
			return group[n.From] != group[kept[first].From] || group[n.To] != group[kept[first].From]
		})
		b := brokenCycle{cycle: digraph.StrictCycle(len(group), within, func(n Dependency) (int, int, bool) { return n.From, n.To, n.Later })}
		b.removed = weakest(f, b.cycle, dependencies)
		kept = slices.DeleteFunc(kept, func(n Dependency) bool { return n.From == b.removed.From && n.To == b.removed.To })
		removed = append(removed, b.removed)
		g := componentOf[b.removed.From]
		if cycles[g] == nil {
			order = append(order, g)
		}
		cycles[g] = append(cycles[g], b)
	}
	for _, g := range order {
		faults = append(faults, cycleFinding(f, cycles[g]))
	}
	return kept, removed, faults
}

// weakest returns the dependency of a cycle that is easiest to remove: one of objects that
// nothing else uses, such as a dashboard; then the one with the fewest objects; in a tie,
// that of the Application with the most dependents.
func weakest(f *fleet.Fleet, cycle, dependencies []Dependency) Dependency {
	waiting := map[int]int{}
	for _, n := range dependencies {
		waiting[n.To]++
	}
	return slices.MinFunc(cycle, func(x, y Dependency) int {
		return cmp.Or(toInt(y.unused)-toInt(x.unused), cmp.Compare(x.reasonCount, y.reasonCount),
			cmp.Compare(waiting[y.From], waiting[x.From]), f.Compare(x.From, y.From), f.Compare(x.To, y.To))
	})
}

// cycleFinding names every dependency of the cycles, and which one to remove.
func cycleFinding(f *fleet.Fleet, cycles []brokenCycle) finding.Finding {
	var links, cuts []string
	for _, c := range cycles {
		for _, n := range c.cycle {
			if link := f.Applications[n.From].Name + " " + sentence(f, n); !slices.Contains(links, link) {
				links = append(links, link)
			}
		}
		cuts = append(cuts, removalRemedy(f, c.removed))
	}
	first := f.Applications[cycles[0].cycle[0].From]
	return finding.Finding{Severity: finding.Error, Rule: "cycle", File: first.File, Object: first.Name,
		Message: "no order satisfies all dependencies: " + strings.Join(links, "; "),
		Remedy:  strings.Join(cuts, ", and ") + "; the computed steps assume this change"}
}

// removalRemedy returns the remedy that removes a dependency.
func removalRemedy(f *fleet.Fleet, n Dependency) string {
	from, to := f.Applications[n.From].Name, f.Applications[n.To].Name
	separate := "component"
	if f.InPlace() {
		separate = "Application"
	}
	switch {
	case n.kinds && !f.InPlace() && CanSplit(f.Applications[n.To]):
		return SplitRemedy(to)
	case n.reason.From == (object.ID{}):
		return fmt.Sprintf("remove the dependency of %s on %s", from, to)
	case n.reasonCount > 1:
		return fmt.Sprintf("move %s and %d more from %s to a separate %s after %s", n.reason.From, n.reasonCount-1, from, separate, to)
	}
	return fmt.Sprintf("move %s from %s to a separate %s after %s", n.reason.From, from, separate, to)
}

// IsCRD reports whether a dependency is the CRD of an object, which a component can deploy before the
// rest of its objects.
func IsCRD(r fleet.Reason) bool {
	return r.Strength == fleet.Applied && (r.To.Kind == "CustomResourceDefinition" || r.To == (object.ID{}) && r.Field == "kind")
}

// CanSplit reports whether the CRDs of an Application can become an Application of their own,
// which is deployed before the rest.
func CanSplit(app *fleet.Application) bool { return app.Part == "" || app.Part == crds.Include }

// SplitRemedy returns the fix for a cycle that CRDs of a component are part of.
func SplitRemedy(component string) string {
	return fmt.Sprintf("set crds: split in the component.yaml of %s, which moves its CRDs to an earlier step", component)
}
