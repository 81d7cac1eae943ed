// Package plugin answers what Argo CD asks of a Config Management Plugin:
// given an Application's directory, its parameters and its environment, which
// manifests?
//
// Generate is the sentence of the tool: render the directory, find the
// references, compute the waves, annotate. The command line, "cmp generate"
// and the sidecar all call it with a Request, which is why all three give the
// same bytes.
package plugin

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/finding"
	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/remote"
	"github.com/ladder-cmp/ladder/render"
	"github.com/ladder-cmp/ladder/wave"
)

// Name is the plugin's name, by which Applications ask for it.
const Name = "ladder"

// Request is everything that a rendering depends on.
type Request struct {
	// Repo is the repository, and Dir the directory of the component in it.
	Repo fs.FS
	Dir  string
	// NoRepository means that Repo is all of a file system, for want of one.
	NoRepository bool
	// DirName is what the directory is called outside of Repo, of which it may
	// be the root; empty means as in Dir.
	DirName string
	// Show returns how messages are to name a file or directory of Repo; nil
	// means by its path there.
	Show func(path string) string
	// App is what is known of the Application.
	App App
	// Variables are those that Argo CD sets for an Application, which parameters may
	// name; nil for what App says of them.
	Variables map[string]string
	// KubeVersion and APIVersions describe the cluster; both may be empty.
	KubeVersion string
	APIVersions []string
	// Earlier are API versions that are installed before the component, for one
	// that says capabilities: fleet.
	Earlier []string
	// Settings are what the caller asks for: flags or parameters. They win
	// over those in the component's component.yaml.
	Settings []Settings
	// Memory is what requests before this one have left; it may be nil.
	Memory *render.Memory
	// Remote fetches what the component names and Repo does not hold; nil means
	// that nothing is fetched.
	Remote remote.Fetcher
	// Unlocked leaves what lies vendored beside the component out of account, so
	// that Remote is asked for all of it.
	Unlocked bool
	// Files are the settings that requests before this one have read, all of them
	// for the same Repo and Show; it may be nil.
	Files *Files

	// from is where the manifests are, if not in Repo.
	from *elsewhere
}

// App is the Application that a component is rendered for.
type App struct {
	// Name is the Application's name without the namespace that Argo CD puts
	// before it when the Application lives outside of its own namespace.
	Name string
	// Namespace is the destination.
	Namespace string
	// Revision is the commit.
	Revision string
	// RepoURL is the address of the repository; empty where that is not known.
	RepoURL string
}

// Result is a component, rendered and in order.
type Result struct {
	Kind render.Kind
	// Plan is the order and its reasons.
	Plan *wave.Plan
	// Objects are the annotated manifests in the order in which Argo CD
	// applies them.
	Objects []object.Object
	// Findings are faults that left a result possible.
	Findings []finding.Finding
	// Base is the knowledge that the order follows from, with what the
	// component's ladder.yaml files say.
	Base *knowledge.Base
	// Revision and RepoURL report whether those of the App may have made a
	// difference.
	Revision, RepoURL bool
	// Variables are those of the request that parameters name.
	Variables []string
}

// Manifests returns the text of each manifest.
func (r Result) Manifests() []string {
	all := make([]string, len(r.Objects))
	for i, o := range r.Objects {
		all[i] = o.Text()
	}
	return all
}

// Separator stands before each manifest in a stream of them.
const Separator = "---\n"

// YAML returns the manifests as one stream.
func (r Result) YAML() string {
	size := 0
	for _, o := range r.Objects {
		size += len(Separator) + len(o.Text())
	}
	var b strings.Builder
	b.Grow(size)
	for _, o := range r.Objects {
		b.WriteString(Separator)
		b.WriteString(o.Text())
	}
	return b.String()
}

// Generate renders the component of a request and returns its objects, each
// with its wave. base is what is known about kinds, to which files called
// ladder.yaml may add. The error joins every fault of the input that was found.
func Generate(ctx context.Context, req Request, base *knowledge.Base) (Result, error) {
	req, opt, base, err := req.prepare(ctx, base)
	if err != nil {
		return Result{}, err
	}
	rendered, err := req.render(ctx, opt, base)
	if err != nil {
		return Result{}, err
	}
	rendered.Findings = append(append(rendered.Findings, req.useless(rendered, opt.crds.mode)...), opt.came()...)
	rendered.Findings = append(rendered.Findings, req.beside()...)
	refs, err := opt.refer(rendered, base)
	if err != nil {
		return Result{}, err
	}
	children, err := req.follow(ctx, refs, opt, base)
	if err != nil {
		return Result{}, err
	}
	rendered.Findings = append(rendered.Findings, children.findings...)
	res, err := opt.order(rendered, refs, base)
	res.Variables = opt.named
	res.Revision = res.Revision || children.revision || slices.Contains(opt.named, Revision)
	res.RepoURL = children.repoURL || slices.Contains(opt.named, RepoURL)
	return res, err
}

