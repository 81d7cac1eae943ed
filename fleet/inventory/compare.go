package inventory

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/lint"

	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/internal/compare"
	"github.com/ladder-cmp/ladder/internal/finding"
)

// Comparison is the effect of a change on a fleet.
type Comparison struct {
	// Added and Removed are Applications on one side only, and Moved those in another step.
	Added   []Standing `json:"added"`
	Removed []Standing `json:"removed"`
	Moved   []Moved    `json:"moved"`
	// Steps are steps with Applications on one side only, or with other settings than before.
	Steps []StepChange `json:"steps"`
	// Gained and Lost are dependencies between Applications that are on both sides.
	Gained []Needed `json:"needsGained"`
	Lost   []Needed `json:"needsLost"`
	// Changed are the Applications of both sides whose objects differ.
	Changed []ChangedApplication `json:"changed"`
	// Unknown are the names of Applications that render on neither side, so that nothing can be
	// compared.
	Unknown []string `json:"unknown"`
	// New and Fixed are findings, including those of the renderings.
	New   []finding.Finding `json:"newFindings"`
	Fixed []finding.Finding `json:"fixedFindings"`
}

// Standing is an Application in its step.
type Standing struct {
	Name string `json:"name"`
	// Path is the path of its component.yaml, relative to the directory of the fleet.
	Path string `json:"path"`
	Step string `json:"step,omitempty"`
	// Phase is the former name of Step in JSON.
	Phase string `json:"phase,omitempty"`
	// Title says what the step is for; empty if nobody does.
	Title string `json:"title,omitempty"`
}

// Moved is an Application that changes its step. A step is empty if the Application has none.
type Moved struct {
	Name string `json:"name"`
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	// FromTitle and ToTitle say what the steps are for.
	FromTitle string `json:"fromTitle,omitempty"`
	ToTitle   string `json:"toTitle,omitempty"`
}

