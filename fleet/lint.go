package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/finding"
	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/profile"
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
	{emptyPlace, only(finding.Note), "places of the profile, each of them a step, at which no component stands", (*lint).emptyPlaces},
	{"place-order", only(finding.Warning), "places and bands of a `ladder.yaml` that are not in the order of their numbers, are there twice, or are not described", (*lint).placeOrder},
	{"wrong-place", only(finding.Warning), "a component that is for something else than the place where it stands: an operator among secrets, secrets among runtimes, a smoke test before the smokes", (*lint).wrongPlace},
	{"bundled-crds", only(finding.Warning), "definitions in a component that stands where none belong, such as an operator", (*lint).bundled},
	{"foreign-band", only(finding.Warning), "a domain in a band of others", (*lint).foreignBand},
	{"same-name", only(finding.Error, finding.Warning), "two Applications of one name that may be in one environment; a warning where one of them is disabled", (*lint).sameName},
	{badName, only(finding.Error), "a name that Kubernetes refuses", (*lint).badName},
	{"bad-label", only(finding.Error), "a label, be it a domain or a tier, that Kubernetes refuses", miswritten("bad-label")},
	{"phase-label", only(finding.Error), "a label by the name of that which holds the phase", miswritten("phase-label")},
	{"octal-phase", only(finding.Error), "a phase such as `010` without quotes, which Argo CD reads as 8", miswritten("octal-phase")},
	{"no-environment", only(finding.Warning), "a component for an environment that the fleet does not have", miswritten("no-environment")},
	{"remote-split", only(finding.Error), "a chart in another repository that is to be split", miswritten("remote-split")},
	{"crd-shared", only(finding.Error), "a definition in two components that are deployed together", (*lint).sameDefinition},
	{"object-shared", only(finding.Error), "any other object in two components that are deployed together, and any object that two environments of one cluster would each have", (*lint).sameObject},
	{"needs-disabled", only(finding.Error, finding.Warning), "a component that is disabled, or not in an environment, and that one needs which is; a warning where the need is inferred, or is the definition of what is only to be made one day", (*lint).needsDisabled},
	{"missing-kind", only(finding.Warning), "objects of a kind that nothing in the fleet defines, and neither Kubernetes nor Argo CD", (*lint).missingKinds},
	{"only-hooks", only(finding.Warning), "a component of hooks and nothing else: Argo CD takes it for in sync, and never runs them", (*lint).onlyHooks},
	{"unknown-chart", only(finding.Note), "a chart in a registry of which nothing is known, so that its needs are not looked at", (*lint).unknownCharts},
	{"no-version", only(finding.Warning), "a chart in a registry without a `version`: Argo CD takes the newest, and a new one at any time", (*lint).noVersion},
	{"against-phases", only(finding.Error, finding.Warning), "a component that needs another of a later phase; a warning where the need is inferred, or is a namespace that Argo CD makes", (*lint).againstPhases},
	{samePhase, only(finding.Error, finding.Warning), "a component that needs another of its own phase to be healthy first; an error where it cannot even be applied before, and that is sure", (*lint).samePhase},
	{"stale-accepted", only(finding.Warning), "an entry of `accepted` in a `ladder.yaml` that matches no finding; what one environment does not have is not looked for there", (*lint).stale}, // after all others, which say what is accepted
}

// samePhase is the rule that phases are computed by where it is accepted.
const samePhase = "same-phase"

// emptyPlace is the rule about steps without components.
const emptyPlace = "empty-place"

// badName is the rule about names of Applications.
const badName = "bad-name"

func only(severities ...finding.Severity) []finding.Severity { return severities }

// Lint looks for faults in a fleet: in what its components say, and in what they
// render to. What cannot be rendered is among them, other findings of renderings
// are not. An environment leaves out what is not deployed there; empty means all
// of them.
func (f *Fleet) Lint(environment string) []finding.Finding {
	var all []finding.Finding
	for _, app := range f.Applications {
		if app.Failed {
			all = append(all, app.Findings...)
		}
	}
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
			found.Rule = rule.Name
			all = append(all, l.accept(found))
		}
	}
	return all
}

