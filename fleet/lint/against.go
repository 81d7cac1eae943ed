package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/steps"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/profile"
	"github.com/ladder-cmp/ladder/object"
)

func (l *checker) laterStep() []fault {
	return l.violated(func(from, to int) bool { return to > from })
}

func (l *checker) sameStep() []fault {
	return l.violated(func(from, to int) bool { return to == from })
}

// violated finds the dependencies that the steps violate, for pairs of Applications that match
// a condition: one finding for each pair.
func (l *checker) violated(which func(from, to int) bool) []fault {
	var all []fault
	for from, app := range l.Applications {
		for _, link := range l.needs[from] {
			to := l.Applications[link.To]
			if !app.Phase.Set || !to.Phase.Set || !which(app.Phase.Number, to.Phase.Number) || !l.together(app, to) {
				continue
			}
			broken := slices.DeleteFunc(slices.Clone(link.Reasons), func(r fleet.Reason) bool {
				return met(r, app.Phase.Number, to.Phase.Number) || l.elsewhere(from, r)
			})
			if len(broken) == 0 {
				continue
			}
			// A certain reason says more than a stronger one that is inferred.
			first := max(0, slices.IndexFunc(broken, func(r fleet.Reason) bool { return !doubtful(r) }))
			if r := broken[first]; !doubtful(r) || !l.reaches(link.To, from, true) {
				all = append(all, l.broken(from, link.To, r, len(broken)-1))
			}
		}
	}
	return all
}

// met reports whether steps satisfy a dependency.
func met(r fleet.Reason, from, to int) bool {
	return r.Strength < fleet.Exists || to < from || to == from && !r.Strength.NeedsEarlierStep()
}

// elsewhere reports whether another Application satisfies a dependency in time, because it
// contains the same object.
func (l *checker) elsewhere(from int, r fleet.Reason) bool {
	app := l.Applications[from]
	return slices.ContainsFunc(l.needs[from], func(link fleet.Link) bool {
		to := l.Applications[link.To]
		return to.Phase.Set && l.together(app, to) && slices.ContainsFunc(link.Reasons, func(o fleet.Reason) bool {
			return o.From == r.From && o.Field == r.Field && o.To == r.To && o.To != (object.ID{}) && met(o, app.Phase.Number, to.Phase.Number)
		})
	})
}

// doubtful reports whether a dependency may not exist.
func doubtful(r fleet.Reason) bool { return r.Inferred || r.IsNamespace() }

// broken returns the finding for a dependency that the steps violate.
func (l *checker) broken(from, to int, r fleet.Reason, more int) fault {
	app, other := l.Applications[from], l.Applications[to]
	severity := finding.Error
	if doubtful(r) || app.Phase.Number == other.Phase.Number && r.Strength != fleet.Applied {
		severity = finding.Warning
	}
	and := ""
	if more > 0 {
		and = fmt.Sprintf(" (the first of %d such dependencies)", more+1)
	}
	stands := fmt.Sprintf("component %s is in %s and %s in %s", other.Name, l.step(other.Phase.Number), app.Name, l.step(app.Phase.Number))
	if app.Phase.Number == other.Phase.Number {
		stands = fmt.Sprintf("components %s and %s are both in %s", other.Name, app.Name, l.step(app.Phase.Number))
	}
	message := fmt.Sprintf("%s%s%s, but %s: %s", rendered(r), said(r), and, stands, l.otherwise(app, other, r))
	if circle := l.circle(from, to, r); circle != nil {
		message += "; the components form a cycle: " + l.told(circle[1:])
	}
	f := l.at(severity, app, message, l.remedy(from, to, r)).with(other)
	f.Object, f.Field = shown(r), r.Field
	return f
}

// said returns the sentence about a dependency, without its subject.
func said(r fleet.Reason) string {
	if shown(r) == "" {
		return r.String()
	}
	return "it " + r.Why + " " + r.To.String()
}

func shown(r fleet.Reason) string { return strings.TrimSpace(r.From.String()) }

// rendered returns the file that the dependent object was rendered from, to begin the
// sentence about it: after another object, it would seem to be the file of that one.
func rendered(r fleet.Reason) string {
	if r.File == "" || shown(r) == "" {
		return ""
	}
	return "in " + fileLine(r.File, r.Line) + ", "
}

// fileLine names a line of a file, which is 0 if it is unknown.
func fileLine(file string, line int) string {
	if line == 0 {
		return file
	}
	return fmt.Sprintf("%s:%d", file, line)
}

