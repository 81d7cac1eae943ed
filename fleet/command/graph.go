package command

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/lint"
	"github.com/ladder-cmp/ladder/fleet/rollout"
	"github.com/ladder-cmp/ladder/internal/digraph"
	"github.com/ladder-cmp/ladder/internal/draw"
	"github.com/ladder-cmp/ladder/internal/finding"
)

// GraphOptions select what is drawn of a fleet. The zero value draws every Application, and
// those dependencies that affect the order and do not follow from others.
type GraphOptions struct {
	// All draws every dependency.
	All bool
	// Around, if not empty, draws only these of Fleet.Applications, with all their direct and
	// indirect dependencies and their direct dependents.
	Around []int
}

// acceptedLink returns the reason for which the owners of the fleet accept a dependency that
// the steps contradict.
func acceptedLink(f *fleet.Fleet, l fleet.Link) (why string, accepted bool) {
	if !isContradicted(f, l) {
		return "", false
	}
	from, to := f.Applications[l.From], f.Applications[l.To]
	rule := fleet.LaterStep
	switch {
	case !to.IsEnabled():
		rule = fleet.NeedsDisabled
	case from.Step.Number == to.Step.Number:
		rule = fleet.SameStep
	}
	if entry := f.AcceptedEntry(rule, from.Name, to.Name); entry >= 0 {
		return strings.TrimSpace(f.Settings.Accepted[entry].Why), true
	}
	return "", false
}

// isContradicted reports whether the steps contradict a dependency, accepted or not.
func isContradicted(f *fleet.Fleet, l fleet.Link) bool {
	from, to := f.Applications[l.From], f.Applications[l.To]
	if l.Strength() < fleet.Exists || !from.IsEnabled() {
		return false
	}
	if !to.IsEnabled() {
		return true
	}
	if !from.Step.Set || !to.Step.Set {
		return false
	}
	return from.Step.Number < to.Step.Number || l.Strength().NeedsEarlierStep() && from.Step.Number == to.Step.Number
}

// DrawFleet returns a drawing of the fleet: its steps, the Applications of each, and their
// dependencies.
func DrawFleet(f *fleet.Fleet, opt GraphOptions) draw.Rollout {
	r := draw.Rollout{Label: "rollout"}
	if f.Settings.Name != "" {
		r.Label = "rollout of " + f.Settings.Name
	}
	links := linksToDraw(f, opt)
	number := map[int]int{} // in the drawing, by Application
	for i, app := range f.Applications {
		if !isShown(i, opt, links) {
			continue
		}
		step := draw.Step{Title: "no " + f.Profile.Noun()}
		if app.Step.Set {
			step = stepOf(f, app.Step.Number)
		}
		// Applications are sorted by step.
		if n := len(r.Steps); n == 0 || r.Steps[n-1] != step {
			r.Steps = append(r.Steps, step)
		}
		number[i] = len(r.Apps)
		r.Apps = append(r.Apps, box(app, len(r.Steps)-1, slices.Contains(opt.Around, i)))
	}
	shown := map[[2]int]bool{}
	for _, l := range links {
		shown[[2]int{l.From, l.To}] = true
	}
	for _, l := range f.Links {
		from, isFrom := number[l.From]
		to, isTo := number[l.To]
		if !isFrom || !isTo {
			continue
		}
		dependency := draw.Dependency{From: from, To: to, Why: shortReason(l.Reasons[0]), IsGate: l.Strength().NeedsEarlierStep(),
			Inferred: !l.IsCertain(), Ignored: l.Strength() < fleet.Exists,
			Hidden: !shown[[2]int{l.From, l.To}]}
		for _, reason := range l.Reasons {
			dependency.Reasons = append(dependency.Reasons, reasonWithSource(reason))
		}
		why, accepted := acceptedLink(f, l)
		dependency.Contradicted = isContradicted(f, l) && !accepted
		if accepted {
			dependency.Why += ", accepted"
			dependency.Reasons = append(dependency.Reasons, "accepted: "+why)
		}
		r.Dependencies = append(r.Dependencies, dependency)
	}
	return r
}

// shortReason returns a reason for the label of an arrow, whose ends name the objects.
func shortReason(r fleet.Reason) string {
	words := []string{r.From.Kind, r.Why, r.To.Kind, r.To.Name}
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
}

// reasonWithSource returns a reason with its strength and its source.
func reasonWithSource(r fleet.Reason) string {
	about := []string{r.Strength.String()}
	if r.Field != "" {
		about[0] += ": " + r.Field
	}
	if r.Inferred {
		about = append(about, "inferred")
	}
	return r.String() + " (" + strings.Join(about, ", ") + ")"
}

// stepOf returns a step with its band and its place.
func stepOf(f *fleet.Fleet, step int) draw.Step {
	var about []string
	band, _ := f.Profile.Band(step)
	place, _ := f.Profile.Place(step)
	for _, text := range []string{band.Name, place.Title} {
		if text != "" && !slices.Contains(about, text) {
			about = append(about, text)
		}
	}
	return draw.Step{Title: f.Profile.StepName(step), About: strings.Join(about, ", ")}
}