// Disproves reports whether an error of a rule says that a rollout in these
// phases never ends: something waits for what comes later, or never.
func Disproves(rule string) bool {
	return slices.Contains([]string{"against-phases", samePhase, "needs-disabled"}, rule)
}

// disproved are the errors that say that the rollout never ends, but for those
// that the owners of the fleet accept. A target that wants it nevertheless gets
// them as warnings.
func (f *Fleet) disproved(t Target) []finding.Finding {
	proofs := slices.DeleteFunc(slices.Clone(rules), func(r Rule) bool { return !Disproves(r.Name) })
	all := slices.DeleteFunc(f.lint(t.Environment).find(proofs), func(found finding.Finding) bool { return found.Severity != finding.Error })
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

// deployed reports whether an Application is in an environment.
func deployed(app *Application, environment string) bool { return app.On() && app.In(environment) }

// anywhere reports whether an Application is deployed in what is looked at.
func (l *lint) anywhere(app *Application) bool { return l.together(app, app) }

// together reports whether two Applications are deployed in one environment.
func (l *lint) together(a, b *Application) bool {
	return slices.ContainsFunc(l.environments, func(e string) bool { return deployed(a, e) && deployed(b, e) })
}

// at begins a finding about an Application: it points at its phase, or where
// that should be.
func (l *lint) at(severity finding.Severity, app *Application, message, remedy string) fault {
	return fault{of: app.Name, Finding: finding.Finding{Severity: severity, File: app.File, Line: app.Line(app.phaseKey(l.Profile.Key)), Message: message, Remedy: remedy}}
}

func (l *lint) noPhase() []fault {
	var all []fault
	for i, app := range l.Applications {
		if app.Phase.Set {
			continue
		}
		key := l.Profile.Key
		if app.Part == crds.Only {
			key = "crdsPhase"
		}
		why := "no step of the profile selects it"
		if l.Profile.Style == profile.Waves {
			why = "Argo CD takes it for wave 0"
		}
		remedy := "add " + key + ", such as " + key + ": " + quoted(l.Profile.Write(l.right[i]))
		message := app.Name + " has no " + l.words.phase + ", so " + why
		if !app.Described {
			message, remedy = app.Name+" has no "+component.File+", and so no "+l.words.phase+": "+why, strings.Replace(remedy, "add ", "write one with ", 1)
		}
		all = append(all, l.at(finding.Error, app, message, remedy))
	}
	return all
}

// quoted writes a phase so that YAML does not take it for octal.
func quoted(phase string) string {
	if strings.HasPrefix(phase, "0") && phase != "0" {
		return `"` + phase + `"`
	}
	return phase
}

func (l *lint) noBand() []fault {
	var all []fault
	for i, app := range l.Applications {
		if _, in := l.Profile.Band(app.Phase.Number); in || !app.Phase.Set || len(l.Profile.Bands) == 0 {
			continue
		}
		all = append(all, l.at(finding.Error, app, l.phase(app.Phase.Number)+" is in no band", l.home(i)))
	}
	return all
}

// home is the remedy for what stands in no band of its own: it names none of
// another domain.
func (l *lint) home(i int) string {
	app := l.Applications[i]
	if band, in := l.Profile.Band(l.right[i]); in && l.right[i] != app.Phase.Number && !l.foreign(app, band) {
		return l.move(app, l.right[i], "")
	}
	var names []string
	for _, b := range l.bandsOf(app) {
		phases := l.Profile.Write(b.From)
		if b.To > b.From {
			phases += " to " + l.Profile.Write(b.To)
		}
		names = append(names, fmt.Sprintf("%s (%s)", b.Name, phases))
	}
	switch {
	case names == nil:
		return "correct the domain, or the domains of a band"
	case app.Component.Part() == "":
		return "use a phase of one of the bands " + strings.Join(names, ", ")
	}
	return "use a phase of " + strings.Join(names, " or ") + ", or correct the domain"
}

func (l *lint) noPlace() []fault {
	var all []fault
	for i, app := range l.Applications {
		band, in := l.Profile.Band(app.Phase.Number)
		if _, there := l.Profile.Place(app.Phase.Number); there || !in || !app.Phase.Set || len(band.Places) == 0 {
			continue
		}
		var places []string
		for _, p := range band.Places {
			places = append(places, l.Profile.Write(p.Phase))
		}
		all = append(all, l.at(finding.Error, app, fmt.Sprintf("the band %s has no %s, so no step of the profile selects %s", band.Name, l.Profile.Write(app.Phase.Number), app.Name),
			l.moved(i, "use one of its places "+strings.Join(places, ", "))))
	}
	return all
}

// moved is the remedy that names where an Application belongs, or else what is
// given.
func (l *lint) moved(i int, otherwise string) string {
	if p := l.right[i]; p != l.Applications[i].Phase.Number {
		return l.move(l.Applications[i], p, "")
	}
	return otherwise
}

func (l *lint) emptyPlaces() []fault {
	taken := map[int]bool{}
	for _, app := range l.Applications {
		taken[app.Phase.Number] = taken[app.Phase.Number] || app.Phase.Set
	}
	var empty []string
	for _, p := range l.Profile.All() {
		if !taken[p.Phase] {
			empty = append(empty, l.Profile.Write(p.Phase))
		}
	}
	if len(empty) == 0 || len(l.Applications) == 0 {
		return nil
	}
	which := strings.Join(empty, ", ")
	if n := len(empty) - maxPlacesNamed; n > 1 {
		which = strings.Join(empty[:maxPlacesNamed], ", ") + fmt.Sprintf(" and %d other places", n)
	}
	return []fault{{Finding: finding.Finding{Severity: finding.Note, File: l.Settings.File, Line: l.Settings.Line,
		Message: "no component stands at " + which + " of the profile " + l.Profile.Name,
		Remedy:  "leave them for components to come, or describe bands without them"}}}
}

// maxPlacesNamed keeps a note on one line: a small fleet leaves most places of
// a large profile empty.
const maxPlacesNamed = 8

func (l *lint) placeOrder() []fault {
	var all []fault
	fault := func(field, message, remedy string) {
		all = append(all, fault{Finding: finding.Finding{Severity: finding.Warning, File: l.Settings.File, Line: l.Settings.Line, Field: field, Message: message, Remedy: remedy}})
	}
	numbers := func(field, what string, list []int) {
		for i := 1; i < len(list); i++ {
			switch {
			case slices.Contains(list[:i], list[i]):
				fault(field, fmt.Sprintf("%s %d is there twice", what, list[i]), "keep one of the two")
			case list[i] < list[i-1]:
				fault(field, fmt.Sprintf("%s %d comes after %d; Argo CD goes by the numbers, people by what they read", what, list[i], list[i-1]), "write them in order")
			}
		}
	}
	phases := func(places []profile.Place, of func(profile.Place) int) []int {
		var list []int
		for _, p := range places {
			list = append(list, of(p))
		}
		return list
	}
	numbers("fleet.places", "the place at", phases(l.Settings.Places, func(p profile.Place) int { return p.At }))
	known := l.Profile.Places
	for i, b := range l.Settings.Bands {
		field := fmt.Sprintf("fleet.bands[%d]", i)
		numbers(field+".at", "the place at", b.At)
		numbers(field+".places", "the place", phases(b.Places, func(p profile.Place) int { return p.Phase }))
		for _, at := range b.At {
			if !slices.ContainsFunc(known, func(p profile.Place) bool { return p.At == at }) {
				fault(field+".at", fmt.Sprintf("no place at %d is described, so band %s has none there", at, b.Name), "describe it under fleet.places, or drop it")
			}
		}
	}
	return all
}

// does says what a component for a rung is or does.
var does = map[string]string{
	"namespaces": "holds namespaces", "crds": "holds definitions", knowledge.Controllers: "is an operator", "secrets": "holds secrets", "configs": "holds configuration",
	"workloads": "is a runtime", knowledge.Bootstraps: "is a bootstrap", "exposure": "leads to others", knowledge.Smokes: "is a smoke test",
}

func (l *lint) wrongPlace() []fault {
	var all []fault
	for i, app := range l.Applications {
		place, there := l.Profile.Place(app.Phase.Number)
		if !there || !app.Phase.Set || l.fits(app, place) || !l.room(app) {
			continue
		}
		all = append(all, l.at(finding.Warning, app, fmt.Sprintf("%s %s (%s), and %s is for %s", app.Name, cmp.Or(does[app.Rung], "is for "+app.Rung), app.RungWhy, l.phase(place.Phase), cmp.Or(place.Title, strings.Join(place.Rungs, ", "))),
			l.moved(i, "put it where "+app.Rung+" belong")))
	}
	return all
}

// room reports whether the bands of an Application have a place for such as it.
// Where they have none, it stands as well where it is.
func (l *lint) room(app *Application) bool {
	return slices.ContainsFunc(l.bandsOf(app), func(b profile.Band) bool {
		return slices.ContainsFunc(b.Places, func(p profile.Place) bool { return l.fits(app, p) })
	})
}

// bandsOf are the bands that an Application may stand in.
func (l *lint) bandsOf(app *Application) []profile.Band {
	if domain := app.Component.Part(); domain != "" {
		return l.Profile.BandsOf(domain)
	}
	return l.Profile.Bands
}

// fits reports whether an Application belongs into a place, as far as one knows.
func (l *lint) fits(app *Application, place profile.Place) bool {
	return app.Rung == "" || place.Takes(app.Rung)
}

func (l *lint) bundled() []fault {
	var all []fault
	for i, app := range l.Applications {
		definitions, rest := crds.Split(app.Objects)
		place, there := l.Profile.Place(app.Phase.Number)
		if len(definitions) == 0 || len(rest) == 0 || !there || place.Takes("crds") {
			continue
		}
		var names []string
		for _, d := range definitions {
			names = append(names, d.ID.Name)
		}
		remedy := "lift them out: write crds: split"
		if p, ok := l.definitionsAt(app, l.right[i]); ok {
			remedy += " and crdsPhase: " + quoted(l.Profile.Write(p))
		}
		if holder := l.holder(app, definitions); holder != nil {
			remedy = "write crds: skip, since " + holder.Name + " holds them"
		}
		f := l.at(finding.Warning, app, fmt.Sprintf("%s at %s brings definitions (%s), which an update then changes at the same time as what uses them, and which come too late for those who do earlier",
			app.Name, l.phase(app.Phase.Number), few(names)), remedy)
		f.Object = definitions[0].ID.String()
		all = append(all, f)
	}
	return all
}

// holder is another Application that is for definitions and holds all of these.
func (l *lint) holder(app *Application, definitions []object.Object) *Application {
	for _, other := range l.Applications {
		if other == app || other.Rung != "crds" || !l.together(app, other) {
			continue
		}
		lacks := slices.ContainsFunc(definitions, func(d object.Object) bool {
			return !slices.ContainsFunc(other.Objects, func(o object.Object) bool { return crds.Is(o) && o.ID.Name == d.ID.Name })
		})
		if !lacks {
			return other
		}
	}
	return nil
}

// definitionsAt is the phase for the definitions of an Application that belongs
// to a phase: the last before it that takes them, of its bands.
func (l *lint) definitionsAt(app *Application, phase int) (int, bool) {
	at, found := 0, false
	for _, b := range l.bandsOf(app) {
		for _, p := range b.Places {
			if p.Takes("crds") && len(p.Rungs) > 0 && p.Phase < phase {
				at, found = p.Phase, true
			}
		}
	}
	return at, found
}

// few names some of many.
func few(names []string) string {
	const most = 3
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

func (l *lint) foreignBand() []fault {
	var all []fault
	for i, app := range l.Applications {
		domain := app.Component.Part()
		band, in := l.Profile.Band(app.Phase.Number)
		if !in || !app.Phase.Set || !l.foreign(app, band) {
			continue
		}
		all = append(all, l.at(finding.Warning, app, fmt.Sprintf("%s is of the domain %s, and %s is in the band %s, which is for %s", app.Name, domain, l.phase(app.Phase.Number), band.Name, strings.Join(band.Domains, ", ")),
			l.home(i)))
	}
	return all
}

// foreign reports whether a band is for other domains than the Application's.
func (l *lint) foreign(app *Application, band profile.Band) bool {
	domain := app.Component.Part()
	return domain != "" && len(band.Domains) > 0 && !slices.Contains(band.Domains, domain)
}

func (l *lint) sameName() []fault {
	var all []fault
	first := map[string]*Application{}
	for _, app := range l.Applications {
		other, seen := first[app.Name]
		if !seen {
			first[app.Name] = app
			continue
		}
		if !slices.ContainsFunc(l.environments, func(e string) bool { return app.In(e) && other.In(e) }) {
			continue
		}
		f := l.at(finding.Error, app, "the Application "+app.Name+" is also that of "+other.File+", and only one of the two can be", "rename one of the two")
		f.Line, f.Field = app.Line("name"), "name"
		if !app.On() || !other.On() {
			f.Severity = finding.Warning
		}
		all = append(all, f)
	}
	return all
}

func (l *lint) badName() []fault {
	var all []fault
	for _, app := range l.Applications {
		if !l.anywhere(app) {
			continue
		}
		for _, found := range app.misnamed(app.Name) {
			all = append(all, fault{of: app.Name, Finding: found})
		}
	}
	return all
}

// miswritten finds what a rule says of the files of components.
func miswritten(rule string) func(*lint) []fault {
	return func(l *lint) []fault {
		var all []fault
		for _, app := range l.Applications {
			if !l.anywhere(app) {
				continue
			}
			for _, found := range l.Fleet.miswritten(app) {
				if found.Rule == rule {
					all = append(all, fault{of: app.Name, Finding: found})
				}
			}
		}
		return all
	}
}

func (l *lint) sameDefinition() []fault {
	return l.shared(func(o object.Object) bool { return crds.Is(o) },
		"each sync of one of the two overwrites what the other applied", "let one of the two hold it, and set crds: skip in the other")
}

func (l *lint) sameObject() []fault {
	all := l.shared(func(o object.Object) bool { return !crds.Is(o) },
		"each takes it from the other, and one of the two is always out of sync, which no step gets past", "let one of the two hold it")
	for _, c := range l.collisions(l.environments) {
		all = append(all, c.fault())
	}
	return all
}

// shared finds objects that two Applications hold which are deployed together:
// one finding for each two.
func (l *lint) shared(which func(object.Object) bool, why, remedy string) []fault {
	type pair struct{ a, b int }
	var pairs []pair
	both := map[pair][]object.ID{}
	first := map[object.ID][]int{}
	for _, n := range l.graph.Nodes {
		if n.IsHook() || n.Generated || l.stub(n) || !which(n.Object) {
			continue
		}
		for _, other := range first[n.Key] {
			p := pair{other, n.Part}
			if other == n.Part || !l.together(l.Applications[other], l.Applications[n.Part]) {
				continue
			}
			if both[p] == nil {
				pairs = append(pairs, p)
			}
			if !slices.Contains(both[p], n.Key) {
				both[p] = append(both[p], n.Key)
			}
		}
		first[n.Key] = append(first[n.Key], n.Part)
	}
	var all []fault
	for _, p := range pairs {
		remedy := remedy
		a, b := l.Applications[p.a], l.Applications[p.b]
		first, second := a.Name, b.Name
		if first == second {
			first, second = a.Name+" of "+a.Dir, b.Name+" of "+b.Dir
		}
		var names []string
		for _, id := range both[p] {
			names = append(names, id.String())
		}
		if id := both[p][0]; id.Kind == "CustomResourceDefinition" && a.Rung != b.Rung && (a.Rung == "crds" || b.Rung == "crds") {
			holder, other := a, b
			if b.Rung == "crds" {
				holder, other = b, a
			}
			remedy = "leave it to " + holder.Name + ", and write crds: skip in " + other.File
		}
		f := l.at(finding.Error, b, fmt.Sprintf("%s and %s both hold %s: %s", first, second, few(names), why), remedy).with(a)
		f.Object = names[0]
		all = append(all, f)
	}
	return all
}

func (l *lint) needsDisabled() []fault {
	var all []fault
	for from, app := range l.Applications {
		for _, link := range l.needs[from] {
			to := l.Applications[link.To]
			reason, lacking, sure := l.lacking(app, to, link)
			if lacking == nil {
				continue
			}
			where, remedy := "is disabled", "enable "+to.Name+", or disable "+app.Name
			if to.On() {
				where = "is not in " + strings.Join(lacking, ", ")
				remedy = "add it to the environments of " + to.Name + ", or take it from those of " + app.Name
			}
			severity := finding.Error
			if !sure {
				severity = finding.Warning
			}
			f := l.at(severity, app, fmt.Sprintf("%s%s, and %s %s", said(reason), rendered(reason), to.Name, where), remedy).with(to)
			f.Line = max(app.Line("enabled"), app.Line("environments"), app.Line("name"))
			f.Object, f.Field = shown(reason), reason.Field
			all = append(all, f)
		}
	}
	return all
}

// lacking are the environments in which an Application is deployed and what it
// needs is not, nor anything else that holds the same, with the strongest
// reason. A name that is only called is no need.
func (l *lint) lacking(app, to *Application, link Link) (strongest Reason, environments []string, sure bool) {
	for _, e := range l.environments {
		if !deployed(app, e) || deployed(to, e) {
			continue
		}
		for _, r := range link.Reasons {
			if r.Strength < Exists || isNamespace(r) || l.instead(link.From, r, e) {
				continue
			}
			if environments == nil {
				strongest = r
			}
			sure = sure || !r.Inferred && !later(r)
			environments = append(environments, e)
			break
		}
	}
	return strongest, environments, sure
}

// lack is a sure need that nothing fulfils.
type lack struct {
	of     *Application
	reason Reason
}

// String says what is needed, and why that is not there.
func (l lack) String() string {
	where := "is disabled"
	if l.of.On() {
		where = "is not deployed there"
	}
	return l.of.Name + ", which " + where + ", because " + need{reason: l.reason, sure: true}.because()
}

// lacking are the Applications that need for sure what is not deployed in an
// environment, unless the owners of the fleet say that it is there.
func (f *Fleet) lacking(environment string) map[*Application]lack {
	l := &lint{Fleet: f, environments: []string{environment}, needs: f.needsOf()}
	all := map[*Application]lack{}
	for _, link := range f.Links {
		app, to := f.Applications[link.From], f.Applications[link.To]
		reason, _, sure := l.lacking(app, to, link)
		accepted := slices.ContainsFunc(f.Settings.Accepted, func(a profile.Accepted) bool {
			return a.Rule == "needs-disabled" && a.Component == app.Name && (a.Needs == "" || a.Needs == to.Name)
		})
		if _, known := all[app]; sure && !accepted && !known {
			all[app] = lack{to, reason}
		}
	}
	return all
}

// needsOf are the links of each Application to others.
func (f *Fleet) needsOf() [][]Link {
	all := make([][]Link, len(f.Applications))
	for _, link := range f.Links {
		all[link.From] = append(all[link.From], link)
	}
	return all
}

// later reports whether a need is a definition of what does not exist yet: the
// kind of an object that something is to make one day.
func later(r Reason) bool { return r.Strength == Exists && r.To.Kind == "CustomResourceDefinition" }

// instead reports whether another Application that is deployed holds the same
// object, or one by which the field is answered as well.
func (l *lint) instead(from int, r Reason, environment string) bool {
	for _, link := range l.needs[from] {
		if deployed(l.Applications[link.To], environment) && slices.ContainsFunc(link.Reasons, func(o Reason) bool {
			return o.From == r.From && o.Field == r.Field && (o.To == r.To || r.Inferred)
		}) {
			return true
		}
	}
	return false
}

// isNamespace reports whether a need is a namespace, which Argo CD makes where
// it is told to (CreateNamespace=true), though without its labels.
func isNamespace(r Reason) bool { return r.Field == "metadata.namespace" && r.To.Kind == "Namespace" }

func (l *lint) missingKinds() []fault {
	served := map[object.ID]bool{}
	for _, r := range l.graph.References {
		if n := l.graph.Nodes[r.From]; n.Foreign && r.Field == "kind" {
			served[n.Key] = true
		}
	}
	for _, link := range l.Links {
		for _, r := range link.Reasons {
			if r.Field == "kind" {
				served[r.From] = true
			}
		}
	}
	type lack struct {
		part  int
		group string
	}
	var order []lack
	kinds := map[lack][]string{}
	first := map[lack]int{}
	for i, n := range l.graph.Nodes {
		if !n.Foreign || l.stub(n) || served[n.Key] || !l.anywhere(l.Applications[n.Part]) {
			continue
		}
		of := lack{n.Part, n.Key.Group}
		if _, seen := first[of]; !seen {
			first[of] = i
			order = append(order, of)
		}
		if !slices.Contains(kinds[of], n.Key.Kind) {
			kinds[of] = append(kinds[of], n.Key.Kind)
		}
	}
	var all []fault
	for _, of := range order {
		n := l.graph.Nodes[first[of]]
		app := l.Applications[of.part]
		remedy := "add a component with the definitions"
		if chart := l.bringing(of.group); chart != "" {
			remedy += ", such as the chart " + chart
		}
		remedy += ", at an earlier phase; if they come from elsewhere, apply them before the fleet"
		f := l.at(finding.Warning, app, fmt.Sprintf("nothing in the fleet defines %s of %s%s%s", few(kinds[of]), of.group, rendered(Reason{From: n.Key, File: n.File, Line: n.Line}), l.perhaps()), remedy)
		f.Object, f.Field = n.Key.String(), "kind"
		all = append(all, f)
	}
	return all
}

// stub reports whether a node only stands for what a chart is known to bring.
func (l *lint) stub(n graph.Node) bool { return l.Applications[n.Part].Chart != nil }

// bringing names a chart with which kinds of a group come.
func (l *lint) bringing(group string) string {
	for _, c := range l.base.Charts() {
		if c.Brings(group) {
			return c.Name
		}
	}
	return ""
}

// perhaps names the charts that might bring what is missing.
func (l *lint) perhaps() string {
	var names []string
	for _, app := range l.Applications {
		if l.unknown(app) && !slices.Contains(names, app.Component.Chart.Chart) {
			names = append(names, app.Component.Chart.Chart)
		}
	}
	if names == nil {
		return ""
	}
	return ", unless a chart does that nothing is known of: " + few(names)
}

// unknown reports whether nothing is known of what an Application deploys.
func (l *lint) unknown(app *Application) bool {
	return app.Elsewhere && app.Chart == nil && l.anywhere(app)
}

func (l *lint) noVersion() []fault {
	var all []fault
	for _, app := range l.Applications {
		if c := app.Component.Chart; c.Chart == "" || c.Version != "" || app.Vendored || app.Part == crds.Only || !l.anywhere(app) {
			continue
		}
		f := l.at(finding.Warning, app, "nobody says which version of the chart "+app.Component.Chart.Chart+", so Argo CD takes the newest (targetRevision: '*'), and each new one as soon as it is there",
			"write chart.version")
		f.Line, f.Field = app.Line("chart"), "chart.version"
		all = append(all, f)
	}
	return all
}

func (l *lint) unknownCharts() []fault {
	var all []fault
	for _, app := range l.Applications {
		if !l.unknown(app) {
			continue
		}
		f := l.at(finding.Note, app, "nothing is known of the chart "+cmp.Or(app.Component.Chart.Chart, app.Component.Chart.Path)+" of "+app.Component.Chart.RepoURL+", so neither what "+app.Name+" provides nor what it needs is looked at",
			"run cmp vendor, or put the chart into this repository and name it as chart.path")
		f.Line = app.Line("chart")
		all = append(all, f)
	}
	return all
}
