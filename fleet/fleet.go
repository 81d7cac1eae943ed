// Package fleet loads many components, renders them, and finds the dependencies between them.
//
// Sync waves order the objects of one Application. Dependencies between components are found in
// their rendered objects, by the same rules that find references within a component (package
// graph). The packages below this one use them: steps and rollout compute and simulate the order
// of the components, lint checks it, and generate writes the manifests for
// it.
package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/fleet/appset"
	"github.com/ladder-cmp/ladder/fleet/inplace"
	"github.com/ladder-cmp/ladder/fleet/link"
	"github.com/ladder-cmp/ladder/fleet/profile"
	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/remote"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/plugin"
	"github.com/ladder-cmp/ladder/render"
	"github.com/ladder-cmp/ladder/wave"
)

// Source is the location of a fleet, and how to render it.
type Source struct {
	// Repo is the repository.
	Repo fs.FS
	// NoRepository means that Repo is a whole file system, because there is no repository.
	NoRepository bool
	// Dirs are directories of components. Every directory below one of them with a
	// component.yaml is a component; so is a directory in Dirs that contains none at any depth.
	Dirs []string
	// Show returns how messages name a path of the repository; nil keeps the path.
	Show func(path string) string
	// Manifests are Applications and ApplicationSets from elsewhere, such as standard input, and
	// InPlace means that Dirs are files and directories with such, not with components.
	Manifests []object.Object
	InPlace   bool
	// Generators are what generators of ApplicationSets find outside of the repository.
	Generators appset.Values
	// Environment omits components that are not deployed there; empty keeps all.
	Environment string
	// KubeVersion and APIVersions describe the cluster; both may be empty.
	KubeVersion string
	APIVersions []string
	// ArgoCD is the version of the Argo CD that syncs; empty means the one of the knowledge.
	ArgoCD string
	// Waves says how many waves to compute; empty means what the components say.
	Waves wave.Style
	// Parallel is the number of components that are rendered concurrently; 0 means one for each
	// processor.
	Parallel int
	// Remote fetches the sources that components name and Repo does not contain; nil fetches
	// nothing.
	Remote remote.Fetcher
	// Random derives what templates generate; nil generates new values each time.
	Random *plugin.Random
	// SkipRendering means that only the component.yaml files are read. The Applications have
	// their steps, and their dependencies are unknown.
	SkipRendering bool
	// Partial keeps components with an invalid component.yaml, like components that cannot be
	// rendered. Without it, Load returns their faults as its error.
	Partial bool
	// Projects are the AppProjects that components may choose from; if empty, the project is
	// fixed.
	Projects []string
	// Assume renders a component without the charts and files that are missing, with the
	// recorded knowledge about them instead. If false, such a component does not render.
	Assume bool
	// AllowMissingDirs means that a directory in Dirs may be missing, and then has no
	// components. If false, that is an error.
	AllowMissingDirs bool
	// Progress, if not nil, is called with the number of rendered components.
	Progress func(done, of int, name string)
	// Rendered, if not nil, is called with the rendering of each Application, one at a time,
	// before its order is discarded.
	Rendered func(app *Application, res plugin.Result)

	files *plugin.Files
	// shared has the manifests of Applications that were rendered.
	shared *object.Sharing
}

// Fleet is a set of components with their Applications and dependencies.
type Fleet struct {
	// Dir is the directory in the repository that contains all of it.
	Dir string
	// Settings are the fleet section of its ladder.yaml.
	Settings profile.Section
	Profile  profile.Profile
	// Projects are the AppProjects that components may choose from; if empty, none may choose.
	Projects []string
	// Components are sorted by the path of their directories.
	Components []*Component
	// Applications are sorted by their steps and names.
	Applications []*Application
	// Links are the dependencies between Applications, sorted by both ends.
	Links []Link
	// Networks are the Applications that provide the Pod network, and those that need it.
	Networks link.Networks
	// Findings are problems that were found while reading and rendering.
	Findings []finding.Finding
	// Dirs are the directories that were searched for components. Skipped lists files in them
	// that are named component.yaml but do not describe a component.
	Dirs    []string
	Skipped []string

	// Tree says who creates the Applications of a fleet that was read in place, and in which order;
	// nil for a fleet with component.yaml files.
	Tree *inplace.Tree
	// Around are AppProjects and Secrets of clusters that were read in place, beside what the
	// Applications deploy.
	Around []object.Object
	// Reading are the findings about Applications that could not be read.
	Reading []finding.Finding
	// Objects are the objects of all Applications with their references.
	Objects *graph.Graph
	// Base is the knowledge with which it was rendered.
	Base *knowledge.Base
	// moved are objects of Applications in environments that share a cluster.
	moved map[movedTo][]object.Object
	// byEnvironment contains the fleet as it is rendered in each environment; nil if all
	// environments render it in the same way.
	byEnvironment map[string]*Fleet
	// MissingDependencies are the dependencies of Applications that nothing in the environment
	// of the fleet satisfies.
	MissingDependencies map[*Application]MissingDependency
}