// Vary finds what makes the component of a request come out otherwise from one
// rendering to the next, and from one cluster to another (see render.Vary).
func (req Request) Vary(ctx context.Context, base *knowledge.Base) ([]finding.Finding, error) {
	req, opt, _, err := req.prepare(ctx, base)
	if err != nil {
		return nil, err
	}
	fsys, dir := req.Repo, req.Dir
	if req.from != nil {
		fsys, dir, opt.render.Show = req.from.fsys, req.from.dir, req.from.show
	}
	return render.Vary(ctx, fsys, dir, opt.render)
}

// AsksFleet reports whether the component takes the API versions of its fleet.
func (req Request) AsksFleet() bool {
	opt, _, err := req.options()
	return err == nil && opt.capabilities == CapabilitiesOfFleet
}

// prepare finds out what a request asks for: where the manifests are, how to
// render them, and what is known about their kinds.
func (req Request) prepare(ctx context.Context, base *knowledge.Base) (Request, options, *knowledge.Base, error) {
	opt, described, err := req.options()
	base, unknown := req.Knowledge(base)
	if err := errors.Join(err, unknown); err != nil {
		return req, opt, base, err
	}
	req, err = req.located(ctx, described, &opt)
	return req, opt, base, err
}

// useless reports what was asked for and means nothing for the kind of
// component: only templates see it. Settings of component.yaml are not looked
// at, since the file describes the component to others, too.
func (req Request) useless(rendered render.Result, mode crds.Mode) []finding.Finding {
	prunes := false
	var found []finding.Finding
	for _, s := range req.Settings {
		prunes = prunes || s.PruneCRDs != nil
		said := s.said()
		for _, p := range parameters {
			if !slices.Contains(said, p.Name) || p.means(rendered) {
				continue
			}
			message := "it changes nothing, since there are no templates to see it"
			switch {
			case !slices.Contains(p.Kinds, render.Helm):
				message = "it changes nothing, since it is for " + p.Kinds[0].Article() + ", and this is " + rendered.Kind.Article()
			case rendered.Inflated:
				message = "it changes nothing, since the charts of a kustomization have their own"
			}
			found = append(found, finding.Finding{Severity: finding.Warning, Rule: "useless-parameter", Field: "parameter " + p.Name,
				Message: message, Remedy: "drop it, or check that this is the right directory"})
		}
	}
	if prunes && mode != crds.Only {
		found = append(found, finding.Finding{Severity: finding.Warning, Rule: "useless-parameter", Field: "parameter crds-prune",
			Message: "it changes nothing, since it is about definitions that are lifted out", Remedy: "drop it, or set crds: only"})
	}
	return found
}

// means reports whether a parameter means something to what was rendered. The
// charts of kustomizations see the cluster, and have names of their own. The
// kustomizations of a tree are edited as one alone is.
func (p Parameter) means(rendered render.Result) bool {
	of := func(kinds ...render.Kind) bool {
		return slices.ContainsFunc(kinds, func(k render.Kind) bool { return slices.Contains(p.Kinds, k) })
	}
	switch {
	case p.Kinds == nil || of(rendered.Kind):
		return true
	case rendered.Kind == render.HelmKustomize:
		return of(render.Helm, render.Kustomize)
	case rendered.Kind == render.Tree && rendered.Edited && of(render.Kustomize):
		return true
	case rendered.Kind == render.Kustomize:
		return rendered.Inflated && (p.Name == "kube-version" || p.Name == "api-versions")
	}
	return rendered.Inflated && of(render.Helm)
}

// said names the parameters that the settings set, also those that were set
// otherwise than by Parameter.Set.
func (s Settings) said() []string {
	all := slices.Clone(s.given)
	for name, set := range map[string]bool{"name": s.Name != "", "kube-version": s.KubeVersion != "", "api-versions": len(s.APIVersions) > 0, "skip-tests": s.SkipTests != nil} {
		if set {
			all = append(all, name)
		}
	}
	return all
}

