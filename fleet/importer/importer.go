// Package importer turns Applications and ApplicationSets that exist into components:
// a component.yaml for each Application, and a ladder.yaml with what all have in common.
//
// A fleet that is to come under Ladder has settings that somebody once had a reason for.
// So every field is taken from the Application as it is read, and what nothing has taken
// at the end is reported, each field once: nothing is lost silently.
//
// The components are in a directory of their own, and each names the directory of its
// manifests. The old Applications go on reading theirs, and do not find a component.yaml
// among the manifests.
package importer

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/ladder-cmp/ladder/internal/appset"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/overlay"
	"github.com/ladder-cmp/ladder/internal/remote"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/plugin"
	"github.com/ladder-cmp/ladder/wave"
)

// Input is what is to become a fleet.
type Input struct {
	// Objects are Applications and ApplicationSets; others are passed over.
	Objects []object.Object
	// Repo is the repository that the components are for, and Dir the directory in it
	// that they are written to.
	Repo fs.FS
	Dir  string
	// RepoURL is the address of Repo; empty for the one that most Applications name
	// whose directories are there.
	RepoURL string
	// Others are other repositories that are here, by their names (see package remote).
	// Generators and values files in them are read.
	Others map[string]fs.FS
	// Values are what generators of ApplicationSets would find outside of the repository.
	Values appset.Values
	Base   *knowledge.Base
	// Random derives what templates generate; nil means that it is new each time.
	Random *plugin.Random
}

// File is a file to be written; its path is in the repository.
type File struct{ Path, Text string }

// Result is the fleet.
type Result struct {
	// Files are a ladder.yaml, and what each component consists of.
	Files []File
	// Components describe the component.yaml files, in the order of the files.
	Components []Component
	// Findings are what is not imported, and what will be different.
	Findings []finding.Finding
}

// Component is an Application as it was imported.
type Component struct {
	File, Name string
	// Source says in words where the manifests are.
	Source string
	Step   int
	// Application is the manifest that it was made of.
	Application string
}

// The rules of findings.
const (
	// NotImported is a field, or a whole Application, that no key can hold.
	NotImported = "not-imported"
	// Changes is what will be different once Ladder renders the components.
	Changes = "import-changes"
)

// Import turns Applications into components. It fails if there are none.
func Import(ctx context.Context, in Input) (Result, error) {
	w, all, err := takeApart(ctx, in)
	if err != nil {
		return Result{Findings: w.findings()}, err
	}
	steps := w.number(all)
	return w.write(all, steps), nil
}

// takeApart reads the Applications of an input, and returns those that are not parents.
func takeApart(ctx context.Context, in Input) (*work, []*application, error) {
	w := &work{Input: in, apps: map[string]*application{}, rendered: map[string]bool{}, sets: map[string][]finding.Finding{}}
	if w.RepoURL == "" {
		w.RepoURL = appset.FindRepository(in.Objects, in.Repo)
	}
	for _, o := range in.Objects {
		w.add(o, nil)
	}
	for app := w.next(); app != nil; app = w.next() { // what is found to be a parent adds its children
		app.looked = true
		w.follow(ctx, app)
	}
	var all []*application
	for _, name := range w.order {
		if app := w.apps[name]; !app.parent && len(app.made) > 0 {
			all = append(all, app)
		}
	}
	if len(all) == 0 {
		return w, nil, finding.Finding{Severity: finding.Error, Rule: "nothing-to-import", Message: "no Application found",
			Remedy: "name files of Applications or ApplicationSets, or the directory that their parent renders"}
	}
	return w, all, nil
}

// next is an Application that has not been looked at.
func (w *work) next() *application {
	for _, name := range w.order {
		if app := w.apps[name]; !app.looked {
			return app
		}
	}
	return nil
}

// work is what Import knows so far.
type work struct {
	Input
	// apps are the Applications by their names, and order are these names as found.
	apps  map[string]*application
	order []string
	// rendered are those that a parent renders, whose manifest wins over files.
	rendered map[string]bool
	// sets are the findings about each ApplicationSet, and general those about all.
	sets    map[string][]finding.Finding
	general []finding.Finding
}

// findings are all of them, sorted.
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

