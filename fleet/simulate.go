package fleet

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/internal/profile"
)

// Layout is in which order a fleet is rolled out.
type Layout struct {
	// Name is what people call it.
	Name string
	// Sets are rolled out independently of each other.
	Sets []Set
	// Never are Applications that no step has, so that nobody syncs them.
	Never []int
	// Waves means that a parent Application with sync waves rolls them out.
	Waves bool
}

// Set is an ApplicationSet with steps, or a parent with waves. Each begins when
// all Applications of the one before are synced and healthy.
type Set struct {
	Name  string
	Steps []Step
}

// Step is what is synced at the same time.
type Step struct {
	// Phase is as it is written; empty for what no other step has.
	Phase, Title string
	// MaxUpdate is how many are updated at once; 0 means all.
	MaxUpdate int
	// Manual means that nobody syncs them but a person.
	Manual bool
	// Applications are indices of Fleet.Applications, by name.
	Applications []int
}

// String names the step.
func (s Step) String() string { return strings.TrimSpace(s.Phase + " " + s.Title) }

// Layout is the rollout of the fleet by its profile, with a phase for each
// Application: a step for each place at which something is deployed, and one at
// the end for all that stands at no place. Of places that a profile does not
// list, and of waves, each number is a step.
func (f *Fleet) Layout(name string, phase func(i int) component.Phase) Layout {
	l := Layout{Name: name, Waves: f.Profile.Style == profile.Waves}
	type key struct{ set, step int }
	steps := map[key]*Step{}
	const rest = highest + 1 // behind all phases
	for i, app := range f.Applications {
		if !app.On() {
			continue
		}
		at := phase(i)
		set := f.setOf(app, at)
		if set < 0 {
			l.Never = append(l.Never, i)
			continue
		}
		band, inBand := f.Profile.Band(at.Number)
		place, hasPlace := f.Profile.Place(at.Number)
		k, step := key{set, at.Number}, Step{Phase: f.Write(at), Title: place.Title, MaxUpdate: place.MaxUpdate, Manual: place.Manual}
		free := l.Waves || len(f.Profile.Bands) == 0 || inBand && len(band.Places) == 0
		if l.Waves {
			step.MaxUpdate, step.Manual = 0, false // waves know neither
		}
		if !at.Set || !free && !hasPlace {
			k.step, step = rest, Step{Title: "all others"}
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
			l.Sets = append(l.Sets, Set{Name: f.setName(k.set)})
		}
		slices.SortFunc(steps[k].Applications, f.compare)
		set := &l.Sets[len(l.Sets)-1]
		set.Steps = append(set.Steps, *steps[k])
	}
	slices.SortFunc(l.Never, f.compare)
	return l
}

// setOf is which set has an Application: the only one, or that of its band. What
// is in no band belongs to the band of its domain, if there is one.
func (f *Fleet) setOf(app *Application, at component.Phase) int {
	if f.Profile.Sets != profile.Independent {
		return 0
	}
	for i, b := range f.Profile.Bands {
		if at.Set && b.From <= at.Number && at.Number <= b.To {
			return i
		}
	}
	if own := f.Profile.BandsOf(app.Component.Part()); len(own) == 1 {
		return slices.IndexFunc(f.Profile.Bands, func(b profile.Band) bool { return b.Name == own[0].Name })
	}
	return -1
}

func (f *Fleet) setName(set int) string {
	if f.Profile.Sets != profile.Independent {
		return ""
	}
	return f.Profile.Bands[set].Name
}

// WithoutRest leaves out the last steps, which have what no other step selects.
func (l Layout) WithoutRest() Layout {
	l.Sets, l.Never = slices.Clone(l.Sets), slices.Clone(l.Never)
	for i, set := range l.Sets {
		if last := len(set.Steps) - 1; set.Steps[last].Phase == "" {
			l.Never = append(l.Never, set.Steps[last].Applications...)
			l.Sets[i].Steps = set.Steps[:last]
		}
	}
	return l
}

// CompactLayout is the layout of the fewest steps.
func (f *Fleet) CompactLayout(c *Compact) Layout {
	l := Layout{Name: "compact", Waves: f.Profile.Style == profile.Waves}
	steps := make([]Step, c.Count)
	for _, i := range c.Order(f) {
		if f.Applications[i].On() {
			at := &steps[c.Steps[i]-1]
			at.Phase = fmt.Sprint(c.Steps[i])
			at.Applications = append(at.Applications, i)
		}
	}
	if c.Count > 0 {
		l.Sets = []Set{{Steps: steps}}
	}
	return l
}

