package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/internal/draw"
)

// GraphOptions say how much of a fleet is drawn. The zero value draws every
// Application, and those links that order something and follow from no others.
type GraphOptions struct {
	// All draws every link.
	All bool
	// Around, if not empty, draws only these of Fleet.Applications, all that they
	// need, however far, and what needs them.
	Around []int
}

// Named lists the Applications of a name, or of a component of that name.
func (f *Fleet) Named(name string) []int {
	var all []int
	for i, app := range f.Applications {
		if app.Name == name || app.Component.Name == name {
			all = append(all, i)
		}
	}
	return all
}

// Against reports whether the phases contradict a link, and the owners of the
// fleet do not accept that: what is needed comes later, or at the same time where
// it must come earlier, or never.
func (f *Fleet) Against(l Link) bool {
	_, accepted := f.acceptedLink(l)
	return f.contradicted(l) && !accepted
}

// acceptedLink finds why the owners of the fleet live with a link that its phases
// contradict.
func (f *Fleet) acceptedLink(l Link) (why string, accepted bool) {
	if !f.contradicted(l) {
		return "", false
	}
	from, to := f.Applications[l.From], f.Applications[l.To]
	rule := laterStep
	switch {
	case !to.On():
		rule = needsDisabled
	case from.Phase.Number == to.Phase.Number:
		rule = sameStep
	}
	for _, a := range f.Settings.Accepted {
		if a.Matches(rule, from.Name, to.Name) {
			return strings.TrimSpace(a.Why), true
		}
	}
	return "", false
}

// contradicted reports whether a link is against the phases, whatever the owners
// say of it.
func (f *Fleet) contradicted(l Link) bool {
	from, to := f.Applications[l.From], f.Applications[l.To]
	if l.Strength() < Exists || !from.On() {
		return false
	}
	if !to.On() {
		return true
	}
	if !from.Phase.Set || !to.Phase.Set {
		return false
	}
	return from.Phase.Number < to.Phase.Number || l.Strength().Later() && from.Phase.Number == to.Phase.Number
}

// Graph is a drawing of the fleet: its phases, what stands in each, and who needs
// whom.
func (f *Fleet) Graph(opt GraphOptions) draw.Rollout {
	r := draw.Rollout{Label: "rollout"}
	if f.Settings.Name != "" {
		r.Label = "rollout of " + f.Settings.Name
	}
	links := f.drawn(opt)
	number := map[int]int{} // in the drawing, by Application
	for i, app := range f.Applications {
		if !isShown(i, opt, links) {
			continue
		}
		step := draw.Step{Title: "no " + f.Profile.Noun()}
		if app.Phase.Set {
			step = f.step(app.Phase.Number)
		}
		// Applications are sorted by phase.
		if n := len(r.Steps); n == 0 || r.Steps[n-1] != step {
			r.Steps = append(r.Steps, step)
		}
		number[i] = len(r.Apps)
		r.Apps = append(r.Apps, f.box(app, len(r.Steps)-1, slices.Contains(opt.Around, i)))
	}
	drawn := map[[2]int]bool{}
	for _, l := range links {
		drawn[[2]int{l.From, l.To}] = true
	}
	for _, l := range f.Links {
		from, isFrom := number[l.From]
		to, isTo := number[l.To]
		if !isFrom || !isTo {
			continue
		}
		need := draw.Need{From: from, To: to, Why: inShort(l.Reasons[0]), Gate: l.Strength().Later(), Inferred: !l.Sure(), Loose: l.Strength() < Exists,
			Against: f.Against(l), Hidden: !drawn[[2]int{l.From, l.To}]}
		for _, reason := range l.Reasons {
			need.Reasons = append(need.Reasons, told(reason))
		}
		if why, accepted := f.acceptedLink(l); accepted {
			need.Why += ", accepted"
			need.Reasons = append(need.Reasons, "accepted: "+why)
		}
		r.Needs = append(r.Needs, need)
	}
	return r
}

// inShort is a reason beside an arrow, whose ends say where the objects are.
func inShort(r Reason) string {
	words := []string{r.From.Kind, r.Why, r.To.Kind, r.To.Name}
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
}

// told is a reason with its strength, and where it was read.
func told(r Reason) string {
	about := []string{r.Strength.String()}
	if r.Field != "" {
		about[0] += ": " + r.Field
	}
	if r.Inferred {
		about = append(about, "inferred")
	}
	return r.String() + " (" + strings.Join(about, ", ") + ")"
}