// application is an Application that is taken apart.
type application struct {
	name string
	// fields are those that nothing has taken yet.
	fields tree
	// source is the manifest, for messages and as it was.
	file   string
	line   int
	from   string // the ApplicationSet; empty if none generates it
	above  *application
	wave   int // among those of its parent
	step   int // of the ApplicationSet, from 1; 0 without steps
	parent bool
	looked bool
	// plugin is the config management plugin that renders a source; empty without one.
	plugin string
	// text is the manifest as it was read.
	text     string
	findings []finding.Finding
	// made are the components, one for each source with manifests.
	made []*made
	settings
}

// add reads an object; above is the parent that renders it, or nil.
func (w *work) add(o object.Object, above *application) {
	if o.ID.Group != "argoproj.io" {
		return
	}
	switch o.ID.Kind {
	case "Application":
		fields := fieldsOf(o.Root().Plain())
		app := &application{name: o.ID.Name, fields: fields, file: o.File, line: o.Line, above: above, text: o.Text()}
		app.wave, _ = o.Wave()
		if above == nil && ownedBySet(fields) {
			app.from = "an ApplicationSet"
		}
		w.put(app, above != nil)
	case "ApplicationSet":
		w.addSet(o, above)
	}
}

// ownedBySet reports whether an ApplicationSet made an Application of a cluster.
func ownedBySet(fields tree) bool {
	owners, _ := at(fields, "metadata", "ownerReferences").([]any)
	return slices.ContainsFunc(owners, func(owner any) bool {
		m, _ := owner.(tree)
		return m["kind"] == "ApplicationSet"
	})
}

// put keeps an Application. One of a name counts: that which a parent renders, or else
// the first.
func (w *work) put(app *application, rendered bool) {
	known, twice := w.apps[app.name]
	switch {
	case !twice:
		w.order = append(w.order, app.name)
	case rendered && !w.rendered[app.name]:
	case known.text == app.text && known.file == app.file:
		known.above = app.above
		return
	default:
		app.report("", "another Application of this name is in "+cmp.Or(known.file, "the input")+", and only that one is imported", "name fewer files, such as those of one environment")
		known.findings = append(known.findings, app.findings...)
		return
	}
	w.apps[app.name], w.rendered[app.name] = app, w.rendered[app.name] || rendered
}

// follow converts an Application, and finds out whether it is a parent of others.
func (w *work) follow(ctx context.Context, app *application) {
	w.convert(app)
	children, others := w.children(ctx, app)
	if len(children) == 0 {
		return
	}
	app.parent, app.findings = true, nil
	for _, child := range children {
		if child.ID.Kind != "Application" || !app.isBelow(child.ID.Name) { // a parent may hold itself
			w.add(child, app)
		}
	}
	if len(others) > 0 {
		app.report("", fmt.Sprintf("this parent contains %s besides Applications, such as %s", finding.Counted(len(others), "object"), others[0].ID), "move them to a component of their own")
	}
}

// isBelow reports whether an Application of a name is this one, or a parent of it.
func (a *application) isBelow(name string) bool {
	return a.name == name || a.above != nil && a.above.isBelow(name)
}

// children are the Applications that an Application renders to, and the others of its
// objects if there are any. What does not render here has none.
func (w *work) children(ctx context.Context, app *application) (children, others []object.Object) {
	for _, m := range app.made {
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
func (w *work) generate(ctx context.Context, m *made, order wave.Options) (plugin.Result, error) {
	repo := overlay.FS{FS: w.Repo, Files: map[string]string{path.Join(m.dir, "component.yaml"): m.text(w, 0)}}
	return plugin.Generate(ctx, plugin.Request{Repo: repo, Dir: m.dir, App: plugin.App{Name: m.app.name, Namespace: m.app.namespace}, Settings: []plugin.Settings{{Order: order}}, Random: w.Random}, w.Base)
}

// report says that something of an Application is not imported.
func (a *application) report(field, message, remedy string) {
	a.findings = append(a.findings, finding.Finding{Severity: finding.Warning, Rule: NotImported, File: a.file, Line: a.line, Object: "Application " + a.name, Field: field, Message: message, Remedy: remedy})
}

// change says what will be different.
func (a *application) change(field, message string) {
	a.findings = append(a.findings, finding.Finding{Severity: finding.Note, Rule: Changes, File: a.file, Line: a.line, Object: "Application " + a.name, Field: field, Message: message})
}

// ours reports whether an address is that of the repository.
func (w *work) ours(url string) bool { return remote.SameRepository(w.RepoURL, url) }

// open is the repository with an address; nil if it is not here.
func (w *work) open(url string) fs.FS {
	if w.ours(url) {
		return w.Repo
	}
	return w.Others[remote.RepositoryName(url)]
}
