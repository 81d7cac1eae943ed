package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/profile"
	"github.com/ladder-cmp/ladder/object"
)

func (l *lint) laterStep() []fault {
	return l.violated(func(from, to int) bool { return to > from })
}

func (l *lint) sameStep() []fault {
	return l.violated(func(from, to int) bool { return to == from })
}

// violated finds needs that the steps do not meet, of Applications that stand
// to each other in a certain way: one finding for each two.
func (l *lint) violated(which func(from, to int) bool) []fault {
	var all []fault
	for from, app := range l.Applications {
		for _, link := range l.needs[from] {
			to := l.Applications[link.To]
			if !app.Phase.Set || !to.Phase.Set || !which(app.Phase.Number, to.Phase.Number) || !l.together(app, to) {
				continue
			}
			broken := slices.DeleteFunc(slices.Clone(link.Reasons), func(r Reason) bool {
				return met(r, app.Phase.Number, to.Phase.Number) || l.elsewhere(from, r)
			})
			if len(broken) == 0 {
				continue
			}
			// A sure reason says more than a stronger one that is inferred.
			slices.SortStableFunc(broken, func(x, y Reason) int { return boolean(doubtful(x)) - boolean(doubtful(y)) })
			if r := broken[0]; !doubtful(r) || !l.reaches(link.To, from, true) {
				all = append(all, l.broken(from, link.To, r, len(broken)-1))
			}
		}
	}
	return all
}

// met reports whether steps satisfy a need.
func met(r Reason, from, to int) bool {
	return r.Strength < Exists || to < from || to == from && !r.Strength.NeedsEarlierStep()
}

// elsewhere reports whether another Application meets a need in time, since it
// holds the same object.
func (l *lint) elsewhere(from int, r Reason) bool {
	app := l.Applications[from]
	return slices.ContainsFunc(l.needs[from], func(link Link) bool {
		to := l.Applications[link.To]
		return to.Phase.Set && l.together(app, to) && slices.ContainsFunc(link.Reasons, func(o Reason) bool {
			return o.From == r.From && o.Field == r.Field && o.To == r.To && o.To != (object.ID{}) && met(o, app.Phase.Number, to.Phase.Number)
		})
	})
}

// doubtful reports whether the need may be none.
func doubtful(r Reason) bool { return r.Inferred || isNamespace(r) }

// broken is the finding about a need that steps do not meet.
func (l *lint) broken(from, to int, r Reason, more int) fault {
	app, other := l.Applications[from], l.Applications[to]
	severity := finding.Error
	if doubtful(r) || app.Phase.Number == other.Phase.Number && r.Strength != Applied {
		severity = finding.Warning
	}
	and := ""
	if more > 0 {
		and = fmt.Sprintf(", and %d more", more)
	}
	stands := fmt.Sprintf("%s is in %s and %s in %s", other.Name, l.step(other.Phase.Number), app.Name, l.step(app.Phase.Number))
	if app.Phase.Number == other.Phase.Number {
		stands = fmt.Sprintf("%s and %s are both in %s", other.Name, app.Name, l.step(app.Phase.Number))
	}
	f := l.at(severity, app, fmt.Sprintf("%s%s%s, but %s: %s", said(r), rendered(r), and, stands, l.otherwise(app, other, r)), l.remedy(from, to, r)).with(other)
	f.Object, f.Field = shown(r), r.Field
	return f
}

// said is the sentence about a need, of which the object is named before.
func said(r Reason) string {
	if shown(r) == "" {
		return r.String()
	}
	return "it " + r.Why + " " + r.To.String()
}

func shown(r Reason) string { return strings.TrimSpace(r.From.String()) }

// rendered says where the object that needs another was rendered from.
func rendered(r Reason) string {
	switch {
	case r.File == "" || shown(r) == "":
		return ""
	case r.Line == 0:
		return " (" + r.File + ")"
	}
	return fmt.Sprintf(" (%s:%d)", r.File, r.Line)
}