// otherwise says what happens in a rollout with these steps.
func (l *checker) otherwise(app, other *fleet.Application, r fleet.Reason) string {
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
	case r.IsNamespace():
		return "until " + other.Name + " is synced, Argo CD creates the namespace without its labels and annotations if CreateNamespace=true is set; otherwise, the sync of " + app.Name + " fails"
	case own == others && r.Strength == fleet.Applied:
		return "both are synced at the same time, so the sync of " + app.Name + " " + verb("fails") + ", and Argo CD retries it only a few times"
	case own == others:
		return "both are synced at the same time, and " + app.Name + " " + verb("starts") + " before " + other.Name + " is healthy"
	case r.Strength == fleet.Applied:
		return "the sync of " + app.Name + " " + verb("fails") + ", so " + own + " never completes and " + others + " never starts"
	case may != "":
		return app.Name + " may never become healthy, and then " + own + " never completes and " + others + " never starts"
	default:
		return app.Name + " never becomes healthy, so " + own + " never completes and " + others + " never starts"
	}
}

// remedy says which of two Applications to move, and to which step.
func (l *checker) remedy(from, to int, r fleet.Reason) string {
	app, other := l.Applications[from], l.Applications[to]
	if circle := l.circle(from, to, r); circle != nil {
		if !r.Strength.NeedsEarlierStep() && !slices.ContainsFunc(circle[1:], func(link fleet.Link) bool { return link.Strength().NeedsEarlierStep() }) {
			return l.move(app, other.Phase.Number, "")
		}
		return l.untie(circle)
	}
	if own := l.right[to]; own != other.Phase.Number && l.isPlace(own) && met(r, app.Phase.Number, own) {
		return l.move(other, own, "or earlier")
	}
	if later := l.right[from]; l.isPlace(later) && met(r, later, l.right[to]) {
		if l.right[to] != other.Phase.Number {
			return l.move(other, l.right[to], "") + ", and " + l.move(app, later, "or later") + l.followers(from, later)
		}
		return l.move(app, later, "or later") + l.followers(from, later)
	}
	if earlier, can := l.latest(to, app.Phase.Number-r.Strength.Gap()); can {
		return l.move(other, earlier, "or earlier")
	}
	return fmt.Sprintf("add a place for %s after %s to the profile, and move %s there", cmp.Or(app.Rung, app.Name), l.step(other.Phase.Number), app.Name)
}

// circle returns the cycle that a dependency is part of, if any. The dependency is the first
// link.
func (l *checker) circle(from, to int, r fleet.Reason) []fleet.Link {
	if !l.reaches(to, from, !doubtful(r)) {
		return nil
	}
	return append([]fleet.Link{l.linkOf(from, to)}, l.chain(to, from)...)
}

// untie proposes the dependency of a cycle to remove: one on CRDs, otherwise one of objects
// that nothing else uses. If there is neither, it names all of them.
func (l *checker) untie(circle []fleet.Link) string {
	app, other := l.Applications[circle[0].From], l.Applications[circle[0].To]
	used := l.Used()
	for _, link := range circle {
		if to := l.Applications[link.To]; steps.CanSplit(to) && steps.IsCRD(link.Reasons[0]) && !slices.ContainsFunc(link.Reasons, func(r fleet.Reason) bool {
			return !doubtful(r) && r.Strength.NeedsEarlierStep() && !steps.IsCRD(r)
		}) {
			return steps.SplitRemedy(to.Name)
		}
	}
	for _, link := range circle {
		if r := link.Reasons[0]; !doubtful(r) && used.IsUnused(link.From, r) && used.HoldsForNothing(link) {
			return fmt.Sprintf("move %s from %s to a component after %s", r.From, l.Applications[link.From].Name, l.Applications[link.To].Name)
		}
	}
	return fmt.Sprintf("remove one of the dependencies between %s and %s", app.Name, other.Name)
}

// linkOf returns the link between two Applications.
func (l *checker) linkOf(from, to int) fleet.Link {
	return l.needs[from][slices.IndexFunc(l.needs[from], func(link fleet.Link) bool { return link.To == to })]
}

// followers names the Applications that have to follow one that moves.
func (l *checker) followers(moved, to int) string {
	var names []string
	for from, app := range l.Applications {
		if !app.Phase.Set || app.Phase.Number < l.Applications[moved].Phase.Number || !l.together(app, l.Applications[moved]) {
			continue
		}
		for _, link := range l.needs[from] {
			if link.To == moved && slices.ContainsFunc(link.Reasons, func(r fleet.Reason) bool { return !doubtful(r) && !met(r, app.Phase.Number, to) }) {
				names = append(names, app.Name+" to "+l.step(l.right[from]))
			}
		}
	}
	if names == nil {
		return ""
	}
	return ", and its dependents after it: " + few(names)
}

