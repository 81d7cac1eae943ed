// Package lint finds errors in the rollout of a fleet: in its settings, its component.yaml files, its
// steps, and in what its Applications contain and depend on.
package lint

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/appset"
	"github.com/ladder-cmp/ladder/internal/finding"
)

// Findings checks a fleet: its component.yaml files and its rendered objects. The findings include
// components that cannot be rendered, but no other findings of renderings. With an
// environment, only its components are checked; empty checks all environments.
func Findings(f *fleet.Fleet, environment string) []finding.Finding {
	all := append(Rendering(f, environment, (*fleet.Application).HasFailed), f.Reading...)
	all = append(all, findIn(f, environment, rules)...)
	finding.Sort(all)
	return all
}

// ReportFindings is like Findings, but reports a fleet without any steps with one note instead of an
// error for each component. Use it for users who only want to see a fleet.
func ReportFindings(f *fleet.Fleet, environment string) []finding.Finding {
	all := Findings(f, environment)
	if hasRollout(f) {
		return all
	}
	all = slices.DeleteFunc(all, func(found finding.Finding) bool { return found.Rule == appset.NoStep || found.Rule == ProfilePlaces })
	return append(all, finding.Finding{Severity: finding.Note, Rule: appset.NoStep,
		Message: "no component has a " + f.Profile.Noun() + ", so there is no rollout to check",
		Remedy:  "run cmp fleet steps, which computes them, if Argo CD is to deploy the components one after the other"})
}

// hasRollout reports whether anything says how a fleet is rolled out: a component with a
// step, or a ladder.yaml about fleets.
func hasRollout(f *fleet.Fleet) bool {
	return f.Settings.File != "" || slices.ContainsFunc(f.Applications, func(app *fleet.Application) bool { return app.Step.Set })
}

// newChecker prepares a fleet for its rules.
func newChecker(f *fleet.Fleet, environment string) *checker {
	l := &checker{Fleet: f, rules: rules, accepted: make([]bool, len(f.Settings.Accepted)), environments: f.Scope(environment),
		reachable: map[search]map[int]bool{}}
	l.dependencies = dependenciesOf(f)
	l.correctSteps = l.computeCorrectSteps()
	return l
}

// each runs a check for every Application.
func (l *checker) each(find func(*fleet.Application) []finding.Finding) []fault {
	var all []fault
	for _, app := range l.Applications {
		for _, found := range find(app) {
			all = append(all, fault{app: app.Name, Finding: found})
		}
	}
	return all
}

// find returns the findings of rules, of which settings finds those of several. The number of the
// check tells the findings of a rule at one place apart.
func (l *checker) find(rules []Rule) []fault {
	var all []fault
	for _, rule := range apply(rules, l.Fleet) {
		for i, check := range rule.checks {
			for _, found := range check(l) {
				if found.Rule != "" && found.Rule != rule.Name || unread(l.Fleet, found.File) {
					continue
				}
				found.Rule = rule.Name
				found.About = strings.Join([]string{found.app, found.dependency, strconv.Itoa(i), found.About}, " ")
				found, entry := accept(l.Fleet, found)
				if entry >= 0 {
					l.accepted[entry] = true
				}
				all = append(all, found)
			}
		}
	}
	return all
}

// unread reports whether a file is an invalid component.yaml, whose other keys may be unknown.
func unread(f *fleet.Fleet, file string) bool {
	return slices.ContainsFunc(f.Components, func(c *fleet.Component) bool { return c.Unread && c.File == file })
}

// BlocksRollout reports whether an error of a rule means that a rollout in these steps never
// ends, because something waits for a later step, or forever.
func BlocksRollout(rule finding.Rule) bool {
	return slices.Contains([]finding.Rule{fleet.LaterStep, fleet.SameStep, fleet.NeedsDisabled, finding.NotRendered}, rule)
}

// BlockingFindings returns the findings of the package which mean that the rollout never ends,
// or may never end, without those that the owners of the fleet accept.
func BlockingFindings(f *fleet.Fleet, environment string) []finding.Finding {
	blocking := slices.DeleteFunc(slices.Clone(rules), func(r Rule) bool { return !BlocksRollout(r.Name) })
	return slices.DeleteFunc(findIn(f, environment, blocking), func(found finding.Finding) bool { return found.Severity == finding.Note })
}

// RolloutBlockers returns the BlockingFindings, and the components that cannot be rendered.
func RolloutBlockers(f *fleet.Fleet, environment string) []finding.Finding {
	all := BlockingFindings(f, environment)
	for _, app := range f.Renderings(environment) {
		if app.Failed && fleet.Deployed(app, environment) && app.Part != crds.Only {
			all = append(all, app.Fault(finding.NotRendered, "", app.Name+" does not render, so nothing after it is rolled out",
				"correct the component; cmp fleet lint lists its errors"))
		}
	}
	return all
}

// checker is a fleet that is being checked.
type checker struct {
	*fleet.Fleet
	environments []string
	rules        []Rule
	// dependencies are those of each Application.
	dependencies [][]fleet.Link
	// correctSteps are the steps that Applications should be in.
	correctSteps []int
	// accepted are the entries of the settings that match a finding.
	accepted []bool
	// whole is true if all environments are checked, and last if no other one is checked
	// after these.
	whole, last bool
	// reachable caches the direct and transitive dependencies.
	reachable map[search]map[int]bool
}

// step names a step in messages.
func (l *checker) step(number int) string { return l.Profile.StepName(number) }

// move returns the remedy that moves an Application to another step.
func (l *checker) move(app *fleet.Application, to int, also string) string {
	return strings.TrimSpace("move " + app.Name + " to " + l.step(to) + " " + also)
}

// anywhere reports whether an Application is deployed in a checked environment.
func (l *checker) anywhere(app *fleet.Application) bool { return l.together(app, app) }

// together reports whether two Applications are deployed in the same environment, on the same
// cluster.
func (l *checker) together(a, b *fleet.Application) bool {
	return slices.ContainsFunc(l.environments, func(e string) bool { return fleet.Deployed(a, e) && fleet.Deployed(b, e) }) &&
		!l.OnDifferentClusters(a, b)
}

// at returns a finding about an Application, at the line of its step or where the step is
// missing.
func (l *checker) at(severity finding.Severity, app *fleet.Application, message, remedy string) fault {
	return fault{app: app.Name, Finding: finding.Finding{Severity: severity, File: app.File, Line: app.Line(l.StepKey(app)),
		Message: message, Remedy: remedy}}
}
