package inventory

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/appset"
	"github.com/ladder-cmp/ladder/fleet/lint"
	"github.com/ladder-cmp/ladder/internal/compare"
	"github.com/ladder-cmp/ladder/internal/finding"
)

// Comparison is the effect of a change on a fleet.
type Comparison struct {
	// Added and Removed are Applications on one side only, and Moved those in another step.
	Added   []ApplicationStep  `json:"added"`
	Removed []ApplicationStep  `json:"removed"`
	Moved   []MovedApplication `json:"moved"`
	// Steps are steps with Applications on one side only, or with other settings than before.
	Steps []StepChange `json:"steps"`
	// AddedDependencies and RemovedDependencies are dependencies between Applications that are
	// on both sides.
	AddedDependencies   []DependencyChange `json:"needsGained"`
	RemovedDependencies []DependencyChange `json:"needsLost"`
	// Changed are the Applications of both sides whose objects differ.
	Changed []ChangedApplication `json:"changed"`
	// Unknown are the names of Applications that render on neither side, so that nothing can be
	// compared.
	Unknown []string `json:"unknown"`
	// New and Fixed are findings, including those of the renderings.
	New   []finding.Finding `json:"newFindings"`
	Fixed []finding.Finding `json:"fixedFindings"`
}

// ApplicationStep is an Application with its step.
type ApplicationStep struct {
	Name string `json:"name"`
	// Path is the path of its component.yaml, relative to the directory of the fleet.
	Path string `json:"path"`
	Step string `json:"step,omitempty"`
	// Title says what the step is for; empty if the profile does not say.
	Title string `json:"title,omitempty"`
}

// MovedApplication is an Application that changes its step. A step is empty if the Application
// has none.
type MovedApplication struct {
	Name string `json:"name"`
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	// FromTitle and ToTitle say what the steps are for.
	FromTitle string `json:"fromTitle,omitempty"`
	ToTitle   string `json:"toTitle,omitempty"`
}