// Component is a directory with a component.yaml.
type Component struct {
	component.Description
	// Dir is the directory in the repository.
	Dir string
	// File is the name of its component.yaml in messages, or the directory if there is none.
	File string
	// At is the line of the Application in File, if the fleet was read in place; 0 if the file is
	// a template.
	At int
	// Described is false if there is no component.yaml.
	Described bool
	// Vendored means that its remote chart is vendored next to it, so the plugin renders it
	// like any other component.
	Vendored bool
	// Unread means that its component.yaml is invalid: the component is not rendered, and some
	// of its keys may be unknown.
	Unread bool

	// Refused are errors about its own ladder.yaml files, which decide nothing about the fleet.
	Refused []finding.Finding
	// Values are what environments set for it; those that set nothing are missing.
	Values map[string]EnvironmentValues

	faults error
}

// Application is what Argo CD syncs: a component, or a part of it.
type Application struct {
	*Component
	// Name is the name of the Application.
	Name string
	// Part is the part of a component that is split.
	Part crds.Mode
	// Step is its step in the rollout.
	Step component.Step
	// Namespace is its destination.
	Namespace string
	// Kind says how it is rendered; empty if it could not be.
	Kind render.Kind
	// Objects are its rendered objects with their waves, and Waves is the number of these
	// waves.
	Objects []object.Object
	Waves   int
	// Expects lists what exists outside of it, according to its settings.
	Expects []string
	// Failed is true if it could not be rendered; the findings say why.
	Failed bool
	// IsChartMissing means that its own chart is in another repository, and neither vendored nor
	// fetched.
	IsChartMissing bool
	// MissingSources are sources that it deploys and that are not available, so that Objects is
	// incomplete.
	MissingSources []MissingSource
	// ValueNames are the objects that the values of its missing charts name, which these may read.
	ValueNames []ValueName
	// Rung is its purpose, and RungWhy is the reason.
	Rung    string
	RungWhy string
	// Findings are the findings of its rendering.
	Findings []finding.Finding
	// EarlierAPIVersions are the API versions that earlier steps install, if it requests them.
	EarlierAPIVersions []string

	// Node is its node in Fleet.Tree.
	Node int
	// Environment is the environment that it is rendered for; empty if all environments render
	// it in the same way.
	Environment string
}

// Load reads and renders a fleet, and finds the dependencies between its components. The error
// joins the faults of every component.yaml, unless src.Partial makes them findings. A component
// that does not render becomes a finding and has no objects.
func Load(ctx context.Context, src Source, base *knowledge.Base) (*Fleet, error) {
	if src.InPlace {
		return loadInPlace(ctx, src, base)
	}
	dirs, skipped, err := src.find()
	if err != nil {
		return nil, err
	}
	src.files, src.shared = &plugin.Files{}, &object.Sharing{}
	top := plugin.Request{Repo: src.Repo, Dir: src.top(), Show: src.Show, Files: src.files}
	base = profile.Reading(base)
	own := base
	base, err = top.Knowledge(base, dirs...)
	faults := []error{err}
	settings := profile.In(base)
	f := &Fleet{Dir: src.top(), Settings: settings, Projects: append(slices.Clone(src.Projects), settings.Allow.Projects...),
		Dirs: src.Dirs, Skipped: skipped, Base: base}
	if err == nil {
		f.Profile, err = profile.Of(f.Settings)
		faults = append(faults, err)
	}
	refused := map[string]bool{} // a component in the directory of another one has its files, too
	for _, dir := range dirs {
		c := src.read(dir, own)
		c.Refused = slices.DeleteFunc(slices.Clone(c.Refused), func(f finding.Finding) bool { return refused[f.File] })
		for _, f := range c.Refused {
			refused[f.File] = true
		}
		if !src.Partial {
			faults = append(faults, c.faults)
		}
		f.Components = append(f.Components, c)
	}
	if err := errors.Join(faults...); err != nil {
		for _, c := range f.Components {
			if src.Partial {
				err = errors.Join(err, c.faults)
			}
		}
		return nil, err
	}
	f.distinguish()
	f.noteEnvironments(src)
	f.createApplications(src.Environment)
	if src.SkipRendering {
		return f, nil
	}
	if err := f.render(ctx, src); err != nil {
		return nil, err
	}
	f.guess()
	if err := f.link(); err != nil {
		return nil, err
	}
	f.dropSatisfied()
	f.Findings = FindingsOf(f.Applications)
	if err := f.renderMoved(ctx, src); err != nil {
		return nil, err
	}
	if err := f.renderEnvironments(ctx, src); err != nil {
		return nil, err
	}
	return f.In(src.Environment)
}

