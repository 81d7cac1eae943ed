// Package importer converts existing Applications and ApplicationSets to components: a
// component.yaml for each Application, and a ladder.yaml with the settings that they have in
// common.
//
// The settings of an existing fleet have their reasons. So Import removes each field from the
// Application as it is converted, and reports each remaining field at the end: nothing is lost
// silently.
//
// The components are in a separate directory, and each names the directory of its manifests.
// The old Applications continue to read their directories, without a component.yaml among the
// manifests.
package importer

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/internal/appset"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/overlay"
	"github.com/ladder-cmp/ladder/internal/remote"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/plugin"
	"github.com/ladder-cmp/ladder/wave"
)

// Input contains the Applications to convert.
type Input struct {
	// Objects are Applications and ApplicationSets; other objects are ignored.
	Objects []object.Object
	// Repo is the repository of the components, and Dir the directory in it to write them to.
	Repo fs.FS
	Dir  string
	// RepoURL is the URL of Repo; if empty, the URL that most Applications with existing
	// directories name.
	RepoURL string
	// Others maps names (see package remote) to other available repositories, from which
	// generators and values files are read.
	Others map[string]fs.FS
	// Values are the parameters of generators that cannot be evaluated in a repository.
	Values appset.Values
	Base   *knowledge.Base
	// KubeVersion and APIVersions describe the cluster; both may be empty.
	KubeVersion string
	APIVersions []string
	// Random derives generated values of templates; nil means that they are random.
	Random *plugin.Random
}

// File is a file to write. Its path is relative to the root of the repository.
type File struct{ Path, Text string }

// Result is the imported fleet.
type Result struct {
	// Files are the ladder.yaml and the files of each component.
	Files []File
	// Components describe the component.yaml files, in the order of the files.
	Components []Component
	// Findings report what is not imported, and what will change.
	Findings []finding.Finding
}

// Component is an imported Application.
type Component struct {
	File, Name string
	// Source describes the location of the manifests.
	Source string
	Step   int
	// Application is the original manifest.
	Application string
}

// Rules of findings.
const (
	// NotImported is for fields, or whole Applications, that component.yaml cannot represent.
	NotImported = "not-imported"
	// Changes is for differences once Ladder renders the components.
	Changes = "import-changes"
)

// Import converts Applications to components. It fails if there are none.
func Import(ctx context.Context, in Input) (Result, error) {
	w, all, err := readApplications(ctx, in)
	if err != nil {
		return Result{Findings: w.findings()}, err
	}
	steps := w.number(all)
	return w.write(all, steps), nil
}

// readApplications reads the Applications of an input, and returns those that are not parents.
func readApplications(ctx context.Context, in Input) (*work, []*application, error) {
	w := &work{Input: in, apps: map[string]*application{}, rendered: map[string]bool{}, sets: map[string][]finding.Finding{}}
	if w.RepoURL == "" {
		w.RepoURL = appset.FindRepository(in.Objects, in.Repo)
	}
	for _, o := range in.Objects {
		w.add(o, nil)
	}
	for app := w.next(); app != nil; app = w.next() { // an Application that turns out to be a parent adds its children to the queue
		app.isProcessed = true
		w.follow(ctx, app)
	}
	var all []*application
	for _, name := range w.order {
		if app := w.apps[name]; !app.parent && len(app.components) > 0 {
			all = append(all, app)
		}
	}
	if len(all) == 0 {
		return w, nil, finding.Finding{Severity: finding.Error, Rule: "nothing-to-import", Message: "no Application found",
			Remedy: "name files of Applications or ApplicationSets, or the directory that their parent renders"}
	}
	return w, all, nil
}

// next returns an Application that has not been processed.
func (w *work) next() *application {
	for _, name := range w.order {
		if app := w.apps[name]; !app.isProcessed {
			return app
		}
	}
	return nil
}

// work is the state of Import.
type work struct {
	Input
	// apps maps names to Applications, and order lists these names in the order in which they
	// were found.
	apps  map[string]*application
	order []string
	// rendered marks Applications that a parent renders, whose manifests take precedence over
	// files.
	rendered map[string]bool
	// sets are the findings for each ApplicationSet, and general those for the whole input.
	sets    map[string][]finding.Finding
	general []finding.Finding
}

// findings returns all findings, sorted.
func (w *work) findings() []finding.Finding {
	all := w.general
	for _, name := range sortedKeys(w.sets) {
		all = append(all, w.sets[name]...)
	}
	for _, name := range w.order {
		all = append(all, w.apps[name].findings...)
	}
	finding.Sort(all)
	return all
}

// application is an Application during its conversion.
type application struct {
	name string
	// fields are the fields that have not been converted yet.
	fields tree
	// file and line are the location of the original manifest, for messages.
	file        string
	line        int
	set         string // the ApplicationSet; empty if none generates it
	parentApp   *application
	wave        int // among those of its parent
	step        int // of the ApplicationSet, from 1; 0 without steps
	parent      bool
	isProcessed bool
	// plugin is the config management plugin that renders a source; empty without one.
	plugin string
	// text is the manifest as it was read.
	text     string
	findings []finding.Finding
	// components are the components, one for each source with manifests.
	components []*importedComponent
	settings
}