// StepChange is a step of the rollout that was added, removed or changed.
type StepChange struct {
	Step   string         `json:"step"`
	Title  string         `json:"title,omitempty"`
	Change compare.Change `json:"change"`
	// Before and After say how many are updated at once: "all", a number, or "none" if people
	// sync the step.
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

// DependencyChange is a dependency of an Application, with its strongest reason.
type DependencyChange struct {
	Name     string `json:"name"`
	Of       string `json:"of"`
	Strength string `json:"strength"`
	Inferred bool   `json:"inferred,omitempty"`
	Why      string `json:"why"`
}

// ChangedApplication counts the objects of an Application that a change affects.
type ChangedApplication struct {
	Name    string `json:"name"`
	Path    string `json:"path"`
	Added   int    `json:"added"`
	Removed int    `json:"removed"`
	Changed int    `json:"changed"`
	// Moved is the number of objects in another wave.
	Moved int `json:"moved"`
	// Before and After say whether it could be rendered.
	Before compare.State `json:"was"`
	After  compare.State `json:"is"`
}

// Different reports whether the sides differ in anything that is compared.
func (c Comparison) Different() bool {
	return len(c.Added)+len(c.Removed)+len(c.Moved)+len(c.Steps)+len(c.AddedDependencies)+len(c.RemovedDependencies)+len(c.Changed)+
		len(c.New)+len(c.Fixed) > 0
}

// Compare compares a fleet before and after a change, in an environment or, if that is empty, in
// all. Applications are matched by name. dirBefore and dirAfter are the directories of the two
// sides, which findings name.
func Compare(before *fleet.Fleet, dirBefore string, after *fleet.Fleet, dirAfter, environment string) Comparison {
	c := Comparison{Added: []ApplicationStep{}, Removed: []ApplicationStep{}, Moved: []MovedApplication{}, Steps: []StepChange{},
		AddedDependencies: []DependencyChange{}, RemovedDependencies: []DependencyChange{}, Changed: []ChangedApplication{}, Unknown: []string{}}
	before, after = before.At(environment), after.At(environment)
	old, now := partOf(withDescriptionsOf(before, after), environment), partOf(withDescriptionsOf(after, before), environment)
	for _, name := range old.names {
		if _, stays := now.apps[name]; !stays && !unreadAt(now.Fleet, relativeDir(old.Fleet, old.apps[name].Component)) {
			c.Removed = append(c.Removed, old.applicationStep(name))
		}
	}
	for _, name := range now.names {
		if _, existed := old.apps[name]; !existed && unreadAt(old.Fleet, relativeDir(now.Fleet, now.apps[name].Component)) {
			continue
		} else if !existed {
			c.Added = append(c.Added, now.applicationStep(name))
			continue
		}
		x, y := old.applicationStep(name), now.applicationStep(name)
		if x.Step != y.Step {
			c.Moved = append(c.Moved, MovedApplication{name, x.Step, y.Step, x.Title, y.Title})
		}
		if old.apps[name].Failed && now.apps[name].Failed {
			c.Unknown = append(c.Unknown, name)
		}
		if changed, differs := changedApplication(old.apps[name], now.apps[name]); differs {
			changed.Path = y.Path
			c.Changed = append(c.Changed, changed)
		}
	}
	c.Steps = append(c.Steps, stepChanges(old, now)...)
	c.AddedDependencies = append(c.AddedDependencies, now.dependenciesNotIn(old)...)
	c.RemovedDependencies = append(c.RemovedDependencies, old.dependenciesNotIn(now)...)
	c.New, c.Fixed = compare.Findings(old.comparableFindings(now, environment), dirBefore, now.comparableFindings(old, environment), dirAfter)
	return c
}

// FaultsOf says why Applications of these names could not be rendered.
func FaultsOf(f *fleet.Fleet, names []string) []finding.Finding {
	return fleet.FindingsOf(slices.DeleteFunc(slices.Clone(f.Applications),
		func(app *fleet.Application) bool { return !app.Failed || !slices.Contains(names, app.Name) }))
}

// part is the part of a fleet that is deployed in an environment.
type part struct {
	*fleet.Fleet
	names []string
	apps  map[string]*fleet.Application
	// dependencies maps dependencies, by the names of both ends, to their strongest reasons.
	dependencies map[[2]string]fleet.Reason
	ends         [][2]string
}

// relativeDir returns the directory of a component, relative to that of the fleet.
func relativeDir(f *fleet.Fleet, c *fleet.Component) string {
	if f.Dir == c.Dir {
		return "."
	}
	return strings.TrimPrefix(c.Dir, f.Dir+"/")
}

// componentAt returns the component in a directory, relative to that of the fleet; nil if there
// is none.
func componentAt(f *fleet.Fleet, dir string) *fleet.Component {
	for _, c := range f.Components {
		if relativeDir(f, c) == dir {
			return c
		}
	}
	return nil
}

func unreadAt(f *fleet.Fleet, dir string) bool {
	c := componentAt(f, dir)
	return c != nil && c.Unread
}

// withDescriptionsOf returns a copy of a fleet in which components with an invalid
// component.yaml have the description of the other side.
func withDescriptionsOf(f *fleet.Fleet, other *fleet.Fleet) *fleet.Fleet {
	copied := *f
	copied.Components, copied.Applications = slices.Clone(f.Components), slices.Clone(f.Applications)
	for i, c := range f.Components {
		known := componentAt(other, relativeDir(f, c))
		if !c.Unread || known == nil || known.Unread {
			continue
		}
		component := *c
		component.Description = known.Description
		copied.Components[i] = &component
		for j, app := range f.Applications {
			if app.Component == c {
				renamed := *app
				renamed.Component, renamed.Name, renamed.Step = &component, component.Name, component.Step()
				if renamed.Part == crds.Only {
					renamed.Name, renamed.Step = component.Name+fleet.CRDsSuffix, component.CRDsPhase
				}
				copied.Applications[j] = &renamed
			}
		}
	}
	return &copied
}

// comparableFindings returns the findings without those about a component.yaml that is invalid
// on the other side, because its other findings are unknown there.
func (p part) comparableFindings(other part, environment string) []finding.Finding {
	return slices.DeleteFunc(p.findings(other, environment), func(f finding.Finding) bool {
		return slices.ContainsFunc(p.Components, func(c *fleet.Component) bool {
			return c.File == f.File && !c.Unread && unreadAt(other.Fleet, relativeDir(p.Fleet, c))
		})
	})
}

// partOf returns the part of a fleet that is deployed in an environment.
func partOf(f *fleet.Fleet, environment string) part {
	p := part{Fleet: f, apps: map[string]*fleet.Application{}, dependencies: map[[2]string]fleet.Reason{}}
	names := map[*fleet.Application]string{}
	for _, app := range f.Applications {
		if !fleet.Deployed(app, environment) {
			continue
		}
		name := app.Name
		if p.apps[name] != nil { // in another environment
			name += " (" + relativePath(f, app) + ")"
		}
		p.names, p.apps[name], names[app] = append(p.names, name), app, name
	}
	for _, l := range f.Links {
		ends := [2]string{names[f.Applications[l.From]], names[f.Applications[l.To]]}
		if ends[0] != "" && ends[1] != "" {
			p.ends = append(p.ends, ends)
			p.dependencies[ends] = l.Reasons[0]
		}
	}
	return p
}

func (p part) applicationStep(name string) ApplicationStep {
	app := p.apps[name]
	s := ApplicationStep{Name: name, Path: relativePath(p.Fleet, app), Step: p.FormatStep(app.Step)}
	if place, ok := p.Profile.Place(app.Step.Number); ok && app.Step.Set {
		s.Title = place.Title
	}
	return s
}

// findings returns the findings of the fleet, and of its renderings on both sides. It omits steps without
// components, because the list of steps shows them, and missing steps if no component has a
// component.yaml that could name one.
func (p part) findings(other part, environment string) []finding.Finding {
	described := slices.ContainsFunc(p.Components, func(c *fleet.Component) bool { return c.Described })
	all := slices.DeleteFunc(lint.Findings(p.Fleet, environment), func(f finding.Finding) bool {
		return f.Rule == lint.ProfilePlaces && f.Field == "" || f.Rule == appset.NoStep && !described
	})
	var rendered []*fleet.Application // lint reports the others
	for _, name := range p.names {
		if app := p.apps[name]; !app.Failed && !other.failed([2]string{name, name}) {
			rendered = append(rendered, app)
		}
	}
	all = append(all, fleet.FindingsOf(rendered)...)
	finding.Sort(all)
	return all
}

// dependenciesNotIn returns the dependencies, of Applications on both sides, that the other side
// does not have.
func (p part) dependenciesNotIn(other part) []DependencyChange {
	var all []DependencyChange
	for _, ends := range p.ends {
		_, exists := other.dependencies[ends]
		if exists || other.apps[ends[0]] == nil || other.failed(ends) {
			continue
		}
		r := p.dependencies[ends]
		all = append(all, DependencyChange{ends[0], ends[1], r.Strength.String(), r.Inferred, finding.Sanitize(r.String())})
	}
	return all
}

// failed reports whether one of two Applications could not be rendered, so its dependencies
// and content are unknown.
func (p part) failed(ends [2]string) bool {
	return slices.ContainsFunc(ends[:], func(name string) bool { return p.apps[name] != nil && p.apps[name].Failed })
}

func changedApplication(before, after *fleet.Application) (ChangedApplication, bool) {
	c := ChangedApplication{Name: after.Name, Before: state(before), After: state(after)}
	if c.Before != c.After {
		return c, true
	}
	objects, moved := compare.Manifests(before.Objects, after.Objects)
	c.Added, c.Removed, c.Changed, c.Moved = len(objects.Added), len(objects.Removed), len(objects.Changed), moved
	return c, !objects.Same() || moved > 0
}

func state(a *fleet.Application) compare.State {
	if a.Failed {
		return compare.Failed
	}
	return compare.Rendered
}

// stepChanges compares the steps in which something is rolled out.
func stepChanges(before, after part) []StepChange {
	old, now := before.usedSteps(), after.usedSteps()
	var all []StepChange
	for _, s := range now {
		i := slices.IndexFunc(old, func(o Row) bool { return o.Step == s.Step })
		if i < 0 {
			all = append(all, StepChange{Step: s.Step, Title: s.Title, Change: compare.Added, After: s.AtOnce()})
		} else if old[i].AtOnce() != s.AtOnce() {
			all = append(all, StepChange{s.Step, s.Title, compare.Replaced, old[i].AtOnce(), s.AtOnce()})
		}
	}
	for _, o := range old {
		if !slices.ContainsFunc(now, func(s Row) bool { return o.Step == s.Step }) {
			all = append(all, StepChange{Step: o.Step, Title: o.Title, Change: compare.Removed, Before: o.AtOnce()})
		}
	}
	slices.SortStableFunc(all, func(x, y StepChange) int {
		return cmp.Or(cmp.Compare(len(x.Step), len(y.Step)), strings.Compare(x.Step, y.Step))
	})
	return all
}

// usedSteps returns the steps with a deployed Application.
func (p part) usedSteps() []Row {
	entries := make([]Entry, len(p.Applications))
	for i, app := range p.Applications {
		entries[i].Name = app.Name
		entries[i].Deployed = p.apps[app.Name] == app
	}
	return slices.DeleteFunc(rows(p.Fleet, entries), func(r Row) bool {
		return r.Step == "" || !slices.ContainsFunc(r.entries, func(e Entry) bool { return e.Deployed })
	})
}