// otherwise says what becomes of a rollout in such steps.
func (l *lint) otherwise(app, other *Application, r Reason) string {
	may := ""
	if doubtful(r) {
		may = "may "
	}
	verb := func(s string) string { // after "may" it has no ending
		if may == "" {
			return s
		}
		return may + strings.TrimSuffix(s, "s")
	}
	switch own, others := l.step(app.Phase.Number), l.step(other.Phase.Number); {
	case isNamespace(r):
		return "until then the namespace is created by CreateNamespace=true, without its labels and annotations, or the sync fails"
	case own == others && r.Strength == Applied:
		return "both are synced at the same time, so its sync " + verb("fails") + ", and Argo CD retries only a few times"
	case own == others:
		return "both are synced at the same time, and it " + verb("starts") + " before the other is healthy"
	case r.Strength == Applied:
		return "its sync " + verb("fails") + ", " + own + " never becomes Healthy, and " + others + " never begins"
	case may != "":
		return "it may never become healthy, and then " + own + " does not either, and " + others + " never begins"
	default:
		return "it never becomes healthy, " + own + " does not either, and " + others + " never begins"
	}
}

// remedy says which of two Applications to move, and whereto.
func (l *lint) remedy(from, to int, r Reason) string {
	app, other := l.Applications[from], l.Applications[to]
	if l.reaches(to, from, !doubtful(r)) {
		back := l.chain(to, from)
		if !r.Strength.NeedsEarlierStep() && !slices.ContainsFunc(back, func(link Link) bool { return link.Strength().NeedsEarlierStep() }) {
			return l.move(app, other.Phase.Number, "") + ", because the two depend on each other"
		}
		return l.untie(append([]Link{l.linkOf(from, to)}, back...))
	}
	if own := l.right[to]; own != other.Phase.Number && l.isPlace(own) && met(r, app.Phase.Number, own) {
		return l.move(other, own, "or earlier")
	}
	if later := l.right[from]; l.isPlace(later) && met(r, later, l.right[to]) {
		moves := ""
		if l.right[to] != other.Phase.Number {
			moves = ", because " + other.Name + " belongs to " + l.step(l.right[to])
		}
		return l.move(app, later, "or later") + moves + l.followers(from, later)
	}
	if earlier, can := l.latest(to, app.Phase.Number-boolean(r.Strength.NeedsEarlierStep())); can {
		return l.move(other, earlier, "or earlier")
	}
	return fmt.Sprintf("add a place for %s after %s to the profile, and move %s there", cmp.Or(app.Rung, app.Name), l.step(other.Phase.Number), app.Name)
}

// untie says which dependency of a cycle to remove: on CRDs, or else of objects that
// nothing else uses. Without either, all are named.
func (l *lint) untie(circle []Link) string {
	app, other := l.Applications[circle[0].From], l.Applications[circle[0].To]
	because := ", because no order satisfies both: " + l.told(circle[1:])
	used := l.usedObjects()
	for _, link := range circle {
		if to := l.Applications[link.To]; to.splits() && isKind(link.Reasons[0]) && !slices.ContainsFunc(link.Reasons, func(r Reason) bool {
			return !doubtful(r) && r.Strength.NeedsEarlierStep() && !isKind(r)
		}) {
			return splitRemedy(to.Name) + because
		}
	}
	for _, link := range circle {
		if r := link.Reasons[0]; !doubtful(r) && isUnused(used, link.From, r) && holdsForNothing(used, link) {
			return fmt.Sprintf("move %s from %s to a component after %s", r.From, l.Applications[link.From].Name, l.Applications[link.To].Name) + because
		}
	}
	return fmt.Sprintf("remove one of the dependencies between %s and %s", app.Name, other.Name) + because
}

// linkOf is the link between two Applications.
func (l *lint) linkOf(from, to int) Link {
	return l.needs[from][slices.IndexFunc(l.needs[from], func(link Link) bool { return link.To == to })]
}