// StepChange is a step of the rollout that is new, gone or another one.
type StepChange struct {
	Step string `json:"step"`
	// Phase is the former name of Step in JSON.
	Phase  string         `json:"phase"`
	Title  string         `json:"title,omitempty"`
	Change compare.Change `json:"change"`
	// Before and After say how many are updated at once: "all", a number, or
	// "none" where people sync.
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

// Needed is a dependency of an Application, with its strongest reason.
type Needed struct {
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
	// Was and Is say whether it could be rendered.
	Was compare.State `json:"was"`
	Is  compare.State `json:"is"`
}

// Different reports whether the sides differ in anything that is compared.
func (c Comparison) Different() bool {
	return len(c.Added)+len(c.Removed)+len(c.Moved)+len(c.Steps)+len(c.Gained)+len(c.Lost)+len(c.Changed)+len(c.New)+len(c.Fixed) > 0
}

// Compare compares a fleet before and after a change, of an environment or, if
// that is empty, of all. An Application is the same one where its name is. Each
// side names files below a directory, which need not be the same.
func Compare(before *fleet.Fleet, dirBefore string, after *fleet.Fleet, dirAfter, environment string) Comparison {
	c := Comparison{Added: []Standing{}, Removed: []Standing{}, Moved: []Moved{}, Steps: []StepChange{}, Gained: []Needed{}, Lost: []Needed{}, Changed: []ChangedApplication{}, Unknown: []string{}}
	before, after = before.At(environment), after.At(environment)
	old, now := of(with(before, after), environment), of(with(after, before), environment)
	for _, name := range old.names {
		if _, stays := now.apps[name]; !stays && !unreadAt(now.Fleet, placeIn(old.Fleet, old.apps[name].Component)) {
			c.Removed = append(c.Removed, old.standing(name))
		}
	}
	for _, name := range now.names {
		if _, was := old.apps[name]; !was && unreadAt(old.Fleet, placeIn(now.Fleet, now.apps[name].Component)) {
			continue
		} else if !was {
			c.Added = append(c.Added, now.standing(name))
			continue
		}
		x, y := old.standing(name), now.standing(name)
		if x.Phase != y.Phase {
			c.Moved = append(c.Moved, Moved{name, x.Phase, y.Phase, x.Title, y.Title})
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
	c.Gained = append(c.Gained, now.needsBesides(old)...)
	c.Lost = append(c.Lost, old.needsBesides(now)...)
	c.New, c.Fixed = compare.Findings(old.findingsBeside(now, environment), dirBefore, now.findingsBeside(old, environment), dirAfter)
	return c
}

// FaultsOf says why Applications of these names could not be rendered.
func FaultsOf(f *fleet.Fleet, names []string) []finding.Finding {
	return fleet.FindingsOf(slices.DeleteFunc(slices.Clone(f.Applications), func(app *fleet.Application) bool { return !app.Failed || !slices.Contains(names, app.Name) }))
}

// part returns the part of a fleet in an environment.
type part struct {
	*fleet.Fleet
	names []string
	apps  map[string]*fleet.Application
	// needs maps dependencies, by the names of both ends, to their strongest reasons.
	needs map[[2]string]fleet.Reason
	ends  [][2]string
}

// placeIn is the directory of a component below that of the fleet.
func placeIn(f *fleet.Fleet, c *fleet.Component) string {
	if f.Dir == c.Dir {
		return "."
	}
	return strings.TrimPrefix(c.Dir, f.Dir+"/")
}

// componentAt is the component of a place; nil if there is none.
func componentAt(f *fleet.Fleet, place string) *fleet.Component {
	for _, c := range f.Components {
		if placeIn(f, c) == place {
			return c
		}
	}
	return nil
}

func unreadAt(f *fleet.Fleet, place string) bool {
	c := componentAt(f, place)
	return c != nil && c.Unread
}

// with is a fleet whose components with faults in their descriptions are called and
// placed as on the other side of a change, for want of anything better.
func with(f *fleet.Fleet, other *fleet.Fleet) *fleet.Fleet {
	there := *f
	there.Components, there.Applications = slices.Clone(f.Components), slices.Clone(f.Applications)
	for i, c := range f.Components {
		known := componentAt(other, placeIn(f, c))
		if !c.Unread || known == nil || known.Unread {
			continue
		}
		called := *c
		called.Description = known.Description
		there.Components[i] = &called
		for j, app := range f.Applications {
			if app.Component == c {
				of := *app
				of.Component, of.Name, of.Phase = &called, called.Name, called.Step()
				if of.Part == crds.Only {
					of.Name, of.Phase = called.Name+fleet.DefinitionsSuffix, called.CRDsPhase
				}
				there.Applications[j] = &of
			}
		}
	}
	return &there
}

// findingsBeside are the findings without those about descriptions that the other
// side has faults in: what else it says there is not known.
func (p part) findingsBeside(other part, environment string) []finding.Finding {
	return slices.DeleteFunc(p.findings(environment), func(f finding.Finding) bool {
		return slices.ContainsFunc(p.Components, func(c *fleet.Component) bool {
			return c.File == f.File && !c.Unread && unreadAt(other.Fleet, placeIn(p.Fleet, c))
		})
	})
}

func of(f *fleet.Fleet, environment string) part {
	p := part{Fleet: f, apps: map[string]*fleet.Application{}, needs: map[[2]string]fleet.Reason{}}
	called := map[*fleet.Application]string{}
	for _, app := range f.Applications {
		if !fleet.Deployed(app, environment) {
			continue
		}
		name := app.Name
		if p.apps[name] != nil { // in another environment
			name += " (" + below(f, app) + ")"
		}
		p.names, p.apps[name], called[app] = append(p.names, name), app, name
	}
	for _, l := range f.Links {
		ends := [2]string{called[f.Applications[l.From]], called[f.Applications[l.To]]}
		if ends[0] != "" && ends[1] != "" {
			p.ends = append(p.ends, ends)
			p.needs[ends] = l.Reasons[0]
		}
	}
	return p
}

func (p part) standing(name string) Standing {
	app := p.apps[name]
	s := Standing{Name: name, Path: below(p.Fleet, app), Step: p.Write(app.Phase), Phase: p.Write(app.Phase)}
	if place, ok := p.Profile.Place(app.Phase.Number); ok && app.Phase.Set {
		s.Title = place.Title
	}
	return s
}

// findings returns the findings of the fleet and of its renderings. It omits steps without
// components, because the list of steps shows them, and missing steps if no component has a
// component.yaml that could name one.
func (p part) findings(environment string) []finding.Finding {
	described := slices.ContainsFunc(p.Components, func(c *fleet.Component) bool { return c.Described })
	all := slices.DeleteFunc(lint.Findings(p.Fleet, environment), func(f finding.Finding) bool {
		return f.Rule == lint.EmptyPlace || f.Rule == lint.NoStep && !described
	})
	var rendered []*fleet.Application // lint tells of the others
	for _, name := range p.names {
		if app := p.apps[name]; !app.Failed {
			rendered = append(rendered, app)
		}
	}
	all = append(all, fleet.FindingsOf(rendered)...)
	finding.Sort(all)
	return all
}

// needsBesides returns the dependencies, of Applications on both sides, that the other side
// does not have.
func (p part) needsBesides(other part) []Needed {
	var all []Needed
	for _, ends := range p.ends {
		_, there := other.needs[ends]
		if there || other.apps[ends[0]] == nil || other.failed(ends) {
			continue
		}
		r := p.needs[ends]
		all = append(all, Needed{ends[0], ends[1], r.Strength.String(), r.Inferred, finding.Sanitize(r.String())})
	}
	return all
}

// failed reports whether one of two Applications could not be rendered, so its dependencies
// and content are unknown.
func (p part) failed(ends [2]string) bool {
	return slices.ContainsFunc(ends[:], func(name string) bool { return p.apps[name] != nil && p.apps[name].Failed })
}

func changedApplication(before, after *fleet.Application) (ChangedApplication, bool) {
	c := ChangedApplication{Name: after.Name, Was: state(before), Is: state(after)}
	if c.Was != c.Is {
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
	old, now := before.rolled(), after.rolled()
	var all []StepChange
	for _, s := range now {
		i := slices.IndexFunc(old, func(o Row) bool { return o.Phase == s.Phase })
		if i < 0 {
			all = append(all, StepChange{Step: s.Step, Phase: s.Step, Title: s.Title, Change: compare.Added, After: s.AtOnce()})
		} else if old[i].AtOnce() != s.AtOnce() {
			all = append(all, StepChange{s.Step, s.Step, s.Title, compare.Replaced, old[i].AtOnce(), s.AtOnce()})
		}
	}
	for _, o := range old {
		if !slices.ContainsFunc(now, func(s Row) bool { return o.Phase == s.Phase }) {
			all = append(all, StepChange{Step: o.Step, Phase: o.Step, Title: o.Title, Change: compare.Removed, Before: o.AtOnce()})
		}
	}
	slices.SortStableFunc(all, func(x, y StepChange) int {
		return cmp.Or(cmp.Compare(len(x.Phase), len(y.Phase)), strings.Compare(x.Phase, y.Phase))
	})
	return all
}

// rolled are the steps of which something is deployed.
func (p part) rolled() []Row {
	entries := make([]Entry, len(p.Applications))
	for i, app := range p.Applications {
		entries[i].Name = app.Name
		entries[i].Deployed = p.apps[app.Name] == app
	}
	return slices.DeleteFunc(phases(p.Fleet, entries), func(r Row) bool {
		return r.Phase == "" || !slices.ContainsFunc(r.entries, func(e Entry) bool { return e.Deployed })
	})
}