// rightPhases returns the correct step of each Application: its current one if the step is for
// such Applications and comes after all dependencies, otherwise the next such step. It assumes
// that the dependencies are in their correct steps, so all remedies can be applied at once.
func (l *checker) rightPhases() []int {
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

// rightPhase returns the first correct step of an Application that is not before a bound.
func (l *checker) rightPhase(app *fleet.Application, bound int) int {
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

// madeFor returns the steps of an Application's band that are primarily for its rung.
func (l *checker) madeFor(app *fleet.Application, phases []int) []int {
	band, _ := l.Profile.Band(app.Phase.Number)
	var all []int
	for _, p := range band.Places {
		if len(p.Rungs) > 0 && p.Rungs[0] == app.Rung && slices.Contains(phases, p.Phase) {
			all = append(all, p.Phase)
		}
	}
	return all
}

// belongs reports whether the step of an Application is for its rung, in a band of its domain.
func (l *checker) belongs(app *fleet.Application) bool {
	band, in := l.Profile.Band(app.Phase.Number)
	if !in {
		return len(l.Profile.Bands) == 0
	}
	place, there := l.Profile.Place(app.Phase.Number)
	return (there && (l.fits(app, place) || !l.room(app)) || len(band.Places) == 0) && !l.foreign(app, band)
}

// bound returns the first step after all dependencies of an Application. It ignores
// dependencies that no step can satisfy.
func (l *checker) bound(from int) int {
	app := l.Applications[from]
	first, any := 0, false
	for _, link := range l.needs[from] {
		to := l.Applications[link.To]
		if !to.Phase.Set && l.right[link.To] == 0 || !l.together(app, to) || l.reaches(link.To, from, true) {
			continue
		}
		for _, r := range link.Reasons {
			if after := l.right[link.To] + r.Strength.Gap(); r.Strength >= fleet.Exists && (!any || after > first) {
				first, any = after, true
			}
		}
	}
	if !any {
		return l.least()
	}
	return first
}

// least returns the first step of the profile.
func (l *checker) least() int {
	if len(l.Profile.Bands) == 0 {
		return 0
	}
	return l.Profile.Bands[0].From
}

// latest returns the last correct step up to a limit that comes after all dependencies of an
// Application: in its bands or, if there is none, in any band.
func (l *checker) latest(at, limit int) (int, bool) {
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

// places returns the steps for the rung of an Application, in order: those of its bands, or of
// all bands if its own have none from a bound on.
func (l *checker) places(app *fleet.Application, bound, wanted int) []int {
	if len(l.Profile.Bands) == 0 {
		return []int{wanted}
	}
	own := l.in(l.bandsOf(app), app, wanted)
	if own == nil || own[len(own)-1] < bound {
		return l.in(l.Profile.Bands, app, wanted)
	}
	return own
}

// in returns the steps of bands for the rung of an Application, in order. In a band without
// places, each number is a step; of these it returns the wanted one.
func (l *checker) in(bands []profile.Band, app *fleet.Application, wanted int) []int {
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

// pull moves the dependencies of an Application to earlier steps if its own bands have no step
// that is late enough. Otherwise, all its dependents would have to move, too.
func (l *checker) pull(from int) {
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
			if earlier, can := l.latest(link.To, last-r.Strength.Gap()); can {
				l.right[link.To] = earlier
			}
			break
		}
	}
}

// search is the start of a search for dependencies; if sure is set, it skips doubtful ones.
type search struct {
	from int
	sure bool
}

// reaches reports whether one Application depends on another, directly or through others.
func (l *checker) reaches(from, to int, sure bool) bool {
	_, found := l.reached(search{from, sure})[to]
	return found
}

// reached returns the direct and transitive dependencies of an Application, each with its
// predecessor on a shortest path.
func (l *checker) reached(s search) map[int]int {
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

// orders reports whether a link determines the order of two Applications.
func orders(link fleet.Link, sure bool) bool {
	return slices.ContainsFunc(link.Reasons, func(r fleet.Reason) bool { return r.Strength >= fleet.Exists && !(sure && doubtful(r)) })
}

// chain returns a shortest path of dependencies from one Application to another.
func (l *checker) chain(from, to int) []fleet.Link {
	before := l.reached(search{from: from})
	var chain []fleet.Link
	for at := to; at != from; at = before[at] {
		i := slices.IndexFunc(l.needs[before[at]], func(link fleet.Link) bool { return link.To == at })
		chain = append([]fleet.Link{l.needs[before[at]][i]}, chain...)
	}
	return chain
}

// told returns the reasons along a path.
func (l *checker) told(chain []fleet.Link) string {
	var all []string
	for _, link := range chain {
		all = append(all, fmt.Sprintf("%s depends on %s, because %s", l.Applications[link.From].Name, l.Applications[link.To].Name, link.Reasons[0]))
	}
	return strings.Join(all, "; ")
}