// Order lists the Applications by step and name.
func (c *Compact) Order(f *Fleet) []int {
	all := make([]int, len(c.Steps))
	for i := range all {
		all[i] = i
	}
	slices.SortFunc(all, func(x, y int) int { return cmp.Or(cmp.Compare(c.Steps[x], c.Steps[y]), f.compare(x, y)) })
	return all
}

// Run is a rollout that was played.
type Run struct {
	Layout Layout
	// Spans are the Applications that begin, in the order in which they do.
	Spans []Span
	// Steps are the steps that begin, set by set.
	Steps []StepSpan
	// Total is when the last Application was healthy.
	Total time.Duration
	// Critical are the spans, by their indices, that the total is the sum of:
	// each begins when the one before is healthy.
	Critical []int
	// Stuck says of each Application that never gets healthy why, by name.
	Stuck []Stuck
	// Unordered are needs that the layout does not keep, since the two are in
	// sets that know nothing of each other.
	Unordered []Crossing

	fleet *Fleet
}

// Span is an Application in a rollout.
type Span struct {
	// Application is its index.
	Application int
	Set, Step   int
	// Start is when its sync begins, Ready when what it needs is there, and End
	// when it is healthy.
	Start, Ready, End time.Duration
	// Healthy is false if it never is.
	Healthy bool
	// Takes says why it takes so long.
	Takes string
	// Why says what it waited for last.
	Why string

	cause int // the span it waited for, -1 if none
}

// StepSpan is a step in a rollout.
type StepSpan struct {
	Set, Step  int
	Start, End time.Duration
	// Done is false if it never ends.
	Done bool
}

// Stuck is an Application that never gets healthy.
type Stuck struct {
	Application int
	// Begins is false if it is never synced, either.
	Begins bool
	Why    string
}

// Crossing is a need between sets.
type Crossing struct {
	From, To int
	// Waits is how long the one that needs the other waits for it in this run;
	// it is below zero if it comes that much later anyway.
	Waits time.Duration
	Why   string
}

// Done reports whether all is rolled out.
func (r *Run) Done() bool { return len(r.Stuck) == 0 }

// StepCount counts the steps of all sets.
func (r *Run) StepCount() int {
	n := 0
	for _, s := range r.Layout.Sets {
		n += len(s.Steps)
	}
	return n
}

// player is a rollout while it is played.
type player struct {
	*Run
	durations Durations
	fail      map[int]bool
	now       time.Duration
	needs     map[int][]need // by the one that needs
	lacks     map[*Application]lack
	all       []need      // as it was in the beginning
	span      map[int]int // the span of an Application
	due       map[int]time.Duration
	sets      []progress
}

// progress is how far a set is.
type progress struct {
	step  int // the current one
	begun bool
	// from is when the next step may begin, and cause the span that ended last.
	from  time.Duration
	cause int
}

// Simulate plays a rollout. Within a step, Applications are begun by name, as
// many at once as it takes. One that needs another does not get healthy before
// that is; one that is in fail never does, nor one that does not render, nor one
// that needs for sure what is not deployed. A need that is only inferred delays, and makes nothing wait for what
// would never begin.
func (f *Fleet) Simulate(l Layout, d Durations, fail []int) *Run {
	p := &player{Run: &Run{Layout: l, fleet: f}, durations: d, fail: map[int]bool{}, needs: map[int][]need{}, span: map[int]int{}, due: map[int]time.Duration{}, sets: make([]progress, len(l.Sets))}
	for _, i := range fail {
		p.fail[i] = true
	}
	for i, app := range f.Applications {
		p.fail[i] = p.fail[i] || app.Failed
	}
	p.lacks = f.lacking("")
	maps.Copy(p.lacks, f.lacks)
	all := f.needs()
	kept, _, _, _ := f.ordered(all)
	for _, n := range all {
		if f.Applications[n.from].On() && f.Applications[n.to].On() && (n.sure || slices.ContainsFunc(kept, func(k need) bool { return !k.sure && k.from == n.from && k.to == n.to })) {
			p.needs[n.from] = append(p.needs[n.from], n)
			p.all = append(p.all, n)
		}
	}
	for i := range p.sets {
		p.sets[i].cause = -1
	}
	for p.advance(); p.next(); p.advance() {
	}
	p.finish()
	return p.Run
}

// advance begins all that can begin now.
func (p *player) advance() {
	for changed := true; changed; {
		changed = false
		for set := range p.sets {
			changed = p.advanceSet(set) || changed
		}
		for i := range p.Spans {
			if _, ready := p.due[i]; !ready && !p.Spans[i].Healthy && p.makeReady(i) {
				changed = true
			}
		}
	}
}

