package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/profile"
	"github.com/ladder-cmp/ladder/fleet/steps"
	"github.com/ladder-cmp/ladder/internal/digraph"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/object"
)

func (l *checker) laterStep() []fault {
	return l.findViolations(fleet.Earlier)
}

func (l *checker) sameStep() []fault {
	return l.findViolations(fleet.Same)
}

// violation is a dependency that the order violates, with the number of others of the same two
// Applications.
type violation struct {
	from, to int
	reason   fleet.Reason
	others   int
}

// findViolations finds the dependencies of pairs of Applications that are violated by their order:
// one finding for each pair.
func (l *checker) findViolations(order fleet.Order) []fault {
	var all []violation
	for from, app := range l.Applications {
		for _, link := range l.dependencies[from] {
			to := l.Applications[link.To]
			if l.Ordered(from, link.To) != order || !l.together(app, to) {
				continue
			}
			violated := slices.DeleteFunc(slices.Clone(link.Reasons), func(r fleet.Reason) bool {
				return isSatisfiedBy(r, order) || l.isSatisfiedInTime(from, r)
			})
			if len(violated) == 0 {
				continue
			}
			// A certain reason says more than a stronger one that is inferred.
			first := max(0, slices.IndexFunc(violated, func(r fleet.Reason) bool { return !isUncertain(r) }))
			if r := violated[first]; !isUncertain(r) || !l.reaches(link.To, from, true) {
				all = append(all, violation{from, link.To, r, len(violated) - 1})
			}
		}
	}
	if l.InPlace() {
		return l.groupByDependency(all)
	}
	var faults []fault
	for _, v := range all {
		faults = append(faults, l.violation(v.from, v.to, v.reason, v.others))
	}
	return faults
}

// isSatisfiedBy reports whether the order of two Applications satisfies a dependency of the first.
func isSatisfiedBy(r fleet.Reason, order fleet.Order) bool {
	return r.Strength < fleet.Exists || order == fleet.Later || order == fleet.Same && !r.Strength.NeedsEarlierStep()
}

// isSatisfied reports whether steps satisfy a dependency.
func isSatisfied(r fleet.Reason, from, to int) bool {
	return r.Strength < fleet.Exists || to < from || to == from && !r.Strength.NeedsEarlierStep()
}

// isSatisfiedInTime reports whether another Application satisfies a dependency in time,
// because it contains the same object.
func (l *checker) isSatisfiedInTime(from int, r fleet.Reason) bool {
	app := l.Applications[from]
	return slices.ContainsFunc(l.dependencies[from], func(link fleet.Link) bool {
		to := l.Applications[link.To]
		return to.Step.Set && l.together(app, to) && slices.ContainsFunc(link.Reasons, func(o fleet.Reason) bool {
			return o.From == r.From && o.Field == r.Field && o.To == r.To && o.To != (object.ID{}) && isSatisfiedBy(o, l.Ordered(from, link.To))
		})
	})
}

// isUncertain reports whether a dependency is uncertain: inferred, or on a namespace that Argo
// CD creates.
func isUncertain(r fleet.Reason) bool { return r.Inferred || r.IsNamespace() }

// violation returns the finding for a dependency that the steps violate.
func (l *checker) violation(from, to int, r fleet.Reason, others int) fault {
	app, other := l.Applications[from], l.Applications[to]
	severity, isSame := finding.Error, l.Ordered(from, to) == fleet.Same
	if isUncertain(r) || isSame && r.Strength != fleet.Applied {
		severity = finding.Warning
	}
	more := ""
	if others > 0 {
		more = fmt.Sprintf(" (the first of %d such dependencies)", others+1)
	}
	own, theirs := l.named(from, to)
	steps := fmt.Sprintf("component %s is in %s and %s in %s", other.Name, theirs, app.Name, own)
	if isSame {
		steps = fmt.Sprintf("components %s and %s are both in %s", other.Name, app.Name, own)
	}
	if l.InPlace() {
		steps = l.inPlaceSteps(from, to)
	}
	message := fmt.Sprintf("%s%s%s, but %s: %s", renderedFrom(r), dependencySentence(r), more, steps, l.consequence(from, to, r))
	if cycle := l.cycleOf(from, to, r); cycle != nil {
		message += "; the components form a cycle: " + l.pathReasons(cycle[1:])
	}
	f := l.at(severity, app, message, l.remedy(from, to, r)).with(other)
	f.Object, f.Field = objectName(r), r.Field
	return f
}

// dependencySentence returns the sentence about a dependency, without its subject.
func dependencySentence(r fleet.Reason) string {
	if objectName(r) == "" {
		return r.String()
	}
	return strings.TrimSpace("it " + r.Why + " " + r.To.String())
}

