package lint

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/appset"
	"github.com/ladder-cmp/ladder/fleet/inplace"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/remote"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/render/helm"
)

// aboutComponents are the rules about component.yaml, and about what a profile reserves: they do not
// apply to Applications that exist already.
var aboutComponents = []finding.Rule{appset.NoStep, ProfilePlaces, helm.BadName, foreignProject, reservedLabel, platformSetting,
	fleet.BadEnvironment, notNative, "no-version"}

// apply returns the rules that apply to a fleet.
func apply(rules []Rule, f *fleet.Fleet) []Rule {
	if !f.InPlace() {
		return rules
	}
	return slices.DeleteFunc(slices.Clone(rules), func(r Rule) bool { return slices.Contains(aboutComponents, r.Name) })
}

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
			f.Message += "; the same holds for " + finding.Several(others)
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

// unordered finds Applications that depend on each other and that nothing orders: one finding for
// each ApplicationSet, parent or band that could, and for waves that order nothing.
func (l *checker) unordered() []fault {
	if !l.InPlace() {
		return l.unorderedBands()
	}
	byParent := map[int][]violation{}
	for from, app := range l.Applications {
		for _, link := range l.dependencies[from] {
			to := l.Applications[link.To]
			i := slices.IndexFunc(link.Reasons, func(r fleet.Reason) bool { return !isUncertain(r) && r.Strength.NeedsEarlierStep() })
			if i < 0 || l.Ordered(from, link.To) != fleet.Unordered || !l.together(app, to) {
				continue
			}
			a, _ := l.Tree.Siblings(app.Node, to.Node)
			of := l.Tree.Nodes[a].Parent
			byParent[of] = append(byParent[of], violation{from, link.To, link.Reasons[i], 0})
		}
	}
	all := l.ignoredWaves()
	for _, of := range slices.Sorted(maps.Keys(byParent)) {
		var texts []string
		for _, v := range byParent[of] {
			texts = append(texts, l.Applications[v.from].Name+" on "+l.Applications[v.to].Name)
		}
		first := byParent[of][0]
		f := l.at(finding.Warning, l.Applications[first.from],
			fmt.Sprintf("%s: %s, such as %s", l.whyUnordered(of), finding.Several(texts), first.reason.Located()),
			"let a parent create them in waves, which cmp fleet steps computes, or let the retries of syncs order them")
		if of != inplace.None {
			n := l.Tree.Nodes[of]
			f.File, f.Line, f.Object = n.Place.File, n.Place.Line, n.Object.ID.String()
			f.Remedy = "add steps to spec.strategy.rollingSync of the ApplicationSets, for which waves wait, or let the retries of syncs order them"
			if n.IsSet {
				f.Remedy = "add steps to spec.strategy.rollingSync, which cmp fleet steps computes, or let the retries of syncs order them"
			}
		}
		all = append(all, f)
	}
	return all
}

// whyUnordered says why nothing orders the Applications that a node creates.
func (l *checker) whyUnordered(of int) string {
	switch {
	case of == inplace.None:
		return "nothing orders these Applications, which depend on others, because no wave is set"
	case l.Tree.Nodes[of].IsSet:
		return "an ApplicationSet without steps does not order its Applications, but some depend on others"
	}
	return "waves do not wait for the Applications of an ApplicationSet without steps, but others depend on them"
}

// severalInstallations finds Applications that cannot be in the same Argo CD.
func (l *checker) severalInstallations() []fault {
	first := map[object.ID]*fleet.Application{}
	var at *fleet.Application
	var names []string
	for _, app := range l.Applications {
		id := l.Tree.Nodes[app.Node].Object.ID
		other, seen := first[id]
		if !seen {
			first[id] = app
			continue
		}
		if !slices.Contains(names, id.Name) {
			names = append(names, id.Name)
		}
		if at == nil {
			at = other
		}
	}
	if at == nil {
		return nil
	}
	return []fault{l.at(finding.Warning, at,
		"several Applications have the same name, so Ladder takes their directories for those of several Argo CDs: "+
			finding.Several(names), "name the directory of one Argo CD, or rename them if they are in one")}
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
			Message: "Argo CD ignores the sync waves of generated Applications, so these have no effect: " + finding.Several(names),
			Remedy:  "remove the annotation, or use steps of spec.strategy.rollingSync instead"}})
	}
	return all
}

// sourcesElsewhere finds sources that are not available: one finding for each cause, because
// nothing else can be done about each of them. Those with a record are ordered by it.
func (l *checker) sourcesElsewhere() []fault {
	var known, unknown, directories, plugins []missingSource
	for _, c := range l.missingSources() {
		switch {
		case c.plugin != "":
			plugins = append(plugins, c)
		case c.known != nil && !c.known.Inferred:
			known = append(known, c)
		case c.ref.Kind == remote.Chart:
			unknown = append(unknown, c)
		default:
			directories = append(directories, c)
		}
	}
	var all []fault
	add := func(of []missingSource, message, remedy string) {
		var names []string
		count := 0
		for _, c := range of {
			names, count = append(names, c.name), count+len(c.users)
		}
		if len(of) > 0 {
			f := l.at(finding.Note, of[0].users[0],
				fmt.Sprintf(message, strings.Join(names, ", "), finding.Counted(count, "Application")), remedy)
			f.About = of[0].name
			all = append(all, f)
		}
	}
	add(known, "sources that are not available here: %s; Ladder orders %s by its records of them",
		"allow them with --allow-remote to order the Applications by their manifests")
	const order = "what they depend on is unknown, and their order is kept"
	add(unknown, "charts that are neither available here nor known: %s; they are sources of %s: "+order,
		"allow them with --allow-remote, so that Ladder fetches them")
	add(directories, "files of other repositories, which are not available here: %s; they are sources of %s: "+order,
		"allow them with --allow-remote, so that Ladder fetches them")
	for _, c := range plugins {
		message := "the plugin " + c.plugin + " does not run here, so what it renders for %[2]s is unknown, and their order is kept"
		if c.isApproximate {
			message = "the plugin " + c.plugin + " does not run here: Ladder renders %[2]s without it, and what it changes is unknown"
		}
		add([]missingSource{c}, message, "check the order of these Applications yourself: "+finding.Several(namesOf(c.users)))
	}
	return all
}