// advanceSet ends the current step of a set if all of it is healthy, and begins
// Applications of it.
func (p *player) advanceSet(set int) (changed bool) {
	at := &p.sets[set]
	steps := p.Layout.Sets[set].Steps
	if at.step == len(steps) || at.from > p.now {
		return false
	}
	step := steps[at.step]
	if !at.begun {
		at.begun, changed = true, true
		p.Steps = append(p.Steps, StepSpan{Set: set, Step: at.step, Start: p.now})
	}
	running, healthy, last := 0, 0, -1
	for _, app := range step.Applications {
		i, begun := p.span[app]
		switch {
		case begun && p.Spans[i].Healthy:
			healthy++
			if last < 0 || p.Spans[i].End > p.Spans[last].End {
				last = i
			}
		case begun:
			running++
		}
	}
	if healthy == len(step.Applications) {
		for i := range p.Steps {
			if p.Steps[i].Set == set && p.Steps[i].Step == at.step {
				p.Steps[i].End, p.Steps[i].Done = p.now, true
			}
		}
		at.step, at.begun, at.cause, at.from = at.step+1, false, last, p.now
		if p.Layout.Waves {
			at.from += p.durations.Wave
		}
		return true
	}
	for _, app := range step.Applications {
		if _, begun := p.span[app]; begun || step.Manual || step.MaxUpdate > 0 && running == step.MaxUpdate {
			continue
		}
		running++
		p.begin(app, set, last)
		changed = true
	}
	return changed
}

// begin begins the sync of an Application. Freed is the span of its step that
// ended last, -1 if none has.
func (p *player) begin(app, set, freed int) {
	at := p.sets[set]
	s := Span{Application: app, Set: set, Step: at.step, Start: p.now, cause: at.cause}
	_, s.Takes = p.durations.Of(p.fleet.Applications[app])
	step := p.Layout.Sets[set].Steps[at.step]
	switch {
	case freed >= 0:
		s.cause = freed
		s.Why = fmt.Sprintf("%s takes %d at a time, and %s made room", step, step.MaxUpdate, p.name(freed))
	case at.cause >= 0:
		s.Why = fmt.Sprintf("%s comes after %s, where %s was the last", step, p.stepOf(at.cause), p.name(at.cause))
	default:
		s.Why = step.String() + " is the first step"
		if name := p.Layout.Sets[set].Name; name != "" {
			s.Why += " of " + name
		}
	}
	p.span[app] = len(p.Spans)
	p.Spans = append(p.Spans, s)
}

func (p *player) name(span int) string {
	return p.fleet.Applications[p.Spans[span].Application].Name
}

func (p *player) stepOf(span int) string {
	s := p.Spans[span]
	return p.Layout.Sets[s.Set].Steps[s.Step].String()
}

// makeReady lets an Application go on if all that it needs is there.
func (p *player) makeReady(i int) bool {
	s := &p.Spans[i]
	if _, lacks := p.lacks[p.fleet.Applications[s.Application]]; lacks || p.fail[s.Application] || len(p.missing(s.Application)) > 0 {
		return false
	}
	s.Ready = p.now
	if s.Ready > s.Start {
		for _, n := range p.needs[s.Application] {
			to, begun := p.span[n.to]
			if begun && (n.later && p.Spans[to].End == p.now || !n.later && p.Spans[to].Start == p.now) {
				s.cause, s.Why = to, "it waits for "+p.name(to)+", because "+n.because()
				break
			}
		}
	}
	takes, _ := p.durations.Of(p.fleet.Applications[s.Application])
	p.due[i] = p.now + takes
	return true
}

// missing are the needs of an Application that are not there yet.
func (p *player) missing(app int) []need {
	var all []need
	for _, n := range p.needs[app] {
		to, begun := p.span[n.to]
		if !begun || n.later && !p.Spans[to].Healthy {
			all = append(all, n)
		}
	}
	return all
}

// next goes to the next moment at which something happens; false if nothing
// will.
func (p *player) next() bool {
	var soonest time.Duration
	found := false
	note := func(t time.Duration) {
		if !found || t < soonest {
			soonest, found = t, true
		}
	}
	for _, t := range p.due {
		note(t)
	}
	for set, at := range p.sets {
		if at.step < len(p.Layout.Sets[set].Steps) && at.from > p.now {
			note(at.from)
		}
	}
	if !found {
		return p.lift()
	}
	p.now = max(p.now, soonest)
	for i := range p.Spans {
		if t, ready := p.due[i]; ready && t <= p.now {
			p.Spans[i].Healthy, p.Spans[i].End = true, p.now
			p.Total = max(p.Total, p.now)
			delete(p.due, i)
		}
	}
	return true
}

