package fleet

import (
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/profile"
)

// Rule is one of the things that are looked for in a fleet.
type Rule struct {
	Name string
	// Severities are those of its findings, the gravest first.
	Severities []finding.Severity
	// Finds says what, for the documents.
	Finds string

	find func(*lint) []fault
}

// Rules lists what Lint looks for.
func Rules() []Rule { return rules }

var rules = []Rule{
	{"no-phase", only(finding.Error), "a component, or the definitions of a split one, without a phase: no step of the profile selects it. Disabled ones keep their phase, too", (*lint).noPhase},
	{"no-band", only(finding.Error), "a phase in no band of the profile", (*lint).noBand},
	{"no-place", only(finding.Error), "a phase in a band that has no such place, and so no step for it", (*lint).noPlace},
	{EmptyPlace, only(finding.Note), "places of the profile, each of them a step, at which no component stands", (*lint).emptyPlaces},
	{"place-order", only(finding.Warning), "places and bands of a `ladder.yaml` that are not in the order of their numbers, are there twice, or are not described", (*lint).placeOrder},
	{"wrong-place", only(finding.Warning), "a component that is for something else than the place where it stands: an operator among secrets, secrets among runtimes, a smoke test before the smokes", (*lint).wrongPlace},
	{"bundled-crds", only(finding.Warning), "definitions in a component that stands where none belong, such as an operator", (*lint).bundled},
	{"foreign-band", only(finding.Warning), "a domain in a band of others", (*lint).foreignBand},
	{"same-name", only(finding.Error, finding.Warning), "two Applications of one name that may be in one environment; a warning where one of them is disabled", (*lint).sameName},
	{badName, only(finding.Error), "a name that Kubernetes refuses", (*lint).badName},
	{"bad-label", only(finding.Error), "a label, be it a domain or a tier, that Kubernetes refuses", miswritten("bad-label")},
	{"phase-label", only(finding.Error), "a label by the name of that which holds the phase", miswritten("phase-label")},
	{foreignProject, only(finding.Error, finding.Warning), "a component that asks for an AppProject which the platform does not let it choose; a warning for each project where it lets none choose (no `--project-from-components`)", (*lint).foreignProjects},
	{reservedLabel, only(finding.Error), "a label by which Argo CD or the rollout goes: `environment`, and those of `argoproj.io`", miswritten(reservedLabel)},
	{unsafeValue, only(finding.Error), "a value with a template, a line break or a control character, of a key that is written into an Application", (*lint).unsafeValues},
	{"octal-phase", only(finding.Error), "a phase such as `010` without quotes, which Argo CD reads as 8", miswritten("octal-phase")},
	{"no-environment", only(finding.Warning), "a component for an environment that the fleet does not have", miswritten("no-environment")},
	{"remote-split", only(finding.Error), "a chart in another repository that is to be split", miswritten("remote-split")},
	{"crd-shared", only(finding.Error), "a definition in two components that are deployed together", (*lint).sameDefinition},
	{"object-shared", only(finding.Error), "any other object in two components that are deployed together, and any object that two environments of one cluster would each have", (*lint).sameObject},
	{needsDisabled, only(finding.Error, finding.Warning), "a component that is disabled, or not in an environment, and that one needs which is; a warning where the need is inferred, or is the definition of what is only to be made one day", (*lint).needsDisabled},
	{"missing-kind", only(finding.Warning), "objects of a kind that nothing in the fleet defines, and neither Kubernetes nor Argo CD", (*lint).missingKinds},
	{"only-hooks", only(finding.Warning), "a component of hooks and nothing else: Argo CD takes it for in sync, and never runs them", (*lint).onlyHooks},
	{"unknown-chart", only(finding.Note), "a chart in a registry of which nothing is known, so that its needs are not looked at", (*lint).unknownCharts},
	{"no-version", only(finding.Warning), "a chart in a registry without a `version`: Argo CD takes the newest, and a new one at any time", (*lint).noVersion},
	{againstPhases, only(finding.Error, finding.Warning), "a component that needs another of a later phase; a warning where the need is inferred, or is a namespace that Argo CD makes", (*lint).againstPhases},
	{samePhase, only(finding.Error, finding.Warning), "a component that needs another of its own phase to be healthy first; an error where it cannot even be applied before, and that is sure", (*lint).samePhase},
	{"stale-accepted", only(finding.Warning), "an entry of `accepted` in a `ladder.yaml` that matches no finding; what one environment does not have is not looked for there", (*lint).stale}, // after all others, which say what is accepted
}

// samePhase is the rule that phases are computed by where it is accepted.
const samePhase = "same-phase"

// againstPhases is the rule about needs of a later phase.
const againstPhases = "against-phases"

// needsDisabled is the rule about needs of what is not deployed.
const needsDisabled = "needs-disabled"

// EmptyPlace is the rule about steps without components.
const EmptyPlace = "empty-place"

// badName is the rule about names of Applications.
const badName = "bad-name"

func only(severities ...finding.Severity) []finding.Severity { return severities }

