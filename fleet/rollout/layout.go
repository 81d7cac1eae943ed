package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/profile"
	"github.com/ladder-cmp/ladder/fleet/steps"
)

// Layout is the order in which a fleet is rolled out.
type Layout struct {
	// Name is LayoutSet, LayoutComputed or LayoutCompact.
	Name string
	// Sets are rolled out independently of each other.
	Sets []Set
	// Never lists the Applications that no step selects; they are only synced
	// manually.
	Never []int
	// Waves means that a parent Application with sync waves rolls them out.
	Waves bool
}

// Set is an ApplicationSet with steps, or a parent Application with waves. A step
// starts when all Applications of the previous one are synced and healthy.
type Set struct {
	Name  string
	Steps []Step
}

// Step is a group of Applications that are synced at the same time.
type Step struct {
	// Number is the step number as written in component.yaml; empty for the
	// catch-all step.
	Number, Title string
	// MaxUpdate is the number of concurrent updates; 0 means no limit.
	MaxUpdate int
	// Manual means that people sync the Applications of the step.
	Manual bool
	// Applications are indices of Fleet.Applications, sorted by name.
	Applications []int
}

// String returns the number and title of the step.
func (s Step) String() string { return strings.TrimSpace(s.Number + " " + s.Title) }

// phrase returns the step for a sentence.
func (s Step) phrase() string {
	switch {
	case s.Number == "":
		return "the last step (" + s.Title + ")"
	case s.Title == "":
		return "step " + s.Number
	}
	return fmt.Sprintf("step %s (%s)", s.Number, s.Title)
}

// NewLayout returns the layout of a fleet according to its profile: a step for each
// place with Applications, and a last one for Applications without a place. If the
// profile lists no places, or uses waves, each number is a step. stepOf returns the
// step number of an Application.
func NewLayout(f *fleet.Fleet, name string, stepOf func(i int) component.Step) Layout {
	l := Layout{Name: name, Waves: f.Profile.Style == profile.Waves}
	type key struct{ set, step int }
	steps := map[key]*Step{}
	const catchAll = component.MaxStep + 1 // after all steps
	for i, app := range f.Applications {
		if !app.IsEnabled() {
			continue
		}
		at := stepOf(i)
		set := setOf(f, app, at)
		if set < 0 {
			l.Never = append(l.Never, i)
			continue
		}
		band, inBand := f.Profile.Band(at.Number)
		place, hasPlace := f.Profile.Place(at.Number)
		k, step := key{set, at.Number}, Step{Number: f.FormatStep(at), Title: place.Title, MaxUpdate: place.MaxUpdate, Manual: place.Manual}
		free := l.Waves || len(f.Profile.Bands) == 0 || inBand && len(band.Places) == 0
		if l.Waves {
			step.MaxUpdate, step.Manual = 0, false // waves have neither
		}
		if !at.Set || !free && !hasPlace {
			k.step, step = catchAll, Step{Title: "all others"}
		}
		if steps[k] == nil {
			steps[k] = &step
		}
		steps[k].Applications = append(steps[k].Applications, i)
	}
	keys := make([]key, 0, len(steps))
	for k := range steps {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(x, y key) int { return cmp.Or(cmp.Compare(x.set, y.set), cmp.Compare(x.step, y.step)) })
	for i, k := range keys {
		if i == 0 || k.set != keys[i-1].set {
			l.Sets = append(l.Sets, Set{Name: setName(f, k.set)})
		}
		slices.SortFunc(steps[k].Applications, f.Compare)
		if f.InPlace() && k.set > 0 && keys[0].set != keys[len(keys)-1].set { // they have the same numbers
			steps[k].Title = f.Tree.Nodes[k.set-1].Object.ID.Name
		}
		set := &l.Sets[len(l.Sets)-1]
		set.Steps = append(set.Steps, *steps[k])
	}
	slices.SortFunc(l.Never, f.Compare)
	return l
}

// setOf returns the index of the set that contains an Application: 0 if there is only
// one, otherwise that of its band. An Application outside of all bands belongs to the
// band of its domain, if there is one. Of Applications that exist already, it is one more than the
// node that rolls them out.
func setOf(f *fleet.Fleet, app *fleet.Application, at component.Step) int {
	if f.InPlace() {
		return 1 + f.Tree.Rollout(app.Node)
	}
	if f.Profile.Sets != profile.Independent {
		return 0
	}
	for i, b := range f.Profile.Bands {
		if at.Set && b.From <= at.Number && at.Number <= b.To {
			return i
		}
	}
	if own := f.Profile.BandsOf(app.Component.DomainOrTier()); len(own) == 1 {
		return slices.IndexFunc(f.Profile.Bands, func(b profile.Band) bool { return b.Name == own[0].Name })
	}
	return -1
}

func setName(f *fleet.Fleet, set int) string {
	if f.InPlace() || f.Profile.Sets != profile.Independent {
		return ""
	}
	return f.Profile.Bands[set].Name
}

// CompactLayout returns the layout with the fewest steps.
func CompactLayout(f *fleet.Fleet, c *steps.Compact) Layout {
	l := Layout{Name: "compact", Waves: f.Profile.Style == profile.Waves}
	steps := make([]Step, c.Count)
	for _, i := range Order(c, f) {
		if f.Applications[i].IsEnabled() {
			at := &steps[c.Steps[i]-1]
			at.Number = fmt.Sprint(c.Steps[i])
			at.Applications = append(at.Applications, i)
		}
	}
	if c.Count > 0 {
		l.Sets = []Set{{Steps: steps}}
	}
	return l
}

// Order lists the Applications by step and name.
func Order(c *steps.Compact, f *fleet.Fleet) []int {
	all := make([]int, len(c.Steps))
	for i := range all {
		all[i] = i
	}
	slices.SortFunc(all, func(x, y int) int { return cmp.Or(cmp.Compare(c.Steps[x], c.Steps[y]), f.Compare(x, y)) })
	return all
}