// lift gives up the inferred needs of what does not begin, when nothing else can
// go on; false if there are none.
func (p *player) lift() bool {
	lifted := false
	for _, s := range p.Spans {
		before := len(p.needs[s.Application])
		p.needs[s.Application] = slices.DeleteFunc(p.needs[s.Application], func(n need) bool {
			_, begun := p.span[n.to]
			return !n.sure && !begun && !s.Healthy
		})
		lifted = lifted || len(p.needs[s.Application]) < before
	}
	return lifted
}

// finish says what the rollout came to.
func (p *player) finish() {
	last := -1
	for i, s := range p.Spans {
		if s.Healthy && s.End == p.Total && (last < 0 || s.End > p.Spans[last].End) {
			last = i
		}
	}
	for i := last; i >= 0; i = p.Spans[i].cause {
		p.Critical = append(p.Critical, i)
	}
	slices.Reverse(p.Critical)
	slices.SortFunc(p.Steps, func(x, y StepSpan) int { return cmp.Or(cmp.Compare(x.Set, y.Set), cmp.Compare(x.Step, y.Step)) })
	p.stuck()
	p.unordered()
}

// stuck says what never gets healthy.
func (p *player) stuck() {
	for set, s := range p.Layout.Sets {
		for n, step := range s.Steps {
			for _, app := range step.Applications {
				if i, begun := p.span[app]; !begun || !p.Spans[i].Healthy {
					p.Stuck = append(p.Stuck, Stuck{app, begun, p.whyStuck(app, set, n, begun)})
				}
			}
		}
	}
	for _, app := range p.Layout.Never {
		p.Stuck = append(p.Stuck, Stuck{app, false, "no step has it, so nobody syncs it but a person"})
	}
}

func (p *player) whyStuck(app, set, n int, begun bool) string {
	at := p.sets[set].step
	step, current := p.Layout.Sets[set].Steps[n], p.Layout.Sets[set].Steps[at]
	switch {
	case begun && p.fleet.Applications[app].Failed:
		return "it does not render"
	case begun && p.fail[app]:
		return "it never gets healthy, as was asked"
	case begun && p.lacks[p.fleet.Applications[app]].of != nil:
		return "it waits for " + p.lacks[p.fleet.Applications[app]].String()
	case begun:
		n := p.missing(app)[0]
		verb := "it waits for "
		if p.inCircle(app) {
			verb = "both wait for each other: it waits for "
		}
		return verb + p.fleet.Applications[n.to].Name + ", because " + n.because()
	case n > at:
		return fmt.Sprintf("%s comes after %s, which never ends", step, current)
	case step.Manual:
		return step.String() + " is manual: nobody syncs it but a person"
	}
	var holders []string
	for _, other := range step.Applications {
		if i, begun := p.span[other]; begun && !p.Spans[i].Healthy {
			holders = append(holders, p.fleet.Applications[other].Name)
		}
	}
	return fmt.Sprintf("%s takes %d at a time, and %s never makes room", step, step.MaxUpdate, strings.Join(holders, ", "))
}

// inCircle reports whether an Application and one that it waits for wait for each
// other.
func (p *player) inCircle(app int) bool {
	for _, n := range p.missing(app) {
		if slices.ContainsFunc(p.missing(n.to), func(back need) bool { return back.to == app }) {
			return true
		}
	}
	return false
}

// unordered lists the needs between sets.
func (p *player) unordered() {
	set := map[int]int{}
	for i, s := range p.Layout.Sets {
		for _, step := range s.Steps {
			for _, app := range step.Applications {
				set[app] = i
			}
		}
	}
	for _, n := range p.all {
		from, ok := set[n.from]
		to, both := set[n.to]
		if !ok || !both || from == to {
			continue
		}
		c := Crossing{From: n.from, To: n.to, Why: n.because()}
		x, begun := p.span[n.from]
		y, there := p.span[n.to]
		if begun && there && p.Spans[y].Healthy {
			c.Waits = p.Spans[y].End - p.Spans[x].Start
			if !n.later {
				c.Waits = p.Spans[y].Start - p.Spans[x].Start
			}
		}
		p.Unordered = append(p.Unordered, c)
	}
}

// AtOnce is how many Applications are synced at the same time at most.
func (r *Run) AtOnce() int {
	most := 0
	for _, s := range r.Spans {
		n := 0
		for _, other := range r.Spans {
			if other.Start <= s.Start && (!other.Healthy || other.End > s.Start) {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}