// box draws an Application.
func box(app *fleet.Application, step int, chosen bool) draw.App {
	kind := cmp.Or(app.Type, app.Rung, "component")
	if part := app.Component.DomainOrTier(); part != "" {
		kind = part + " · " + kind
	}
	tip := app.Name + " in namespace " + app.Namespace
	switch {
	case app.Failed:
		tip += " could not be rendered"
	case app.IsChartMissing && app.Rung != "":
		tip += fmt.Sprintf(": %s, chart %s", app.Rung, app.Component.Chart.Chart)
	case app.Rung != "":
		tip += fmt.Sprintf(": %s (%s)", app.Rung, app.RungWhy)
	}
	if !app.IsEnabled() {
		tip += ", not deployed"
	}
	return draw.App{Step: step, Kind: kind, Name: app.Name, Tip: tip, IsFocus: chosen, IsDisabled: !app.IsEnabled()}
}

// isShown reports whether an Application is drawn.
func isShown(i int, opt GraphOptions, links []fleet.Link) bool {
	return len(opt.Around) == 0 || slices.Contains(opt.Around, i) ||
		slices.ContainsFunc(links, func(l fleet.Link) bool { return l.From == i || l.To == i })
}

// linksToDraw returns the dependencies that are drawn.
func linksToDraw(f *fleet.Fleet, opt GraphOptions) []fleet.Link {
	var links []fleet.Link
	for _, l := range f.Links {
		// Applications that are not deployed have no dependencies, and every object is in a
		// namespace.
		if opt.All || isContradicted(f, l) || affectsOrder(l) && f.Applications[l.From].IsEnabled() {
			links = append(links, l)
		}
	}
	if len(opt.Around) > 0 {
		links = neighborhood(links, opt.Around)
	}
	if opt.All {
		return links
	}
	return reduce(f, links, opt.Around)
}

// affectsOrder reports whether a dependency affects the order for another reason than the
// namespace of objects.
func affectsOrder(l fleet.Link) bool {
	return slices.ContainsFunc(l.Reasons, func(r fleet.Reason) bool { return r.Strength >= fleet.Exists && r.Field != "metadata.namespace" })
}

// neighborhood returns the dependencies of some Applications, direct and indirect, and those on
// them.
func neighborhood(links []fleet.Link, chosen []int) []fleet.Link {
	dependencies := map[int][]int{}
	for _, l := range links {
		if l.Strength() >= fleet.Exists {
			dependencies[l.From] = append(dependencies[l.From], l.To)
		}
	}
	chain := digraph.Reachable(chosen, func(app int) []int { return dependencies[app] })
	return slices.DeleteFunc(slices.Clone(links), func(l fleet.Link) bool {
		return !slices.Contains(chosen, l.From) && !slices.Contains(chosen, l.To) && !(chain[l.From] && chain[l.To])
	})
}

// reduce omits transitive dependencies: a component that depends on a database, which depends
// on an operator, also depends on the operator. It keeps those that the steps contradict, and
// those of the Applications that the drawing is about.
func reduce(f *fleet.Fleet, links []fleet.Link, chosen []int) []fleet.Link {
	out := map[int][]int{} // indices of links, by where they begin
	gone := make([]bool, len(links))
	for i, l := range links {
		out[l.From] = append(out[l.From], i)
	}
	against := func(i int) bool { return isContradicted(f, links[i]) }
	// Inferred and weak ones are omitted first.
	order := make([]int, len(links))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		sure := func(i int) int {
			if links[i].IsCertain() {
				return 1
			}
			return 0
		}
		return cmp.Or(cmp.Compare(sure(a), sure(b)), cmp.Compare(links[a].Strength(), links[b].Strength()))
	})
	for _, i := range order {
		l := links[i]
		if against(i) || slices.Contains(chosen, l.From) || slices.Contains(chosen, l.To) {
			continue
		}
		gone[i] = isImplied(l, links, out, func(k int) bool { return gone[k] || k == i || against(k) })
	}
	var kept []fleet.Link
	for i, l := range links {
		if !gone[i] {
			kept = append(kept, l)
		}
	}
	return kept
}

// isImplied reports whether a dependency is implied by others, at least one of which requires a
// later step if this one does.
func isImplied(l fleet.Link, links []fleet.Link, out map[int][]int, without func(link int) bool) bool {
	others := func(app int) []int { return slices.DeleteFunc(slices.Clone(out[app]), without) }
	_, isImplied := digraph.Chain(l.From, l.To, l.Strength().NeedsEarlierStep(), others,
		func(link int) (int, bool) { return links[link].To, links[link].Strength().NeedsEarlierStep() })
	return isImplied
}

// FleetGraph draws the steps of a fleet, or with around only those of one component, its
// dependencies and its dependents; all also draws dependencies that do not affect the order.
func FleetGraph(ctx context.Context, opt LoadOptions, dirs []string, format draw.Format, around *string,
	all bool) (drawing string, found []finding.Finding, err error) {
	loaded, err := Load(ctx, opt, dirs)
	if err != nil {
		return "", nil, err
	}
	of := GraphOptions{All: all}
	if around != nil {
		if of.Around, err = rollout.FindComponent(loaded.Fleet, *around); err != nil {
			return "", nil, err
		}
	}
	found = slices.Concat(lint.Rendering(loaded.Fleet, opt.Source.Environment, nil), loaded.Omissions)
	return DrawFleet(loaded.Fleet, of).Draw(format), found, nil
}