// followers names those that have to follow an Application which moves.
func (l *lint) followers(moved, to int) string {
	var names []string
	for from, app := range l.Applications {
		if !app.Phase.Set || app.Phase.Number < l.Applications[moved].Phase.Number || !l.together(app, l.Applications[moved]) {
			continue
		}
		for _, link := range l.needs[from] {
			if link.To == moved && slices.ContainsFunc(link.Reasons, func(r Reason) bool { return !doubtful(r) && !met(r, app.Phase.Number, to) }) {
				names = append(names, app.Name+" to "+l.step(l.right[from]))
			}
		}
	}
	if names == nil {
		return ""
	}
	return ", and its dependents after it: " + few(names)
}

// rightPhases are where Applications belong: where they are, if they are for
// what stands there and come after all that they need, or else the next place
// of which that is true. What they need is taken to be where it belongs, so
// that one may follow all remedies at once.
func (l *lint) rightPhases() []int {
	l.right = make([]int, len(l.Applications))
	visited := make([]bool, len(l.Applications))
	var visit func(at int)
	visit = func(at int) {
		visited[at] = true
		for _, link := range l.needs[at] {
			if !visited[link.To] {
				visit(link.To)
			}
		}
		l.pull(at)
		l.right[at] = l.rightPhase(l.Applications[at], l.bound(at))
	}
	for at, app := range l.Applications {
		l.right[at] = app.Phase.Number // for those in a circle
	}
	for at := range l.Applications {
		if !visited[at] {
			visit(at)
		}
	}
	return l.right
}

// rightPhase is where an Application belongs that is not to come before a bound.
func (l *lint) rightPhase(app *Application, bound int) int {
	now := app.Phase.Number
	belongs := app.Phase.Set && l.belongs(app)
	if belongs && now >= bound {
		return now
	}
	wanted := max(bound, now)
	if !app.Phase.Set {
		wanted = bound
		if l.Profile.Style == profile.Waves {
			wanted = max(bound, 0) // as Argo CD has it
		}
	}
	all := slices.DeleteFunc(l.places(app, bound, wanted), func(p int) bool { return p < bound })
	switch {
	case len(all) == 0:
		return wanted
	case belongs || !app.Phase.Set:
		return all[0]
	}
	if own := l.madeFor(app, all); own != nil {
		all = own
	}
	return slices.MinFunc(all, func(x, y int) int { return cmp.Compare(max(x-now, now-x), max(y-now, now-y)) })
}

// madeFor are those steps of an Application's band that are there for such as
// it above all.
func (l *lint) madeFor(app *Application, phases []int) []int {
	band, _ := l.Profile.Band(app.Phase.Number)
	var all []int
	for _, p := range band.Places {
		if len(p.Rungs) > 0 && p.Rungs[0] == app.Rung && slices.Contains(phases, p.Phase) {
			all = append(all, p.Phase)
		}
	}
	return all
}

// belongs reports whether an Application is for what stands at its step, in a
// band of its own.
func (l *lint) belongs(app *Application) bool {
	band, in := l.Profile.Band(app.Phase.Number)
	if !in {
		return len(l.Profile.Bands) == 0
	}
	place, there := l.Profile.Place(app.Phase.Number)
	return (there && (l.fits(app, place) || !l.room(app)) || len(band.Places) == 0) && !l.foreign(app, band)
}

// bound is the first step that comes after all that an Application needs. Needs
// that no step can meet are passed over.
func (l *lint) bound(from int) int {
	app := l.Applications[from]
	first, any := 0, false
	for _, link := range l.needs[from] {
		to := l.Applications[link.To]
		if !to.Phase.Set && l.right[link.To] == 0 || !l.together(app, to) || l.reaches(link.To, from, true) {
			continue
		}
		for _, r := range link.Reasons {
			if after := l.right[link.To] + boolean(r.Strength.NeedsEarlierStep()); r.Strength >= Exists && (!any || after > first) {
				first, any = after, true
			}
		}
	}
	if !any {
		return l.least()
	}
	return first
}

// least is where the profile begins.
func (l *lint) least() int {
	if len(l.Profile.Bands) == 0 {
		return 0
	}
	return l.Profile.Bands[0].From
}

