package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/inplace"
	"github.com/ladder-cmp/ladder/internal/finding"
)

// aboutComponents are the rules about component.yaml, and about what a profile reserves: they do not
// apply to Applications that exist already.
var aboutComponents = []string{NoStep, "no-band", "no-place", EmptyPlace, "place-order", "wrong-place", "bundled-crds", "foreign-band",
	"bad-name", "bad-label", "step-label", foreignProject, reservedLabel, platformSetting, unsafeValue, "octal-step", "no-environment",
	"unused-values", "no-values-file", "remote-split", "no-version", "not-fetched", "unknown-chart"}

// aboutApplications are the rules only about Applications that exist already.
var aboutApplications = []string{notAvailable, unorderedSet, ignoredWave}

// apply returns the rules that apply to a fleet.
func apply(rules []Rule, f *fleet.Fleet) []Rule {
	without := aboutApplications
	if f.InPlace() {
		without = aboutComponents
	}
	return slices.DeleteFunc(slices.Clone(rules), func(r Rule) bool { return slices.Contains(without, r.Name) })
}

// The rules about Applications that exist already.
const (
	notAvailable = "source-elsewhere"
	unorderedSet = "unordered"
	ignoredWave  = "ignored-wave"
)

// named names the waves or steps of the branches that order two Applications, as they are in a
// sentence.
func (l *checker) named(from, to int) (own, others string) {
	app, other := l.Applications[from], l.Applications[to]
	if !l.InPlace() {
		return l.step(app.Step.Number), l.step(other.Step.Number)
	}
	a, b := l.Tree.Siblings(app.Node, other.Node)
	return l.place(a), l.place(b)
}

// inNoStep is the place of an Application that no step of its set selects.
const inNoStep = "no step"

// place names the wave or step of a node.
func (l *checker) place(node int) string {
	n := l.Tree.Nodes[node]
	if n.Parent != inplace.None && l.Tree.Nodes[n.Parent].IsSet {
		if n.Step == 0 && l.Tree.Nodes[n.Parent].Steps > 0 {
			return inNoStep
		}
		return fmt.Sprintf("step %d", n.Step)
	}
	return fmt.Sprintf("wave %d", n.Wave.Number)
}

// branch names the Application that orders another one: itself, or what creates it.
func (l *checker) branch(app *fleet.Application, node int) string {
	if node == app.Node {
		return app.Name
	}
	n := l.Tree.Nodes[node]
	return fmt.Sprintf("%s (below %s)", app.Name, n.Object.ID.Name)
}

// inPlaceSteps says in which waves or steps two Applications are.
func (l *checker) inPlaceSteps(from, to int) string {
	app, other := l.Applications[from], l.Applications[to]
	a, b := l.Tree.Siblings(app.Node, other.Node)
	own, others := l.named(from, to)
	if own == others {
		return fmt.Sprintf("%s and %s are both in %s", l.branch(other, b), l.branch(app, a), own)
	}
	return fmt.Sprintf("%s is in %s and %s in %s", l.branch(other, b), others, l.branch(app, a), own)
}

// groupByDependency combines the violations of Applications that exist already: one finding for each
// Application that others depend on, because moving that one corrects all of them.
func (l *checker) groupByDependency(all []violation) []fault {
	var faults []fault
	done := map[int]bool{}
	for _, v := range all {
		if done[v.to] {
			continue
		}
		done[v.to] = true
		var others []string
		first := v
		for _, other := range all {
			if other.to != v.to {
				continue
			}
			if worse(other, first) {
				first = other
			}
		}
		for _, other := range all {
			if other.to == v.to && other.from != first.from {
				others = append(others, l.Applications[other.from].Name)
			}
		}
		f := l.violation(first.from, first.to, first.reason, first.others)
		if len(others) > 0 {
			f.Message += "; the same holds for " + fewAndMore(others)
		}
		faults = append(faults, f)
	}
	return faults
}

// worse reports whether a violation says more than another one.
func worse(x, y violation) bool {
	if isUncertain(x.reason) != isUncertain(y.reason) {
		return isUncertain(y.reason)
	}
	return x.reason.Strength > y.reason.Strength
}