// objectName returns the name of the dependent object; empty if it is unknown.
func objectName(r fleet.Reason) string { return strings.TrimSpace(r.From.String()) }

// renderedFrom returns the file that the dependent object was rendered from, to begin the
// sentence about it: after another object, it would seem to be the file of that one.
func renderedFrom(r fleet.Reason) string {
	if r.File == "" || objectName(r) == "" {
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

// consequence says what happens in a rollout with these steps.
func (l *checker) consequence(from, to int, r fleet.Reason) string {
	uncertain, isSame := isUncertain(r), l.Ordered(from, to) == fleet.Same
	app, other := l.Applications[from], l.Applications[to]
	switch own, others := l.named(from, to); {
	case others == inNoStep:
		return other.Name + " is never synced"
	case r.IsNamespace():
		return "until " + other.Name + " is synced, Argo CD creates the namespace without its labels and annotations " +
			"if CreateNamespace=true is set; otherwise, the sync of " + app.Name + " fails"
	case isSame && r.Strength == fleet.Applied && uncertain:
		return "both are synced at the same time, so the sync of " + app.Name + " may fail, and Argo CD retries it only a few times"
	case isSame && r.Strength == fleet.Applied:
		return "both are synced at the same time, so the sync of " + app.Name + " fails, and Argo CD retries it only a few times"
	case isSame && uncertain:
		return "both are synced at the same time, and " + app.Name + " may start before " + other.Name + " is healthy"
	case isSame:
		return "both are synced at the same time, and " + app.Name + " starts before " + other.Name + " is healthy"
	case r.Strength == fleet.Applied && uncertain:
		return "the sync of " + app.Name + " may fail, so " + own + " never completes and " + others + " never starts"
	case r.Strength == fleet.Applied:
		return "the sync of " + app.Name + " fails, so " + own + " never completes and " + others + " never starts"
	case uncertain:
		return app.Name + " may never become healthy, and then " + own + " never completes and " + others + " never starts"
	default:
		return app.Name + " never becomes healthy, so " + own + " never completes and " + others + " never starts"
	}
}

// remedy says which of two Applications to move, and to which step.
func (l *checker) remedy(from, to int, r fleet.Reason) string {
	app, other := l.Applications[from], l.Applications[to]
	if cycle := l.cycleOf(from, to, r); cycle != nil && !l.InPlace() {
		if !r.Strength.NeedsEarlierStep() && !slices.ContainsFunc(cycle[1:],
			func(link fleet.Link) bool { return link.Strength().NeedsEarlierStep() }) {
			return l.move(app, other.Step.Number, "")
		}
		return l.cycleRemedy(cycle)
	} else if cycle != nil {
		return l.cycleRemedy(cycle)
	}
	if l.InPlace() {
		return l.moveInPlace(from, to)
	}
	if own := l.correctSteps[to]; own != other.Step.Number && l.isPlace(own) && isSatisfied(r, app.Step.Number, own) {
		return l.move(other, own, "or earlier")
	}
	if later := l.correctSteps[from]; l.isPlace(later) && isSatisfied(r, later, l.correctSteps[to]) {
		if l.correctSteps[to] != other.Step.Number {
			return l.move(other, l.correctSteps[to], "") + ", and " + l.move(app, later, "or later") + l.followers(from, later)
		}
		return l.move(app, later, "or later") + l.followers(from, later)
	}
	if earlier, can := l.latest(to, app.Step.Number-r.Strength.Gap()); can {
		return l.move(other, earlier, "or earlier")
	}
	return fmt.Sprintf("add a place for %s after %s to the profile, and move %s there", cmp.Or(app.Rung, app.Name),
		l.step(other.Step.Number), app.Name)
}

// cycleOf returns the cycle that a dependency is part of, if any. The dependency is the first
// link.
func (l *checker) cycleOf(from, to int, r fleet.Reason) []fleet.Link {
	if !l.reaches(to, from, !isUncertain(r)) {
		return nil
	}
	return append([]fleet.Link{l.linkOf(from, to)}, l.chain(to, from)...)
}

// cycleRemedy proposes the dependency of a cycle to remove: one on CRDs, otherwise one of
// objects that nothing else uses. If there is neither, it names all of them.
func (l *checker) cycleRemedy(cycle []fleet.Link) string {
	app, other := l.Applications[cycle[0].From], l.Applications[cycle[0].To]
	used := l.Used()
	for _, link := range cycle {
		if to := l.Applications[link.To]; steps.CanSplit(to) && steps.IsCRD(link.Reasons[0]) &&
			!slices.ContainsFunc(link.Reasons, func(r fleet.Reason) bool {
				return !isUncertain(r) && r.Strength.NeedsEarlierStep() && !steps.IsCRD(r)
			}) {
			return steps.SplitRemedy(to.Name)
		}
	}
	for _, link := range cycle {
		if r := link.Reasons[0]; !isUncertain(r) && used.IsUnused(link.From, r) && used.HoldsForNothing(link) {
			return fmt.Sprintf("move %s from %s to a component after %s", r.From, l.Applications[link.From].Name, l.Applications[link.To].Name)
		}
	}
	return fmt.Sprintf("remove one of the dependencies between %s and %s", app.Name, other.Name)
}

// linkOf returns the link between two Applications.
func (l *checker) linkOf(from, to int) fleet.Link {
	return l.dependencies[from][slices.IndexFunc(l.dependencies[from], func(link fleet.Link) bool { return link.To == to })]
}

// followers names the Applications that have to follow one that moves.
func (l *checker) followers(moved, to int) string {
	var names []string
	for from, app := range l.Applications {
		if !app.Step.Set || app.Step.Number < l.Applications[moved].Step.Number || !l.together(app, l.Applications[moved]) {
			continue
		}
		for _, link := range l.dependencies[from] {
			if link.To == moved && slices.ContainsFunc(link.Reasons,
				func(r fleet.Reason) bool { return !isUncertain(r) && !isSatisfied(r, app.Step.Number, to) }) {
				names = append(names, app.Name+" to "+l.step(l.correctSteps[from]))
			}
		}
	}
	if names == nil {
		return ""
	}
	return ", and its dependents after it: " + finding.Few(names)
}

// computeCorrectSteps returns the correct step of each Application: its current one if the step
// is for such Applications and comes after all dependencies, otherwise the next such step. It
// assumes that the dependencies are in their correct steps, so all remedies can be applied at
// once.
func (l *checker) computeCorrectSteps() []int {
	l.correctSteps = make([]int, len(l.Applications))
	visited := make([]bool, len(l.Applications))
	var visit func(at int)
	visit = func(at int) {
		visited[at] = true
		for _, link := range l.dependencies[at] {
			if !visited[link.To] {
				visit(link.To)
			}
		}
		l.moveDependenciesEarlier(at)
		l.correctSteps[at] = l.correctStep(l.Applications[at], l.lowerBound(at))
	}
	for at, app := range l.Applications {
		l.correctSteps[at] = app.Step.Number // for those in a cycle
	}
	for at := range l.Applications {
		if !visited[at] {
			visit(at)
		}
	}
	return l.correctSteps
}

// correctStep returns the first correct step of an Application that is not before a bound.
func (l *checker) correctStep(app *fleet.Application, bound int) int {
	current := app.Step.Number
	isCorrect := app.Step.Set && l.isInCorrectStep(app)
	if isCorrect && current >= bound {
		return current
	}
	wanted := max(bound, current)
	if !app.Step.Set {
		wanted = bound
		if l.Profile.Style == profile.Waves {
			wanted = max(bound, 0) // the default of Argo CD
		}
	}
	all := slices.DeleteFunc(l.places(app, bound, wanted), func(p int) bool { return p < bound })
	switch {
	case len(all) == 0:
		return wanted
	case isCorrect || !app.Step.Set:
		return all[0]
	}
	if own := l.stepsForRung(app, all); own != nil {
		all = own
	}
	return slices.MinFunc(all, func(x, y int) int { return cmp.Compare(max(x-current, current-x), max(y-current, current-y)) })
}

// stepsForRung returns the steps of an Application's band that are primarily for its rung.
func (l *checker) stepsForRung(app *fleet.Application, steps []int) []int {
	band, _ := l.Profile.Band(app.Step.Number)
	var all []int
	for _, p := range band.Places {
		if len(p.Rungs) > 0 && p.Rungs[0] == app.Rung && slices.Contains(steps, p.Step) {
			all = append(all, p.Step)
		}
	}
	return all
}

// isInCorrectStep reports whether the step of an Application is for its rung, in a band of its
// domain.
func (l *checker) isInCorrectStep(app *fleet.Application) bool {
	band, in := l.Profile.Band(app.Step.Number)
	if !in {
		return len(l.Profile.Bands) == 0
	}
	place, isPlace := l.Profile.Place(app.Step.Number)
	return (isPlace && (l.acceptsRung(app, place) || !l.hasPlaceForRung(app)) || len(band.Places) == 0) && !l.foreign(app, band)
}

// lowerBound returns the first step after all dependencies of an Application. It ignores
// dependencies that no step can satisfy.
func (l *checker) lowerBound(from int) int {
	app := l.Applications[from]
	first, any := 0, false
	for _, link := range l.dependencies[from] {
		to := l.Applications[link.To]
		if !to.Step.Set && l.correctSteps[link.To] == 0 || !l.together(app, to) || l.reaches(link.To, from, true) {
			continue
		}
		for _, r := range link.Reasons {
			if after := l.correctSteps[link.To] + r.Strength.Gap(); r.Strength >= fleet.Exists && (!any || after > first) {
				first, any = after, true
			}
		}
	}
	if !any {
		return l.firstStep()
	}
	return first
}

// firstStep returns the first step of the profile.
func (l *checker) firstStep() int {
	if len(l.Profile.Bands) == 0 {
		return 0
	}
	return l.Profile.Bands[0].From
}

// latest returns the last correct step up to a limit that comes after all dependencies of an
// Application: in its bands or, if there is none, in any band.
func (l *checker) latest(at, limit int) (int, bool) {
	app, bound := l.Applications[at], l.lowerBound(at)
	for _, bands := range [][]profile.Band{l.bandsOf(app), l.Profile.Bands} {
		for _, p := range slices.Backward(l.stepsOf(bands, app, limit)) {
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
	own := l.stepsOf(l.bandsOf(app), app, wanted)
	if own == nil || own[len(own)-1] < bound {
		return l.stepsOf(l.Profile.Bands, app, wanted)
	}
	return own
}

// stepsOf returns the steps of bands for the rung of an Application, in order. In a band without
// places, each number is a step; of these it returns the wanted one.
func (l *checker) stepsOf(bands []profile.Band, app *fleet.Application, wanted int) []int {
	var all []int
	for _, b := range bands {
		if len(b.Places) == 0 {
			all = append(all, min(max(wanted, b.From), b.To))
		}
		for _, p := range b.Places {
			if l.acceptsRung(app, p) {
				all = append(all, p.Step)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// moveDependenciesEarlier moves the dependencies of an Application to earlier steps if its own
// bands have no step that is late enough. Otherwise, all its dependents would have to move, too.
func (l *checker) moveDependenciesEarlier(from int) {
	app := l.Applications[from]
	own := l.stepsOf(l.bandsOf(app), app, l.lowerBound(from))
	if own == nil || own[len(own)-1] >= l.lowerBound(from) {
		return
	}
	last := own[len(own)-1]
	for _, link := range l.dependencies[from] {
		to := l.Applications[link.To]
		if !l.together(app, to) || l.reaches(link.To, from, true) || l.correctSteps[link.To] != to.Step.Number {
			continue // its correct step is in its own bands
		}
		for _, r := range link.Reasons {
			if isUncertain(r) || isSatisfied(r, last, l.correctSteps[link.To]) {
				continue
			}
			if earlier, can := l.latest(link.To, last-r.Strength.Gap()); can {
				l.correctSteps[link.To] = earlier
			}
			break
		}
	}
}

// search is the start of a search for dependencies.
type search struct {
	from int
	// certain skips uncertain dependencies.
	certain bool
}

// reaches reports whether one Application depends on another, directly or through others. With
// certain, it skips uncertain dependencies.
func (l *checker) reaches(from, to int, certain bool) bool {
	s := search{from, certain}
	if l.reachable[s] == nil {
		l.reachable[s] = digraph.Reachable([]int{from}, func(at int) []int {
			var all []int
			for _, link := range l.orderingLinks(at, certain) {
				all = append(all, link.To)
			}
			return all
		})
	}
	return l.reachable[s][to]
}

// orderingLinks returns the links of an Application that determine its order. With certain, it
// skips uncertain dependencies.
func (l *checker) orderingLinks(from int, certain bool) []fleet.Link {
	return slices.DeleteFunc(slices.Clone(l.dependencies[from]), func(link fleet.Link) bool {
		return !l.together(l.Applications[from], l.Applications[link.To]) || !slices.ContainsFunc(link.Reasons, func(r fleet.Reason) bool {
			return r.Strength >= fleet.Exists && !(certain && isUncertain(r))
		})
	})
}

// chain returns a shortest path of dependencies from one Application to another.
func (l *checker) chain(from, to int) []fleet.Link {
	chain, _ := digraph.Path(from, func(at int) bool { return at == to },
		func(at int) []fleet.Link { return l.orderingLinks(at, false) },
		func(_ int, link fleet.Link) int { return link.To })
	return chain
}

// pathReasons returns the reasons along a path.
func (l *checker) pathReasons(chain []fleet.Link) string {
	var all []string
	for _, link := range chain {
		all = append(all,
			fmt.Sprintf("%s depends on %s, because %s", l.Applications[link.From].Name, l.Applications[link.To].Name, link.Reasons[0]))
	}
	return strings.Join(all, "; ")
}
