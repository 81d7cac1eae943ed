package fleet

import (
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/internal/finding"
)

// Rule is a check of a fleet.
type Rule struct {
	Name string
	// Severities are the severities of its findings, the most severe first.
	Severities []finding.Severity
	// Finds describes its findings for the documents.
	Finds string

	find func(*lint) []fault
}

// Rules returns the rules of Lint.
func Rules() []Rule { return rules }

var rules = []Rule{
	{NoStep, only(finding.Error), "a component, or the CRDs of a split one, without a step, so the rollout does not select it. Disabled components need a step, too", (*lint).noStep},
	{"no-band", only(finding.Error), "a step outside all bands of the profile", (*lint).noBand},
	{"no-place", only(finding.Error), "a step that is not a place of its band, so the rollout does not select the component", (*lint).noPlace},
	{EmptyPlace, only(finding.Note), "places of the profile without a component; each is a step", (*lint).emptyPlaces},
	{"place-order", only(finding.Warning), "places and bands of a `ladder.yaml` that are out of order, duplicate, or not described", (*lint).placeOrder},
	{"wrong-place", only(finding.Warning), "a component in a step for something else: an operator in a step for secrets, secrets in a step for workloads, a smoke test before the step for smoke tests", (*lint).wrongPlace},
	{"bundled-crds", only(finding.Warning), "CRDs in a component at a place that is not for CRDs, such as an operator", (*lint).bundled},
	{"foreign-band", only(finding.Warning), "a component in a band of other domains", (*lint).foreignBand},
	{"same-name", only(finding.Error, finding.Warning), "two Applications with the same name in one environment; a warning if one of them is disabled", (*lint).sameName},
	{badName, only(finding.Error), "a name that Kubernetes rejects", (*lint).badName},
	{"bad-label", only(finding.Error), "a label, annotation, domain or tier that Kubernetes rejects", miswritten("bad-label")},
	{stepLabel, only(finding.Error), "a component that sets the label of the step (`rollout-phase`)", miswritten(stepLabel)},
	{foreignProject, only(finding.Error, finding.Warning), "a component that asks for an AppProject that the platform does not allow; a warning for each project if the platform allows no choice (no `--project-from-components`)", (*lint).foreignProjects},
	{reservedLabel, only(finding.Error), "a label that Argo CD or the rollout selects by: `environment`, and those of `argoproj.io`", miswritten(reservedLabel)},
	{platformSetting, only(finding.Error), "a server, an annotation of `argoproj.io`, or metadata of a namespace, that the platform does not allow in `fleet.allow`", (*lint).platformSettings},
	{unsafeValue, only(finding.Error), "a value that is written into an Application and contains a template, a line break or a control character", (*lint).unsafeValues},
	{octalStep, only(finding.Error), "a step such as `010` without quotes, which Argo CD reads as 8", miswritten(octalStep)},
	{"no-environment", only(finding.Warning), "a component for an unknown environment", miswritten("no-environment")},
	{"unused-values", only(finding.Warning), "a values file of `fleet.environments` that no component has", (*lint).unusedValues},
	{"no-values-file", only(finding.Error), "a values file of an environment that does not exist, for a chart that Argo CD renders", (*lint).missingValues},
	{"remote-split", only(finding.Error), "a split chart that is in another repository", miswritten("remote-split")},
	{"crd-shared", only(finding.Error), "a CRD in two components that are deployed together", (*lint).sameDefinition},
	{"object-shared", only(finding.Error), "any other object in two components that are deployed together, and any object that two environments of one cluster both contain", (*lint).sameObject},
	{needsDisabled, only(finding.Error, finding.Warning), "a component that is disabled or not in an environment, while a deployed component depends on it; a warning if the dependency is inferred, or is the CRD of objects that are created later", (*lint).needsDisabled},
	{missingKind, only(finding.Warning, finding.Note), "objects whose kind neither the fleet, nor Kubernetes, nor Argo CD defines: one finding for each API group; a note if a component that could not be rendered may define it", (*lint).missingKinds},
	{"only-hooks", only(finding.Warning), "a component that contains only hooks: Argo CD reports it as Synced, so automated sync never runs them", (*lint).onlyHooks},
	{"not-fetched", only(finding.Warning), "a chart or a file that a kustomization or a chart names, and that is neither vendored nor fetched: Ladder uses its built-in record of the chart, if there is one", (*lint).notFetched},
	{"unknown-chart", only(finding.Note), "an unknown chart in a registry, whose dependencies are not checked", (*lint).unknownCharts},
	{"no-version", only(finding.Warning), "a chart in a registry without a `version`: Argo CD uses the latest version, and upgrades at any time", (*lint).noVersion},
	{laterStep, only(finding.Error, finding.Warning), "a component that depends on a component of a later step; a warning if the dependency is inferred, or is a namespace that Argo CD creates", (*lint).laterStep},
	{sameStep, only(finding.Error, finding.Warning), "a component that depends on the health of a component of the same step; an error if it provably cannot be applied before the other one is healthy", (*lint).sameStep},
	{"stale-accepted", only(finding.Warning), "an entry of `accepted` in a `ladder.yaml` that matches no finding", (*lint).stale}, // after all others, which say what is accepted
}