// latest is the last step, not after a limit, that is right for an Application
// and comes after all that it needs: in its bands, or else in any.
func (l *lint) latest(at, limit int) (int, bool) {
	app, bound := l.Applications[at], l.bound(at)
	for _, bands := range [][]profile.Band{l.bandsOf(app), l.Profile.Bands} {
		for _, p := range slices.Backward(l.in(bands, app, limit)) {
			if p <= limit && p >= bound {
				return p, true
			}
		}
	}
	return 0, false
}

// places are the steps that are right for what an Application is for, in order:
// those of its bands, or of all where these have none from a bound on.
func (l *lint) places(app *Application, bound, wanted int) []int {
	if len(l.Profile.Bands) == 0 {
		return []int{wanted}
	}
	own := l.in(l.bandsOf(app), app, wanted)
	if own == nil || own[len(own)-1] < bound {
		return l.in(l.Profile.Bands, app, wanted)
	}
	return own
}

// in are the steps of bands that are right for what an Application is for, in
// order. Where a band has no places, each number of it is one, and of these the
// wanted.
func (l *lint) in(bands []profile.Band, app *Application, wanted int) []int {
	var all []int
	for _, b := range bands {
		if len(b.Places) == 0 {
			all = append(all, min(max(wanted, b.From), b.To))
		}
		for _, p := range b.Places {
			if l.fits(app, p) {
				all = append(all, p.Phase)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// pull moves what an Application needs to an earlier step where its own bands
// have none that is late enough: to leave them would drag behind it whatever
// needs it.
func (l *lint) pull(from int) {
	app := l.Applications[from]
	own := l.in(l.bandsOf(app), app, l.bound(from))
	if own == nil || own[len(own)-1] >= l.bound(from) {
		return
	}
	last := own[len(own)-1]
	for _, link := range l.needs[from] {
		to := l.Applications[link.To]
		if !l.together(app, to) || l.reaches(link.To, from, true) || l.right[link.To] != to.Phase.Number {
			continue // what moves into its own bands stays there
		}
		for _, r := range link.Reasons {
			if doubtful(r) || met(r, last, l.right[link.To]) {
				continue
			}
			if earlier, can := l.latest(link.To, last-boolean(r.Strength.NeedsEarlierStep())); can {
				l.right[link.To] = earlier
			}
			break
		}
	}
}

// search is where a search for what an Application needs begins; sure ones pass
// over needs that may be none.
type search struct {
	from int
	sure bool
}

// reaches reports whether one Application needs another, be it through others.
func (l *lint) reaches(from, to int, sure bool) bool {
	_, found := l.reached(search{from, sure})[to]
	return found
}

// reached are the Applications that one needs, each with the one by which a
// shortest chain of needs comes to it.
func (l *lint) reached(s search) map[int]int {
	if before, done := l.ways[s]; done {
		return before
	}
	before := map[int]int{s.from: s.from}
	for queue := []int{s.from}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		for _, link := range l.needs[at] {
			if _, seen := before[link.To]; !seen && l.together(l.Applications[at], l.Applications[link.To]) && orders(link, s.sure) {
				before[link.To] = at
				queue = append(queue, link.To)
			}
		}
	}
	l.ways[s] = before
	return before
}

// orders reports whether a link says which of the two comes first.
func orders(link Link, sure bool) bool {
	return slices.ContainsFunc(link.Reasons, func(r Reason) bool { return r.Strength >= Exists && !(sure && doubtful(r)) })
}

// chain is a shortest chain of needs from one Application to another.
func (l *lint) chain(from, to int) []Link {
	before := l.reached(search{from: from})
	var chain []Link
	for at := to; at != from; at = before[at] {
		i := slices.IndexFunc(l.needs[before[at]], func(link Link) bool { return link.To == at })
		chain = append([]Link{l.needs[before[at]][i]}, chain...)
	}
	return chain
}

// told says why each in a chain needs the next.
func (l *lint) told(chain []Link) string {
	var all []string
	for _, link := range chain {
		all = append(all, fmt.Sprintf("%s depends on %s, because %s", l.Applications[link.From].Name, l.Applications[link.To].Name, link.Reasons[0]))
	}
	return strings.Join(all, "; ")
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}