// step names a phase by what stands there.
func (f *Fleet) step(phase int) draw.Step {
	var about []string
	band, _ := f.Profile.Band(phase)
	place, _ := f.Profile.Place(phase)
	for _, text := range []string{band.Name, place.Title} {
		if text != "" && !slices.Contains(about, text) {
			about = append(about, text)
		}
	}
	return draw.Step{Title: f.Profile.StepName(phase), About: strings.Join(about, ", ")}
}

// box draws an Application.
func (f *Fleet) box(app *Application, step int, chosen bool) draw.App {
	kind := cmp.Or(app.Type, app.Rung, "component")
	if part := app.Component.Part(); part != "" {
		kind = part + " · " + kind
	}
	tip := app.Name + " in namespace " + app.Namespace
	switch {
	case app.Failed:
		tip += " could not be rendered"
	case app.Elsewhere && app.Rung != "":
		tip += fmt.Sprintf(": %s, chart %s", app.Rung, app.Component.Chart.Chart)
	case app.Rung != "":
		tip += fmt.Sprintf(": %s (%s)", app.Rung, app.RungWhy)
	}
	if !app.On() {
		tip += ", not deployed"
	}
	return draw.App{Step: step, Kind: kind, Name: app.Name, Tip: tip, Chosen: chosen, Off: !app.On()}
}

// isShown reports whether an Application is in the drawing.
func isShown(i int, opt GraphOptions, links []Link) bool {
	return len(opt.Around) == 0 || slices.Contains(opt.Around, i) || slices.ContainsFunc(links, func(l Link) bool { return l.From == i || l.To == i })
}

// drawn are the links in the drawing.
func (f *Fleet) drawn(opt GraphOptions) []Link {
	var links []Link
	for _, l := range f.Links {
		// What is not deployed needs nothing, and everything is in a namespace.
		if opt.All || f.contradicted(l) || ordering(l) && f.Applications[l.From].On() {
			links = append(links, l)
		}
	}
	if len(opt.Around) > 0 {
		links = around(links, opt.Around)
	}
	if opt.All {
		return links
	}
	return f.reduce(links, opt.Around)
}

// ordering reports whether a link orders something for another reason than the
// namespace that objects are in.
func ordering(l Link) bool {
	return slices.ContainsFunc(l.Reasons, func(r Reason) bool { return r.Strength >= Exists && r.Field != "metadata.namespace" })
}

// around keeps the links of some Applications, and those of all that they need.
func around(links []Link, chosen []int) []Link {
	needs := map[int][]int{}
	for _, l := range links {
		if l.Strength() >= Exists {
			needs[l.From] = append(needs[l.From], l.To)
		}
	}
	chain := map[int]bool{}
	for todo := slices.Clone(chosen); len(todo) > 0; {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !chain[i] {
			chain[i] = true
			todo = append(todo, needs[i]...)
		}
	}
	return slices.DeleteFunc(slices.Clone(links), func(l Link) bool {
		return !slices.Contains(chosen, l.From) && !slices.Contains(chosen, l.To) && !(chain[l.From] && chain[l.To])
	})
}

// reduce leaves out links that follow from others: who needs a database that
// needs an operator needs the operator. Those that the phases contradict stay,
// and so do those of the Applications that the drawing is about.
func (f *Fleet) reduce(links []Link, chosen []int) []Link {
	out := map[int][]int{} // indices of links, by where they begin
	gone := make([]bool, len(links))
	for i, l := range links {
		out[l.From] = append(out[l.From], i)
	}
	against := func(i int) bool { return f.contradicted(links[i]) }
	// What is only inferred goes first, and what is weaker.
	order := make([]int, len(links))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		sure := func(i int) int {
			if links[i].Sure() {
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
		gone[i] = follows(l, links, out, func(k int) bool { return gone[k] || k == i || against(k) })
	}
	var kept []Link
	for i, l := range links {
		if !gone[i] {
			kept = append(kept, l)
		}
	}
	return kept
}

// follows reports whether other links lead the same way, and at least one of
// them demands a later phase if this one does.
func follows(l Link, links []Link, out map[int][]int, without func(link int) bool) bool {
	type place struct {
		app   int
		later bool
	}
	seen := map[place]bool{}
	for todo := []place{{l.From, false}}; len(todo) > 0; {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[at] {
			continue
		}
		seen[at] = true
		if at.app == l.To && (at.later || !l.Strength().Later()) {
			return true
		}
		for _, k := range out[at.app] {
			if next := links[k]; !without(k) {
				todo = append(todo, place{next.To, at.later || next.Strength().Later()})
			}
		}
	}
	return false
}