// fewAndMore lists the first names and counts all others.
func fewAndMore(names []string) string {
	const most = 5
	if len(names) <= most+1 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// moveInPlace returns the remedy for two Applications that exist already.
func (l *checker) moveInPlace(from, to int) string {
	app, other := l.Applications[from], l.Applications[to]
	a, b := l.Tree.Siblings(app.Node, other.Node)
	what := "wave"
	if of := l.Tree.Nodes[a].Parent; of != inplace.None && l.Tree.Nodes[of].IsSet {
		what = "step"
	}
	return fmt.Sprintf("give %s an earlier %s than %s; cmp fleet steps computes all of them", l.Tree.Nodes[b].Object.ID.Name, what,
		l.Tree.Nodes[a].Object.ID.Name)
}

// unordered finds ApplicationSets without steps whose Applications depend on each other.
func (l *checker) unordered() []fault {
	type pair struct {
		from, to int
		reason   fleet.Reason
	}
	bySet := map[int][]pair{}
	for from, app := range l.Applications {
		for _, link := range l.dependencies[from] {
			to := l.Applications[link.To]
			i := slices.IndexFunc(link.Reasons, func(r fleet.Reason) bool { return !isUncertain(r) && r.Strength.NeedsEarlierStep() })
			if i < 0 || l.Ordered(from, link.To) != fleet.Unordered || !l.together(app, to) {
				continue
			}
			a, _ := l.Tree.Siblings(app.Node, to.Node)
			set := l.Tree.Nodes[a].Parent
			bySet[set] = append(bySet[set], pair{from, link.To, link.Reasons[i]})
		}
	}
	var all []fault
	for node, n := range l.Tree.Nodes {
		pairs := bySet[node]
		if len(pairs) == 0 {
			continue
		}
		var texts []string
		for _, p := range pairs {
			texts = append(texts, l.Applications[p.from].Name+" on "+l.Applications[p.to].Name)
		}
		f := fault{Finding: finding.Finding{Severity: finding.Warning, File: n.Place.File, Line: n.Place.Line, Object: n.Object.ID.String(),
			Message: fmt.Sprintf("nothing orders its Applications, but some depend on others: %s, such as %s", fewAndMore(texts),
				pairs[0].reason.Located()),
			Remedy: "add steps to spec.strategy.rollingSync; cmp fleet steps computes them, or let the retries of syncs order them"}}
		all = append(all, f)
	}
	return all
}

// ignoredWaves finds sync waves of Applications that an ApplicationSet generates.
func (l *checker) ignoredWaves() []fault {
	var all []fault
	for node, n := range l.Tree.Nodes {
		if !n.IsSet {
			continue
		}
		var names []string
		for _, child := range l.Tree.Children(node) {
			if c := l.Tree.Nodes[child]; c.Wave.Set && c.Wave.Number != 0 {
				names = append(names, fmt.Sprintf("%s: %d", c.Object.ID.Name, c.Wave.Number))
			}
		}
		if len(names) == 0 {
			continue
		}
		all = append(all, fault{Finding: finding.Finding{Severity: finding.Warning, File: n.Place.File, Line: n.Place.Line,
			Object: n.Object.ID.String(), Field: "spec.template.metadata.annotations",
			Message: "Argo CD ignores the sync waves of generated Applications, so these have no effect: " + fewAndMore(names),
			Remedy:  "remove the annotation, or use steps of spec.strategy.rollingSync instead"}})
	}
	return all
}

// sourcesElsewhere finds sources that are not available: one finding for those that have a record,
// and one for each of all others.
func (l *checker) sourcesElsewhere() []fault {
	var all []fault
	var known []string
	var first *fleet.Application
	count := 0
	for _, c := range l.missingSources() {
		if c.known != nil && !c.known.Inferred {
			first, count = cmp.Or(first, c.users[0]), count+len(c.users)
			known = append(known, c.name)
			continue
		}
		names := fewAndMore(namesOf(c.users))
		what, remedy := "chart "+c.name+" of "+finding.WithoutCredentials(c.ref.URL), "allow it with --allow-remote, so that Ladder fetches it"
		switch {
		case c.plugin != "":
			what, remedy = "what plugin "+c.plugin+" renders", "check the order of these Applications yourself"
		case c.ref.Chart == "":
			what = c.ref.String()
		}
		message := fmt.Sprintf("%s is not available here, so what %s depend on is unknown, and they keep their order", what, names)
		if c.known != nil {
			message = fmt.Sprintf("%s is not available here; judging by its name, it provides kinds of %s; it is a source of %s", what,
				strings.Join(c.known.Provides, ", "), names)
		}
		f := l.at(finding.Note, c.users[0], message, remedy)
		f.About = what
		all = append(all, f)
	}
	if first != nil {
		f := l.at(finding.Note, first, fmt.Sprintf("%s not available here, so Ladder orders %s by its records of these charts: %s",
			finding.Counted(len(known), "chart"), finding.Counted(count, "Application"), strings.Join(known, ", ")),
			"allow them with --allow-remote to order the Applications by their manifests")
		all = append(all, f)
	}
	return all
}