// In returns the part of a fleet that is deployed in an environment, or all of it if the
// environment is empty. It records in MissingDependencies which dependencies are missing there.
func (f *Fleet) In(environment string) (*Fleet, error) {
	f = f.At(environment)
	if !slices.ContainsFunc(f.Components, func(c *Component) bool { return !c.IsIn(environment) }) {
		return f, nil
	}
	inEnvironment := *f
	inEnvironment.byEnvironment = nil
	inEnvironment.MissingDependencies = f.MissingIn(environment)
	inEnvironment.Components = slices.DeleteFunc(slices.Clone(f.Components), func(c *Component) bool { return !c.IsIn(environment) })
	inEnvironment.Applications = slices.DeleteFunc(slices.Clone(f.Applications), func(a *Application) bool { return !a.IsIn(environment) })
	inEnvironment.Findings = FindingsOf(inEnvironment.Applications)
	return &inEnvironment, inEnvironment.link()
}

func (s Source) show(p string) string {
	if s.Show == nil {
		return p
	}
	return s.Show(p)
}

// top returns the directory that contains the whole fleet.
func (s Source) top() string {
	top := path.Clean(s.Dirs[0])
	for _, dir := range s.Dirs[1:] {
		for top != "." && !strings.HasPrefix(path.Clean(dir)+"/", top+"/") {
			top = path.Dir(top)
		}
	}
	return top
}

// Directories returns the directories of the components, sorted.
func (s Source) Directories() ([]string, error) {
	all, _, err := s.find()
	return all, err
}

// find returns the directories of the components, sorted, and the files that only have the name
// of a component.yaml.
func (s Source) find() (all, skipped []string, err error) {
	for _, top := range s.Dirs {
		if _, err := fs.Stat(s.Repo, path.Clean(top)); s.AllowMissingDirs && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		found := len(all)
		err := fs.WalkDir(s.Repo, path.Clean(top), func(p string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && strings.HasPrefix(d.Name(), ".") && p != ".":
				return fs.SkipDir
			case !d.IsDir() && d.Name() == component.File && !s.isChartFile(p):
				all = append(all, path.Dir(p))
			case !d.IsDir() && d.Name() == component.File:
				skipped = append(skipped, p)
			}
			return nil
		})
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", s.show(top), err)
		}
		if len(all) > found {
			continue
		}
		if renders, err := plugin.Detect(s.Repo, top); err != nil || !renders {
			return nil, nil, finding.Finding{Severity: finding.Error, Rule: finding.NotFound, File: s.show(top),
				Message: "no component found", Remedy: "name a directory that contains " + component.File + " files, or the directory of a component"}
		}
		all = append(all, path.Clean(top))
	}
	slices.Sort(all)
	return slices.Compact(all), skipped, nil
}

// IsFleet reports whether the first directory is a fleet: it has no component.yaml, and a
// directory below it does.
func (s Source) IsFleet() bool {
	if _, err := fs.Stat(s.Repo, path.Join(s.Dirs[0], component.File)); err == nil {
		return false
	}
	s.Dirs = s.Dirs[:1]
	all, _, err := s.find()
	return err == nil && !slices.Equal(all, []string{path.Clean(s.Dirs[0])})
}