// NoStep is the rule about components without a step.
const NoStep = "no-step"

// stepLabel is the rule about labels that hide the label with the step.
const stepLabel = "step-label"

// octalStep is the rule about steps that YAML reads as octal numbers.
const octalStep = "octal-step"

// sameStep is the rule about dependencies within a step. Where it is accepted, steps are
// computed accordingly.
const sameStep = "same-step"

// laterStep is the rule about dependencies on a later step.
const laterStep = "later-step"

// needsDisabled is the rule about dependencies on components that are not deployed.
const needsDisabled = "needs-disabled"

// EmptyPlace is the rule about steps without components.
const EmptyPlace = "empty-place"

// badName is the rule about names of Applications.
const badName = "bad-name"

func only(severities ...finding.Severity) []finding.Severity { return severities }

// Lint checks a fleet: its component.yaml files and its rendered objects. The findings include
// components that cannot be rendered, but no other findings of renderings. With an
// environment, only its components are checked; empty checks all environments.
func (f *Fleet) Lint(environment string) []finding.Finding {
	all := f.FindingsIn(environment, (*Application).HasFailed)
	all = append(all, f.findIn(environment, rules)...)
	all = append(all, f.renamed...)
	finding.Sort(all)
	return all
}

// Look is Lint for users who only want to see a fleet. If it has no rollout yet, it is not
// wrong that its components have no steps: one note says so instead.
func (f *Fleet) Look(environment string) []finding.Finding {
	all := f.Lint(environment)
	if f.hasRollout() {
		return all
	}
	all = slices.DeleteFunc(all, func(found finding.Finding) bool { return found.Rule == NoStep || found.Rule == EmptyPlace })
	return append(all, finding.Finding{Severity: finding.Note, Rule: NoStep, Message: "no component has a " + f.Profile.Noun() + ", so there is no rollout to check",
		Remedy: "run cmp fleet steps, which computes them, if Argo CD is to deploy the components one after the other"})
}

// hasRollout reports whether anything says how a fleet is rolled out: a component with a
// step, or a ladder.yaml about fleets.
func (f *Fleet) hasRollout() bool {
	return f.Settings.File != "" || slices.ContainsFunc(f.Applications, func(app *Application) bool { return app.Phase.Set })
}

// lint prepares a fleet for its rules.
func (f *Fleet) lint(environment string) *lint {
	l := &lint{Fleet: f, rules: rules, accepted: make([]bool, len(f.Settings.Accepted)), environments: f.environments(environment), ways: map[search]map[int]int{}}
	l.needs = f.needsOf()
	l.right = l.rightPhases()
	return l
}

// find returns the findings of rules.
func (l *lint) find(rules []Rule) []fault {
	var all []fault
	for _, rule := range rules {
		for _, found := range rule.find(l) {
			if l.unread(found.File) {
				continue
			}
			found.Rule = rule.Name
			all = append(all, l.accept(found))
		}
	}
	return all
}

