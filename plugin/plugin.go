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

	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/link/appofapps"
	"github.com/ladder-cmp/ladder/internal/remote"
	"github.com/ladder-cmp/ladder/internal/seed"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/render"
	"github.com/ladder-cmp/ladder/render/adopt"
	"github.com/ladder-cmp/ladder/render/input"
	"github.com/ladder-cmp/ladder/render/random"
	"github.com/ladder-cmp/ladder/render/vary"
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
	// Explain is the parameter of the same name where nobody sets it.
	Explain wave.Explain
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
	Memory *input.Memory
	// Remote fetches what the component names and Repo does not hold; nil means
	// that nothing is fetched.
	Remote remote.Fetcher
	// Random derives what templates generate; nil means that it is new each time, and
	// Without says why.
	Random  *Random
	Without random.Without
	// Unlocked leaves what lies vendored beside the component out of account, so
	// that Remote is asked for all of it.
	Unlocked bool
	// Files are the settings that requests before this one have read, all of them
	// for the same Repo and Show; it may be nil.
	Files *Files

	// from is where the manifests are, if not in Repo.
	from *externalFiles
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
	// Derived reports whether Request.Random made a difference, and Renewals are the
	// certificates that were derived, those that renew first before the others.
	Derived  bool
	Renewals []random.Renewal
	// Lookups are what templates asked the cluster for, of which they saw nothing.
	Lookups []random.Lookup
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
	refs, err := opt.refer(rendered, base)
	if err != nil {
		return Result{}, err
	}
	children, err := appofapps.Follow(ctx, refs, base, req.appOfApps(opt, base))
	if err != nil {
		return Result{}, err
	}
	rendered.Findings = slices.Concat(rendered.Findings, req.unusedParameters(rendered, opt.crds.mode), opt.fetchFindings(), req.ignoredFiles(), children.Findings)
	res, err := opt.order(rendered, children.Graph, base)
	res.Variables = opt.named
	res.Revision = res.Revision || children.Revision || slices.Contains(opt.named, Revision)
	res.RepoURL = children.RepoURL || slices.Contains(opt.named, RepoURL)
	return res, err
}

// Vary finds what makes the component of a request differ from one rendering to the
// next, and from one cluster to another (see package vary).
func (req Request) Vary(ctx context.Context, base *knowledge.Base) ([]finding.Finding, error) {
	fsys, dir, opt, err := req.templates(ctx, base)
	if err != nil {
		return nil, err
	}
	return vary.Find(ctx, fsys, dir, opt)
}

// Adopt finds what the templates of a request's component generate into Secrets, and the
// values that take its place (see package adopt). seeds are thrown away.
func (req Request) Adopt(ctx context.Context, base *knowledge.Base, seeds [2]seed.Key) (*adopt.Component, error) {
	fsys, dir, opt, err := req.templates(ctx, base)
	if err != nil {
		return nil, err
	}
	return adopt.Find(ctx, fsys, dir, opt, seeds)
}

// templates says where those of a component are, and how they are rendered.
func (req Request) templates(ctx context.Context, base *knowledge.Base) (fs.FS, string, render.Options, error) {
	req, opt, _, err := req.prepare(ctx, base)
	if req.from != nil {
		opt.render.Show = req.from.show
		return req.from.fsys, req.from.dir, opt.render, err
	}
	return req.Repo, req.Dir, opt.render, err
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
	req, opt, err = req.locate(ctx, described, opt)
	return req, opt, base, err
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
	children, err := appofapps.Follow(context.Background(), refs, base, Request{}.appOfApps(opt, base))
	if err != nil {
		return Result{}, err
	}
	rendered.Findings = append(rendered.Findings, children.Findings...)
	return opt.order(rendered, children.Graph, base)
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
	return graph.Build(objs, base, graph.Options{Namespace: opt.render.Namespace, Elsewhere: opt.crds.isExternal()})
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
	return Result{Kind: rendered.Kind, Plan: plan, Objects: objs, Base: base, Revision: rendered.Revision, Derived: rendered.Derived, Renewals: rendered.Renewals, Lookups: rendered.Lookups, Findings: append(found, plan.Findings...)}, nil
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

// show names a path of the repository for people.
func (req Request) show(path string) string {
	if req.Show == nil {
		return path
	}
	return req.Show(path)
}