// add reads an object; above is the parent that renders it, or nil.
func (w *work) add(o object.Object, parentApp *application) {
	if o.ID.Group != "argoproj.io" {
		return
	}
	switch o.ID.Kind {
	case "Application":
		fields := fieldsOf(o.Root().Plain())
		app := &application{name: o.ID.Name, fields: fields, file: o.File, line: o.Line, parentApp: parentApp, text: o.Text()}
		app.wave, _ = o.Wave()
		if parentApp == nil && ownedBySet(fields) {
			app.set = "an ApplicationSet"
		}
		w.put(app, parentApp != nil)
	case "ApplicationSet":
		w.addSet(o, parentApp)
	}
}

// ownedBySet reports whether an ApplicationSet generated an Application that was read from a
// cluster.
func ownedBySet(fields tree) bool {
	owners, _ := at(fields, "metadata", "ownerReferences").([]any)
	return slices.ContainsFunc(owners, func(owner any) bool {
		m, _ := owner.(tree)
		return m["kind"] == "ApplicationSet"
	})
}

// put stores an Application. Of several with the same name it keeps the one that a parent
// renders, otherwise the first.
func (w *work) put(app *application, rendered bool) {
	known, twice := w.apps[app.name]
	switch {
	case !twice:
		w.order = append(w.order, app.name)
	case rendered && !w.rendered[app.name]:
	case known.text == app.text && known.file == app.file:
		known.parentApp = app.parentApp
		return
	default:
		app.report("", "another Application of this name is in "+cmp.Or(known.file, "the input")+", and only that one is imported", "name fewer files, such as those of one environment")
		known.findings = append(known.findings, app.findings...)
		return
	}
	w.apps[app.name], w.rendered[app.name] = app, w.rendered[app.name] || rendered
}

// follow converts an Application, and checks whether it is a parent of others.
func (w *work) follow(ctx context.Context, app *application) {
	w.convert(app)
	children, others := w.children(ctx, app)
	if len(children) == 0 {
		return
	}
	app.parent, app.findings = true, nil
	for _, child := range children {
		if child.ID.Kind != "Application" || !app.isBelow(child.ID.Name) { // a parent may contain itself
			w.add(child, app)
		}
	}
	if len(others) > 0 {
		app.report("", fmt.Sprintf("this parent contains %s besides Applications, such as %s", finding.Counted(len(others), "object"), others[0].ID), "move them to a separate component")
	}
}

// isBelow reports whether this Application, or one of its parents, has a name.
func (a *application) isBelow(name string) bool {
	return a.name == name || a.parentApp != nil && a.parentApp.isBelow(name)
}

// children returns the Applications and ApplicationSets that an Application renders, and the
// other objects. It returns none if the Application cannot be rendered here.
func (w *work) children(ctx context.Context, app *application) (children, others []object.Object) {
	for _, m := range app.components {
		if !m.local {
			continue
		}
		res, err := w.generate(ctx, m, wave.Options{Waves: wave.Off})
		if err != nil {
			continue
		}
		for _, o := range res.Objects {
			if o.ID.Group == "argoproj.io" && (o.ID.Kind == "Application" || o.ID.Kind == "ApplicationSet") {
				children = append(children, o)
			} else {
				others = append(others, o)
			}
		}
	}
	return children, others
}

// generate renders a source in the repository, with the settings of its Application.
func (w *work) generate(ctx context.Context, m *importedComponent, order wave.Options) (plugin.Result, error) {
	files := map[string]string{path.Join(m.dir, component.File): m.text(w, 0)}
	for name, text := range m.copies {
		files[path.Join(w.Dir, m.name, name)] = text
	}
	return plugin.Generate(ctx, plugin.Request{Repo: overlay.FS{FS: w.Repo, Files: files}, Dir: m.dir, App: plugin.App{Name: m.app.name, Namespace: m.app.namespace}, KubeVersion: w.KubeVersion, APIVersions: w.APIVersions, Settings: []plugin.Settings{{Order: order}}, Random: w.Random}, w.Base)
}

// report records that a part of an Application is not imported.
func (a *application) report(field, message, remedy string) {
	a.findings = append(a.findings, finding.Finding{Severity: finding.Warning, Rule: NotImported, File: a.file, Line: a.line, Object: "Application " + a.name, Field: field, Message: message, Remedy: remedy})
}

// change records what will change.
func (a *application) change(field, message string) {
	a.findings = append(a.findings, finding.Finding{Severity: finding.Note, Rule: Changes, File: a.file, Line: a.line, Object: "Application " + a.name, Field: field, Message: message})
}

// ours reports whether a URL is that of the repository.
func (w *work) ours(url string) bool { return remote.SameRepository(w.RepoURL, url) }

// open returns the repository with a URL; nil if it is not available.
func (w *work) open(url string) fs.FS {
	if w.ours(url) {
		return w.Repo
	}
	return w.Others[remote.RepositoryName(url)]
}