// Lint looks for faults in a fleet: in what its components say, and in what they
// render to. What cannot be rendered is among them, other findings of renderings
// are not. An environment leaves out what is not deployed there; empty means all
// of them.
func (f *Fleet) Lint(environment string) []finding.Finding {
	all := FindingsOf(slices.DeleteFunc(slices.Clone(f.Applications), func(app *Application) bool { return !app.Failed }))
	all = append(all, f.lint(environment).find(rules)...)
	finding.Sort(all)
	return all
}

// lint makes a fleet ready to be looked at.
func (f *Fleet) lint(environment string) *lint {
	l := &lint{Fleet: f, rules: rules, accepted: make([]bool, len(f.Settings.Accepted)), environments: f.environments(environment), words: wordsOf(f.Profile.Style), ways: map[search]map[int]int{}}
	l.needs = f.needsOf()
	l.right = l.rightPhases()
	return l
}

// find says what rules find.
func (l *lint) find(rules []Rule) []finding.Finding {
	var all []finding.Finding
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

// unread reports whether a file is a description with faults, of which it is not
// known what else it says.
func (f *Fleet) unread(file string) bool {
	return slices.ContainsFunc(f.Components, func(c *Component) bool { return c.Unread && c.File == file })
}

// Disproves reports whether an error of a rule says that a rollout in these
// phases never ends: something waits for what comes later, or never.
func Disproves(rule string) bool {
	return slices.Contains([]string{againstPhases, samePhase, needsDisabled, notRendered}, rule)
}

// notRendered is the rule about what Argo CD has no manifests for.
const notRendered = "not-rendered"

// Disproved are the findings that say that the rollout never ends, or may not: those of
// Lint, but for what the owners of the fleet accept.
func (f *Fleet) Disproved(environment string) []finding.Finding {
	proofs := slices.DeleteFunc(slices.Clone(rules), func(r Rule) bool { return !Disproves(r.Name) })
	return slices.DeleteFunc(f.lint(environment).find(proofs), func(found finding.Finding) bool { return found.Severity == finding.Note })
}

// disproved are those findings for a target, and what does not render. A target that
// wants the rollout nevertheless gets them as warnings.
func (f *Fleet) disproved(t Target) []finding.Finding {
	all := f.Disproved(t.Environment)
	for _, app := range f.Applications {
		if app.Failed && Deployed(app, t.Environment) && app.Part != crds.Only {
			all = append(all, app.fault(notRendered, "", app.Name+" does not render, so that nothing behind it is rolled out", "mend it; cmp fleet lint says what is wrong with it"))
		}
	}
	if t.Unproven {
		for i := range all {
			all[i].Severity = finding.Warning
		}
	}
	return all
}

// Environments lists the places that the fleet, or a component of it, names.
func (f *Fleet) Environments() []string {
	var all []string
	for _, e := range f.Settings.Environments {
		all = append(all, e.Name)
	}
	for _, c := range f.Components {
		all = append(all, c.Environments...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// environments are those to look at: the given one, or all; "" stands for the
// only one of a fleet that names none.
func (f *Fleet) environments(given string) []string {
	if given != "" {
		return []string{given}
	}
	if all := f.Environments(); len(all) > 0 {
		return all
	}
	return []string{""}
}

// lint is a fleet that is looked at.
type lint struct {
	*Fleet
	environments []string
	words        words
	rules        []Rule
	// needs are the links of each Application to others.
	needs [][]Link
	// right are the phases where Applications belong.
	right []int
	// accepted are the entries of the settings that match a finding.
	accepted []bool
	// ways are searches that were made.
	ways map[search]map[int]int
}

// words are what people call phases, by the style of the profile.
type words struct{ phase, at, step string }

func wordsOf(style string) words {
	if style == profile.Waves {
		return words{phase: "wave", at: "wave ", step: "wave "}
	}
	return words{phase: "phase", at: "", step: "the step of "}
}

// phase writes a phase as people say it.
func (l *lint) phase(number int) string { return l.words.at + l.Profile.Write(number) }

// step names what Argo CD waits for.
func (l *lint) step(number int) string { return l.words.step + l.Profile.Write(number) }

// move is the remedy that puts an Application elsewhere.
func (l *lint) move(app *Application, to int, also string) string {
	verb := "move "
	if l.Profile.Style == profile.Waves {
		verb = "give "
	}
	return strings.TrimSpace(verb + app.Name + map[bool]string{true: " ", false: " to "}[verb == "give "] + l.phase(to) + " " + also)
}

// Deployed reports whether an Application is in an environment.
func Deployed(app *Application, environment string) bool { return app.On() && app.In(environment) }

// anywhere reports whether an Application is deployed in what is looked at.
func (l *lint) anywhere(app *Application) bool { return l.together(app, app) }

// together reports whether two Applications are deployed in one environment.
func (l *lint) together(a, b *Application) bool {
	return slices.ContainsFunc(l.environments, func(e string) bool { return Deployed(a, e) && Deployed(b, e) })
}

// at begins a finding about an Application: it points at its phase, or where
// that should be.
func (l *lint) at(severity finding.Severity, app *Application, message, remedy string) fault {
	return fault{of: app.Name, Finding: finding.Finding{Severity: severity, File: app.File, Line: app.Line(app.phaseKey(l.Profile.Key)), Message: message, Remedy: remedy}}
}
