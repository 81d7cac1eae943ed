package inplace

import (
	"cmp"
	"context"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/ladder-cmp/ladder/argocd"
	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/fleet/appofapps"
	"github.com/ladder-cmp/ladder/fleet/appset"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/remote"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// Input says what to read.
type Input struct {
	// Repo is the repository, and Paths are files and directories in it.
	Repo  fs.FS
	Paths []string
	// NoRepository means that Repo is a whole file system, because there is no repository: then
	// the paths of sources lead nowhere.
	NoRepository bool
	// Objects are Applications and ApplicationSets from elsewhere, such as standard input.
	Objects []object.Object
	// Show returns how messages name a path of the repository; nil keeps the path.
	Show func(path string) string
	// RepoURL is the URL of the repository; empty means the one that most sources name with a
	// path that exists in it.
	RepoURL string
	// Generators are the results of generators that read anything other than the repository.
	Generators appset.Values
	// Render renders Applications, and stores what each contains in its Objects.
	Render func(ctx context.Context, apps []*Deployed) error
}

// Deployed is what an Application of the Tree deploys.
type Deployed struct {
	appofapps.Child
	// Objects are what its sources render to, as far as they do.
	Objects []object.Object
	// IsTemplated means that a chart, a kustomization or jsonnet renders to Objects, so that the
	// files in which they are written are not what Argo CD applies.
	IsTemplated func(o object.Object) bool

	node int
}

// Contents is what was read.
type Contents struct {
	Tree Tree
	// Applications are what the nodes of Applications deploy; nil for ApplicationSets.
	Applications []*Deployed
	// Around are the AppProjects and the Secrets of clusters that were read beside them.
	Around []object.Object
	// RepoURL is the URL of the repository; empty if unknown.
	RepoURL  string
	Findings []finding.Finding
}

// The limits of reading: how deep parents are followed, and how many Applications are read.
const (
	maxDepth = 8
	maxNodes = 5000
)

// reader is the state of Read.
type reader struct {
	Input
	base *knowledge.Base
	Contents
	// next are the Applications to render next.
	next []*Deployed
	// unexpanded are the sets whose Applications are unknown.
	unexpanded []unexpanded
}

// unexpanded is an ApplicationSet with a generator that reads what is not available.
type unexpanded struct {
	fault appset.Fault
	set   object.Object
}

// reportUnexpanded reports ApplicationSets whose Applications are unknown: one finding for each
// kind of generator.
func (r *reader) reportUnexpanded() {
	seen := map[string]bool{}
	for _, first := range r.unexpanded {
		if seen[first.fault.Message] {
			continue
		}
		seen[first.fault.Message] = true
		f := first.fault.Finding(first.set)
		var others []string
		for _, u := range r.unexpanded {
			if u.fault.Message == first.fault.Message && u.set.ID != first.set.ID {
				others = append(others, u.set.ID.String())
			}
		}
		r.Findings = append(r.Findings, f.WithAlso(others...))
	}
}

// Read reads the Applications and ApplicationSets, and who creates them: those of files and
// directories, those that they render to, and those that ApplicationSets generate. The error is
// that of a file that cannot be read, or of the context; an Application that does not render is
// one whose Objects are unknown.
func Read(ctx context.Context, in Input, base *knowledge.Base) (Contents, error) {
	r := &reader{Input: in, base: base, Contents: Contents{RepoURL: in.RepoURL}}
	written, err := collect(in)
	if err != nil {
		return Contents{}, err
	}
	r.Findings, r.Around = written.findings, append(slices.Clone(in.Objects), written.around...)
	r.readAll(append(slices.Clone(in.Objects), written.objects...))
	if len(r.Tree.Nodes)+len(written.units) == 0 {
		return Contents{}, finding.Finding{Severity: finding.Error, Rule: finding.NotFound, File: r.named(),
			Message: "no Application or ApplicationSet found", Remedy: "name a file or directory that contains some, or a directory of components"}
	}
	if err := r.follow(ctx, written.units); err != nil {
		return Contents{}, err
	}
	r.sort()
	r.Tree.setInstallations()
	r.reportUnexpanded()
	r.reportNoRepository()
	return r.Contents, nil
}

// named returns the first of the Paths for messages.
func (r *reader) named() string {
	if len(r.Paths) == 0 {
		return finding.StandardInput
	}
	return r.show(r.Paths[0])
}

// readAll reads Applications and ApplicationSets, without what they render to.
func (r *reader) readAll(objs []object.Object) {
	if r.Contents.RepoURL == "" && r.Repo != nil {
		all := slices.Clone(objs)
		for _, o := range objs { // those of lists show it, too
			if argocd.IsSet(o.ID) {
				none := func(string) fs.FS { return nil }
				all = append(all, appset.Expand(o, appset.Input{Values: r.Generators, Open: none}).Objects()...)
			}
		}
		r.Contents.RepoURL = appset.FindRepository(all, r.Repo)
	}
	for _, o := range objs {
		if isOurs(o) {
			r.add(o, None, Place{File: o.File, Line: o.Line})
		}
	}
	r.followOwners()
}

// reportNoRepository reports sources whose paths lead nowhere, because it is not known where the
// repository begins.
func (r *reader) reportNoRepository() {
	if !r.NoRepository && r.Repo != nil {
		return
	}
	for _, app := range r.Applications {
		if app == nil || !slices.ContainsFunc(app.Sources, func(s appofapps.Source) bool { return s.Chart == "" }) {
			continue
		}
		r.Findings = append(r.Findings, finding.Finding{Severity: finding.Warning, Rule: finding.NotFound, File: app.File, Line: app.Line,
			Object: app.ID.String(), Message: "not in a git repository, so the directories that sources name are not found",
			Remedy: "run it in a checkout of their repository, or run git init in its root"})
		return
	}
}

// follow renders Applications until nothing renders to further ones. The units are directories
// with Applications that are only seen when they are rendered; those that no Application deploys
// are rendered last, for themselves.
func (r *reader) follow(ctx context.Context, units []string) error {
	for depth := 0; depth < maxDepth; depth++ {
		for len(r.next) > 0 && depth < maxDepth {
			apps := r.next
			r.next = nil
			if err := r.Render(ctx, apps); err != nil {
				return err
			}
			for _, app := range apps {
				r.adopt(app)
			}
			depth++
		}
		var unit *Deployed
		if unit, units = r.unclaimed(units); unit == nil {
			return nil
		}
		if err := r.Render(ctx, []*Deployed{unit}); err != nil {
			return err
		}
		depth = 0
		if slices.ContainsFunc(unit.Objects, isOurs) {
			for _, o := range unit.Objects {
				if isOurs(o) {
					r.add(o, None, r.place(unit, o))
				}
			}
			continue
		}
		for _, o := range filesOf(r.Input, unit.Sources[0].Dir) {
			r.add(o, None, Place{File: o.File, Line: o.Line})
		}
	}
	return nil
}

// unclaimed returns the first directory that no Application deploys, as if one did, and those
// after it.
func (r *reader) unclaimed(units []string) (*Deployed, []string) {
	for i, dir := range units {
		if !slices.ContainsFunc(r.Applications, func(app *Deployed) bool {
			return app != nil && slices.ContainsFunc(app.Sources, func(s appofapps.Source) bool {
				return s.IsOurs && (s.Dir == dir || strings.HasPrefix(dir, s.Dir+"/"))
			})
		}) {
			return &Deployed{Child: appofapps.Child{Namespace: "argocd", Cluster: argocd.InCluster,
				Sources: []appofapps.Source{{IsOurs: true, Dir: dir, Place: r.show(dir)}}}, node: None}, units[i+1:]
		}
	}
	return nil, nil
}

func (r *reader) show(name string) string {
	if r.Show == nil {
		return name
	}
	return r.Show(name)
}

// isOurs reports whether an object is an Application or an ApplicationSet.
func isOurs(o object.Object) bool { return argocd.IsApplication(o.ID) || argocd.IsSet(o.ID) }

// add adds an Application, or an ApplicationSet with what it generates, and returns its node.
func (r *reader) add(o object.Object, of int, at Place) int {
	if len(r.Tree.Nodes) >= maxNodes {
		return None
	}
	i := len(r.Tree.Nodes)
	n := Node{Object: o, IsSet: argocd.IsSet(o.ID), Parent: of, Place: at}
	n.Wave = WaveOf(o)
	r.Tree.Nodes, r.Applications = append(r.Tree.Nodes, n), append(r.Applications, nil)
	if n.IsSet {
		r.expand(i)
		return i
	}
	r.read(i)
	return i
}

// read reads the sources of an Application, and renders it next.
func (r *reader) read(i int) {
	o := r.Tree.Nodes[i].Object
	kind, _ := r.base.Kind(o.ID.Group, o.ID.Kind)
	with := appofapps.Reader{RepoURL: r.Contents.RepoURL, Show: r.Show}
	if r.Repo != nil && !r.NoRepository {
		with.HasDir = func(dir string) bool {
			if !fs.ValidPath(dir) {
				return false
			}
			info, err := fs.Stat(r.Repo, dir)
			return err == nil && info.IsDir()
		}
	}
	app := &Deployed{Child: with.Read(o, kind.Deploys), node: i}
	r.Applications[i] = app
	r.next = append(r.next, app)
}

// expand adds the Applications that an ApplicationSet generates.
func (r *reader) expand(i int) {
	o, at := r.Tree.Nodes[i].Object, r.Tree.Nodes[i].Place
	set := appset.Expand(o, appset.Input{Values: r.Generators, Open: func(url string) fs.FS {
		if r.Repo != nil && !r.NoRepository && (url == r.Contents.RepoURL || remote.SameRepository(r.Contents.RepoURL, url)) {
			return r.Repo
		}
		return nil
	}})
	r.Tree.Nodes[i].Steps = set.Steps
	for _, f := range set.Faults {
		if f.NeedsValues {
			r.unexpanded = append(r.unexpanded, unexpanded{f, o})
			continue
		}
		r.Findings = append(r.Findings, f.Finding(o))
	}
	r.Findings = append(r.Findings, set.Unselected...)
	for _, app := range set.Applications {
		place := at
		if app.ReadFrom != "" {
			place = Place{File: r.show(app.ReadFrom), Line: 1}
		}
		at := r.add(app.Object, i, place)
		if at != None {
			r.Tree.Nodes[at].Step = app.Step
		}
	}
}

// adopt makes what an Application renders to its children. Those that were read from their files
// are known already.
func (r *reader) adopt(app *Deployed) {
	for _, o := range app.Objects {
		if !isOurs(o) {
			continue
		}
		if o.ID.Namespace == "" {
			o = withNamespace(o, app.Namespace)
		}
		known := r.known(o, app.node)
		if known == None {
			if !r.isAncestor(o, app.node) {
				r.add(o, app.node, r.place(app, o))
			}
			continue
		}
		n := &r.Tree.Nodes[known]
		n.Parent = app.node
		if n.Object.Same(o) || sameSpec(n.Object, o) {
			n.Object.ID = o.ID
			continue
		}
		n.Place.IsTemplate = app.IsTemplated == nil || app.IsTemplated(o)
		n.Object, n.Wave = o, WaveOf(o)
		r.reread(known)
	}
}

// reread reads an Application or ApplicationSet again that its parent changes.
func (r *reader) reread(i int) {
	if !r.Tree.Nodes[i].IsSet {
		r.read(i)
		return
	}
	for _, child := range r.Tree.Children(i) {
		r.Tree.Nodes[child].Parent = dropped
	}
	r.expand(i)
}

// dropped is the parent of a node that is left out of the result.
const dropped = -2

// known returns the node of an object that nothing creates yet; None if there is none.
func (r *reader) known(o object.Object, by int) int {
	found := None
	for i, n := range r.Tree.Nodes {
		if n.Parent != None || n.IsSet != argocd.IsSet(o.ID) || n.Object.ID.Name != o.ID.Name || slices.Contains(r.Tree.path(by), i) ||
			n.Object.ID.Namespace != "" && n.Object.ID.Namespace != o.ID.Namespace {
			continue
		}
		if n.Object.File == o.File && n.Object.Line == o.Line {
			return i
		}
		if found == None {
			found = i
		}
	}
	return found
}

// isAncestor reports whether an Application renders to itself or to one that creates it: many
// manage themselves.
func (r *reader) isAncestor(o object.Object, of int) bool {
	return slices.ContainsFunc(r.Tree.path(of), func(i int) bool {
		id := r.Tree.Nodes[i].Object.ID
		return id.Kind == o.ID.Kind && id.Name == o.ID.Name && (id.Namespace == "" || id.Namespace == o.ID.Namespace)
	})
}

// place returns where an object is written that an Application renders to.
func (r *reader) place(app *Deployed, o object.Object) Place {
	return Place{File: o.File, Line: o.Line, IsTemplate: app.IsTemplated == nil || app.IsTemplated(o)}
}

// followOwners finds the parents of objects that a cluster printed: Argo CD names the Application
// that it created them for, and an ApplicationSet owns what it generates.
func (r *reader) followOwners() {
	for i := range r.Tree.Nodes {
		n := &r.Tree.Nodes[i]
		if n.Parent != None {
			continue
		}
		for _, owner := range n.Object.Get("metadata", "ownerReferences").Items() {
			if owner.Get("kind").Text() == "ApplicationSet" {
				r.replaceGenerated(i, owner.Get("name").Text())
			}
		}
		tracked, _, _ := strings.Cut(n.Object.Get("metadata", "annotations", "argocd.argoproj.io/tracking-id").Text(), ":")
		if _, name, is := strings.Cut(tracked, "_"); is { // namespace_name of an Application in another namespace
			tracked = name
		}
		if at := r.called(tracked, false); tracked != "" && at != None && !slices.Contains(r.Tree.path(at), i) && n.Parent == None {
			n.Parent = at
		}
	}
}

// replaceGenerated makes an Application of a cluster one that its ApplicationSet generates,
// instead of what the expansion says of it.
func (r *reader) replaceGenerated(i int, set string) {
	at := r.called(set, true)
	if at == None {
		return
	}
	n := &r.Tree.Nodes[i]
	for _, child := range r.Tree.Children(at) {
		if c := &r.Tree.Nodes[child]; c.Object.ID.Name == n.Object.ID.Name {
			n.Step, c.Parent = c.Step, dropped
		}
	}
	n.Parent = at
}

// called returns the node of a name; None if there is none.
func (r *reader) called(name string, isSet bool) int {
	return slices.IndexFunc(r.Tree.Nodes, func(n Node) bool { return n.IsSet == isSet && n.Object.ID.Name == name })
}

// sort puts parents before their children, in the order of reading, and leaves out what was
// dropped.
func (r *reader) sort() {
	var order []int
	var visit func(i int)
	visit = func(i int) {
		order = append(order, i)
		for _, child := range r.Tree.Children(i) {
			visit(child)
		}
	}
	for _, i := range r.Tree.Children(None) {
		visit(i)
	}
	at := map[int]int{None: None}
	for to, from := range order {
		at[from] = to
	}
	nodes, apps := make([]Node, len(order)), make([]*Deployed, len(order))
	for to, from := range order {
		nodes[to], apps[to] = r.Tree.Nodes[from], r.Applications[from]
		nodes[to].Parent = at[nodes[to].Parent]
		if apps[to] != nil {
			apps[to].node = to
		}
	}
	r.Tree.Nodes, r.Applications = nodes, apps
}

// WaveOf returns the sync wave of an object. Argo CD ignores one that is not a number.
func WaveOf(o object.Object) component.Step {
	text := o.Get("metadata", "annotations", object.SyncWave).Text()
	number, err := strconv.Atoi(text)
	return component.Step{Number: number, Text: text, Set: err == nil}
}

// sameSpec reports whether two manifests of an object deploy the same.
func sameSpec(a, b object.Object) bool {
	x, errX := a.Get("spec").YAML()
	y, errY := b.Get("spec").YAML()
	return errX == nil && errY == nil && x == y && WaveOf(a) == WaveOf(b)
}

// withNamespace returns an Application with the namespace that its parent is deployed to.
func withNamespace(o object.Object, namespace string) object.Object {
	o.ID.Namespace = cmp.Or(o.ID.Namespace, namespace)
	return o
}