// Annotate orders manifests that somebody else rendered. Of the settings only
// those count that are about order, and the namespace; later ones win.
func Annotate(objs []object.Object, base *knowledge.Base, settings ...Settings) (Result, error) {
	var opt options
	for _, s := range settings {
		opt.add(s)
	}
	opt.complete(defaultNamespace)
	rendered := render.Result{Objects: objs}
	refs, err := opt.refer(rendered, base)
	if err != nil {
		return Result{}, err
	}
	// What children hold that lies in a repository is not there to be rendered;
	// charts in registries are known by their names.
	children, err := Request{}.follow(context.Background(), refs, opt, base)
	if err != nil {
		return Result{}, err
	}
	rendered.Findings = append(rendered.Findings, children.findings...)
	return opt.order(rendered, refs, base)
}

// render renders the component of a request: of its definitions those that are
// wanted.
func (req Request) render(ctx context.Context, opt options, base *knowledge.Base) (render.Result, error) {
	if opt.crds.mode == crds.Include && opt.crds.upgraders == upgradersLeft {
		return req.renderDir(ctx, opt.render)
	}
	part, err := req.lift(ctx, opt, base)
	if err != nil {
		return render.Result{}, err
	}
	// What was rendered to find the definitions is forgotten by now.
	part.rendered.Revision = part.rendered.Kind == render.Template
	if opt.crds.mode == crds.Only {
		part.rendered.Objects = part.definitions
		err = req.checkRelease(opt, part.definitions)
	}
	return part.rendered, err
}

// refer finds the references between the objects that are wanted.
func (opt options) refer(rendered render.Result, base *knowledge.Base) (*graph.Graph, error) {
	objs, err := opt.crds.wanted(rendered.Objects)
	if err != nil {
		return nil, err
	}
	if opt.tests == testsAsSmoke {
		if objs, err = wave.RunTests(objs); err != nil {
			return nil, err
		}
	}
	return graph.Build(objs, base, graph.Options{Namespace: opt.render.Namespace, Elsewhere: opt.crds.elsewhere()})
}

// order computes the waves of objects from their references, and annotates them.
func (opt options) order(rendered render.Result, refs *graph.Graph, base *knowledge.Base) (Result, error) {
	plan, err := wave.Assign(refs, base, opt.waves)
	if err != nil {
		return Result{}, err
	}
	objs, err := plan.Annotate()
	if err != nil {
		return Result{}, err
	}
	if len(objs) == 0 {
		return Result{}, opt.crds.nothingLeft()
	}
	found := rendered.Findings
	for _, o := range rendered.Objects {
		found = append(found, o.Doubts()...)
	}
	return Result{Kind: rendered.Kind, Plan: plan, Objects: objs, Base: base, Revision: rendered.Revision, Findings: append(found, plan.Findings...)}, nil
}

// options are the settings that hold for a request.
type options struct {
	render render.Options
	waves  wave.Options
	tests  string
	crds   lifting
	// fetched is what came from elsewhere; nil if nothing can.
	fetched *remote.Recorder
	// fillAnnotations puts variables into common annotations, too; named are the
	// variables that parameters name.
	fillAnnotations bool
	// capabilities says which API versions templates see.
	capabilities string
	named        []string
}

// options puts together what is said about a rendering, in this order of
// precedence from low to high: defaults, the cluster, component.yaml, the
// Application, the settings of the request. The Application comes after
// component.yaml because several may deploy the same component.
func (req Request) options() (options, component.Description, error) {
	own, described, err := req.componentSettings()
	if err = errors.Join(err, req.misnamed(own.Name, described)); err != nil {
		return options{}, described, err
	}
	opt := options{render: render.Options{Show: req.Show, KubeVersion: req.KubeVersion, Memory: req.Memory}}
	if opt.fetched, err = req.sources(); err != nil {
		return options{}, described, err
	}
	if opt.fetched != nil {
		opt.render.Remote = opt.fetched
	}
	app := Settings{Name: req.App.Name, Namespace: req.App.Namespace, Revision: req.App.Revision}
	for _, s := range append([]Settings{own, app}, req.Settings...) {
		opt.add(s)
	}
	name := req.DirName
	if name == "" {
		name = path.Base(req.Dir)
	}
	opt.complete(name)
	opt.crds.dir = req.show(req.Dir)
	switch opt.capabilities {
	case "", capabilitiesOfCluster:
		opt.render.APIVersions = append(slices.Clone(req.APIVersions), opt.render.APIVersions...)
	case CapabilitiesOfFleet:
		opt.render.APIVersions = append(slices.Clone(req.Earlier), opt.render.APIVersions...)
	}
	opt.render.Pinned = opt.capabilities != "" && opt.capabilities != capabilitiesOfCluster
	opt.substitute(req.variables())
	return opt, described, nil
}