// HasComponentFile reports whether there is a component.yaml in or below the first directory.
func (s Source) HasComponentFile() bool {
	s.Dirs = s.Dirs[:1]
	all, _, err := s.find()
	if err != nil {
		return false
	}
	return slices.ContainsFunc(all, func(dir string) bool {
		_, err := fs.Stat(s.Repo, path.Join(dir, component.File))
		return err == nil
	})
}

// isChartFile reports whether a file is a template or a manifest of a chart, which may have the
// same name as a component.yaml.
func (s Source) isChartFile(p string) bool { return path.Base(path.Dir(p)) == "templates" }

// read reads the component.yaml of a directory.
func (s Source) read(dir string, base *knowledge.Base) *Component {
	c := &Component{Dir: dir, File: s.show(path.Join(dir, component.File)), Described: true}
	if _, err := fs.Stat(s.Repo, path.Join(dir, component.File)); err != nil {
		c.File, c.Described = s.show(dir), false
	}
	req := plugin.Request{Repo: s.Repo, Dir: dir, Show: s.Show, Files: s.files}
	c.Description, c.faults = req.Describe()
	c.Unread = c.faults != nil
	if own, err := req.Knowledge(base, dir); err == nil { // otherwise the rendering fails
		c.Refused = own.Refused()
	}
	c.Vendored = req.Vendored(c.Chart)
	c.Name = cmp.Or(c.Name, path.Base(dir))
	return c
}

// createApplications creates the Applications of the components, which are rendered for an
// environment.
func (f *Fleet) createApplications(environment string) {
	for _, c := range f.Components {
		app := Application{Component: c, Name: c.Name, Step: c.Step()}
		if c.Differs() {
			app.Environment = f.renderedIn(c, environment)
		}
		app.Namespace = c.namespaceIn(app.Environment)
		if c.CRDs == component.Split {
			crdsApp := app
			crdsApp.Name, crdsApp.Part, crdsApp.Step = c.Name+CRDsSuffix, crds.Only, c.CRDsPhase
			app.Part = crds.Skip
			f.Applications = append(f.Applications, &crdsApp)
		}
		f.Applications = append(f.Applications, &app)
	}
	slices.SortStableFunc(f.Applications, func(x, y *Application) int {
		return cmp.Or(CompareSteps(x.Step, y.Step), cmp.Compare(x.Name, y.Name))
	})
}

// CRDsSuffix ends the name of the Application with the CRDs of a split component.
const CRDsSuffix = "-crds"

// CompareSteps orders steps. Applications without one come last.
func CompareSteps(x, y component.Step) int {
	if x.Set != y.Set {
		if x.Set {
			return -1
		}
		return 1
	}
	return cmp.Compare(x.Number, y.Number)
}

// StepKey returns the key of component.yaml that contains the step of an Application.
func (f *Fleet) StepKey(a *Application) string {
	switch {
	case a.Part == crds.Only && a.CRDs == component.Split:
		return "crdsPhase"
	case a.RolloutPhase.Set || a.Wave.Set:
		return a.StepKey()
	}
	return f.Profile.Key
}

// Fault returns an error about a field of a component.yaml.
func (c *Component) Fault(rule finding.Rule, field, message, remedy string) finding.Finding {
	return finding.Finding{Severity: finding.Error, Rule: rule, File: c.File, Line: c.Line(field), Field: field,
		Message: message, Remedy: remedy}
}

// Compare orders Applications independently of their steps.
func (f *Fleet) Compare(x, y int) int {
	a, b := f.Applications[x], f.Applications[y]
	return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Dir, b.Dir), strings.Compare(string(a.Part), string(b.Part)))
}

// Enabled lists the Applications that are deployed.
func (f *Fleet) Enabled() []*Application {
	return slices.DeleteFunc(slices.Clone(f.Applications), func(a *Application) bool { return !a.IsEnabled() })
}

// FormatStep formats the step of an Application; it returns an empty string if there is none.
func (f *Fleet) FormatStep(p component.Step) string {
	switch {
	case !p.Set:
		return ""
	case f.InPlace():
		return p.Text
	}
	return f.Profile.Write(p.Number)
}