// unread reports whether a file is an invalid component.yaml, whose other keys may be unknown.
func (f *Fleet) unread(file string) bool {
	return slices.ContainsFunc(f.Components, func(c *Component) bool { return c.Unread && c.File == file })
}

// Disproves reports whether an error of a rule means that a rollout in these steps never ends,
// because something waits for a later step, or forever.
func Disproves(rule string) bool {
	return slices.Contains([]string{laterStep, sameStep, needsDisabled, notRendered}, rule)
}

// notRendered is the rule about components without manifests.
const notRendered = "not-rendered"

// Disproved returns the findings of Lint which mean that the rollout never ends, or may not,
// without those that the owners of the fleet accept.
func (f *Fleet) Disproved(environment string) []finding.Finding {
	proofs := slices.DeleteFunc(slices.Clone(rules), func(r Rule) bool { return !Disproves(r.Name) })
	return slices.DeleteFunc(f.findIn(environment, proofs), func(found finding.Finding) bool { return found.Severity == finding.Note })
}

// disproved returns these findings for a target, and the components that do not render. With
// t.Unproven, they are warnings.
func (f *Fleet) disproved(t Target) []finding.Finding {
	all := f.Disproved(t.Environment)
	for _, app := range f.Renderings(t.Environment) {
		if app.Failed && Deployed(app, t.Environment) && app.Part != crds.Only {
			all = append(all, app.fault(notRendered, "", app.Name+" does not render, so nothing after it is rolled out", "correct the component; cmp fleet lint lists its errors"))
		}
	}
	if t.Unproven {
		for i := range all {
			all[i].Severity = finding.Warning
		}
	}
	return all
}

// Environments returns the environments that the fleet or a component names.
func (f *Fleet) Environments() []string {
	var all []string
	for _, e := range f.Settings.Environments {
		all = append(all, e.Name)
	}
	for _, c := range f.Components {
		all = append(all, c.Environments.Names()...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// environments returns the given environment, or all; "" stands for the only one of a fleet
// that names none.
func (f *Fleet) environments(given string) []string {
	if given != "" {
		return []string{given}
	}
	if all := f.Environments(); len(all) > 0 {
		return all
	}
	return []string{""}
}

// lint is a fleet that is being checked.
type lint struct {
	*Fleet
	environments []string
	rules        []Rule
	// needs are the dependencies of each Application.
	needs [][]Link
	// right are the steps to which Applications belong.
	right []int
	// accepted are the entries of the settings that match a finding.
	accepted []bool
	// whole is true if all environments are checked, and last if no other one is checked
	// after these.
	whole, last bool
	// ways caches searches.
	ways map[search]map[int]int
}

// step names a step in messages.
func (l *lint) step(number int) string { return l.Profile.StepName(number) }

// move returns the remedy that moves an Application to another step.
func (l *lint) move(app *Application, to int, also string) string {
	return strings.TrimSpace("move " + app.Name + " to " + l.step(to) + " " + also)
}

// Deployed reports whether an Application is in an environment.
func Deployed(app *Application, environment string) bool {
	return app.IsEnabled() && app.IsIn(environment)
}

// anywhere reports whether an Application is deployed in a checked environment.
func (l *lint) anywhere(app *Application) bool { return l.together(app, app) }

// together reports whether two Applications are deployed in the same environment, on the same
// cluster.
func (l *lint) together(a, b *Application) bool {
	return slices.ContainsFunc(l.environments, func(e string) bool { return Deployed(a, e) && Deployed(b, e) }) && !l.apart(a, b)
}

// at returns a finding about an Application, at the line of its step or where the step is
// missing.
func (l *lint) at(severity finding.Severity, app *Application, message, remedy string) fault {
	return fault{of: app.Name, Finding: finding.Finding{Severity: severity, File: app.File, Line: app.Line(app.phaseKey(l.Profile.Key)), Message: message, Remedy: remedy}}
}