// complete sets what nobody said.
func (opt *options) complete(name string) {
	if opt.render.Name == "" {
		opt.render.Name = name
	}
	if opt.render.Namespace == "" {
		opt.render.Namespace = defaultNamespace
	}
	if opt.crds.mode == "" {
		opt.crds.mode = crds.Include
	}
	if opt.crds.upgraders == "" {
		opt.crds.upgraders = upgradersLeft
	}
}

// defaultNamespace is where kubectl and Helm go when nobody says.
const defaultNamespace = "default"

// add lays settings over those that are there.
func (opt *options) add(s Settings) {
	override((*string)(&opt.render.Kind), s.Renderer)
	override(&opt.render.Name, s.Name)
	override(&opt.render.Namespace, s.Namespace)
	override(&opt.render.Revision, s.Revision)
	override(&opt.render.KubeVersion, s.KubeVersion)
	override(&opt.waves.Waves, s.Order.Waves)
	override(&opt.waves.Author, s.Order.Author)
	override(&opt.waves.Jobs, s.Order.Jobs)
	override(&opt.tests, s.Tests)
	override(&opt.crds.mode, s.CRDs)
	override(&opt.crds.upgraders, s.Upgraders)
	if s.PruneCRDs != nil {
		opt.crds.prune = *s.PruneCRDs
	}
	opt.render.APIVersions = append(opt.render.APIVersions, s.APIVersions...)
	if s.SkipTests != nil {
		opt.render.SkipTests = *s.SkipTests
	}
	if !s.Values.Empty() {
		opt.render.Values = append(opt.render.Values, s.Values)
	}
	for _, say := range s.native {
		say(opt)
	}
}

func override[T ~string](to *T, with T) {
	if with != "" {
		*to = with
	}
}

// Detect reports whether there is anything in a directory that Ladder renders.
func Detect(repo fs.FS, dir string) (bool, error) {
	if info, err := fs.Stat(repo, path.Clean(dir)); err != nil || !info.IsDir() {
		return false, err
	}
	if d, err := (Request{Repo: repo, Dir: path.Clean(dir)}).Describe(); err == nil && (d.Chart.Path != "" || d.Chart.Remote()) {
		return true, nil
	}
	kind, err := render.Detect(repo, path.Clean(dir))
	return kind != "", err
}

// values lets values name files relative to the component's directory. A
// leading slash means the root of the repository, as in the valueFiles of an
// Application.
func (req Request) values() render.Values {
	locate := func(name string) string {
		if strings.HasPrefix(name, "/") {
			return path.Clean(strings.TrimLeft(name, "/"))
		}
		return path.Join(req.Dir, name)
	}
	read := func(name string) ([]byte, error) {
		if strings.Contains(name, "://") {
			return nil, finding.Finding{Severity: finding.Error, Rule: "no-values-file", File: finding.WithoutCredentials(name),
				Message: "values files are not fetched", Remedy: "put the file into the repository, and name it there"}
		}
		p := locate(name)
		if !fs.ValidPath(p) {
			return nil, finding.Finding{Severity: finding.Error, Rule: "no-values-file", File: name,
				Message: "the path leaves the repository", Remedy: "name a file inside the repository, relative to " + req.show(req.Dir)}
		}
		return fs.ReadFile(req.Repo, p)
	}
	glob := func(pattern string) ([]string, error) {
		p := locate(pattern)
		if !fs.ValidPath(p) {
			return nil, nil
		}
		found, err := doublestar.Glob(req.Repo, p, doublestar.WithFilesOnly())
		for i := range found {
			found[i] = "/" + found[i]
		}
		return found, err
	}
	return render.Values{Read: read, Glob: glob, Path: func(name string) string { return req.show(locate(name)) }}
}

// show names a path of the repository for people.
func (req Request) show(path string) string {
	if req.Show == nil {
		return path
	}
	return req.Show(path)
}
