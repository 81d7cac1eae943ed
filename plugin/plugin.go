// Package plugin implements Ladder as an Argo CD Config Management Plugin: it
// renders an Application's directory with its parameters and environment to
// manifests.
//
// Generate is the whole pipeline: render the directory, find the references,
// compute the waves, annotate. The command line, "cmp generate" and the sidecar all
// call it with a Request, so all three produce the same bytes.
package plugin

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/remote"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/render"
	"github.com/ladder-cmp/ladder/render/input"
	"github.com/ladder-cmp/ladder/render/random"
	"github.com/ladder-cmp/ladder/render/repeat"
	"github.com/ladder-cmp/ladder/wave"
)

// Name is the plugin's name in Applications.
const Name = "ladder"

// Request contains everything that a rendering depends on.
type Request struct {
	// Repo is the repository, and Dir the directory of the component in it.
	Repo fs.FS
	Dir  string
	// NoRepository means that Repo is a whole file system, because there is no
	// repository.
	NoRepository bool
	// DirName is the name of the component's directory if Dir is the root of Repo and
	// therefore has no name; empty means the name in Dir.
	DirName string
	// Show converts a path in Repo to the path for messages; nil returns it
	// unchanged.
	Show func(path string) string
	// App describes the Application.
	App App
	// Explain is the default of the explain parameter.
	Explain wave.Explain
	// Variables are the variables that Argo CD sets for an Application and that
	// parameters may use; nil means to derive them from App.
	Variables map[string]string
	// Chart is the chart that an Application names instead of a directory of Repo. A component.yaml
	// in Dir is then ignored.
	Chart component.Chart
	// KubeVersion and APIVersions describe the cluster; both may be empty.
	KubeVersion string
	APIVersions []string
	// ArgoCD is the version of Argo CD, unless settings set another one; empty means the one of the
	// knowledge.
	ArgoCD string
	// EarlierAPIVersions are the API versions of the CRDs that earlier steps of the fleet
	// install. Templates of components with capabilities: fleet see them.
	EarlierAPIVersions []string
	// AllowUndeployed allows rendering a component that is not deployed in the environment
	// of the request; otherwise that is an error. Argo CD still needs the manifests of an
	// Application to delete it: those of its PreDelete and PostDelete hooks.
	AllowUndeployed bool
	// Settings are the flags or parameters of the caller. They override
	// component.yaml.
	Settings []Settings
	// OwnSettings means that Settings are those of the user who runs the program, and not of an
	// Application, whose author may be anyone.
	OwnSettings bool
	// Memory caches data between requests; it may be nil.
	Memory *input.Memory
	// Remote fetches remote sources; nil disables fetching.
	Remote remote.Fetcher
	// Random derives generated values. If it is nil, they are random, and WhyRandom is
	// the reason.
	Random    *Random
	WhyRandom random.WhyRandom
	// IgnoreVendored ignores vendored sources, so that all of them are fetched from
	// Remote.
	IgnoreVendored bool
	// Children finds what the Applications of the component need; nil orders them like other
	// objects.
	Children Children
	// Files caches settings of requests with the same Repo and Show; it may be nil.
	Files *Files

	// external is the location of the manifests if they are not in Repo.
	external *externalFiles
}

// App is the Application that a component is rendered for.
type App struct {
	// Name is the Application's name, without the namespace that Argo CD puts
	// before it if the Application is not in Argo CD's namespace.
	Name string
	// Namespace is the destination namespace.
	Namespace string
	// Revision is the commit.
	Revision string
	// RepoURL is the URL of the repository; empty if unknown.
	RepoURL string
}

// Result is a rendered and ordered component.
type Result struct {
	Kind render.Kind
	// Plan is the order with its reasons.
	Plan *wave.Plan
	// Objects are the annotated manifests in apply order.
	Objects []object.Object
	// Expects lists what exists outside of the component, according to its settings.
	Expects []string
	// Findings are problems that did not prevent a result.
	Findings []finding.Finding
	// Sets are the ApplicationSets, if the request expands them.
	Sets []GeneratedSet
	// Base is the knowledge that determined the order, including the component's
	// ladder.yaml files.
	Base *knowledge.Base
	// UsesRevision and UsesRepoURL report whether Revision and RepoURL of the App may have
	// affected the result.
	UsesRevision, UsesRepoURL bool
	// Variables are the variables of the request that parameters use.
	Variables []string
	// Derived reports whether Request.Random affected the result. Renewals are the
	// derived certificates, sorted by renewal.
	Derived  bool
	Renewals []random.Renewal
	// Lookups are the calls of lookup in templates. Each returned nothing.
	Lookups []random.Lookup

	// strict is the parameter of this name.
	strict bool
}

// Refused returns the errors in Findings if the parameter strict is set. The plugin then fails
// with them, since who deploys the component does not see the log of the server.
func (r Result) Refused() error {
	if !r.strict {
		return nil
	}
	return finding.Err(r.Findings)
}

// Manifests returns the text of each manifest.
func (r Result) Manifests() []string {
	all := make([]string, len(r.Objects))
	for i, o := range r.Objects {
		all[i] = o.Text()
	}
	return all
}

// Separator precedes each manifest in a stream.
const Separator = "---\n"

// YAML returns the manifests as one stream.
func (r Result) YAML() string {
	size := 0
	for _, o := range r.Objects {
		comment, manifest := o.Parts()
		size += len(Separator) + len(comment) + len(manifest)
	}
	var b strings.Builder
	b.Grow(size)
	for _, o := range r.Objects {
		comment, manifest := o.Parts()
		b.WriteString(Separator)
		b.WriteString(comment)
		b.WriteString(manifest)
	}
	return b.String()
}

// Generate renders the component of a request and returns its objects with their
// waves. base is the knowledge about kinds, which ladder.yaml files may extend. The
// error joins all findings that prevent a result. With an error, the result has the
// findings up to it, which may explain it.
func Generate(ctx context.Context, req Request, base *knowledge.Base) (Result, error) {
	req, opt, base, err := req.prepare(ctx, base)
	if err != nil {
		return Result{}, err
	}
	rendered, err := req.render(ctx, opt, base)
	if err != nil {
		return Result{Findings: rendered.Findings}, err
	}
	refs, err := opt.refer(rendered, base)
	if err != nil {
		return Result{Findings: rendered.Findings}, err
	}
	children, err := req.follow(ctx, opt, refs, base)
	if err != nil {
		return Result{Findings: rendered.Findings}, err
	}
	rendered.Findings = slices.Concat(rendered.Findings, req.unusedParameters(rendered, opt.crds.mode), opt.fetchFindings(),
		req.ignoredFiles(), refusedSettings(base), children.Findings)
	res, err := opt.order(rendered, children.Graph, base)
	if err == nil {
		var found []finding.Finding
		res.Sets, found, err = req.expand(ctx, opt, res.Plan, base)
		res.Findings = append(res.Findings, found...)
	}
	res.Variables, res.strict = opt.usedVariables, opt.strict
	res.UsesRevision = res.UsesRevision || children.Revision || slices.Contains(opt.usedVariables, Revision)
	res.UsesRepoURL = children.RepoURL || slices.Contains(opt.usedVariables, RepoURL)
	return res, err
}

// Vary finds what makes the component of a request differ between renderings and
// between clusters (see package repeat).
func (req Request) Vary(ctx context.Context, base *knowledge.Base) ([]finding.Finding, error) {
	fsys, dir, opt, err := req.templates(ctx, base)
	if err != nil {
		return nil, err
	}
	return repeat.Vary(ctx, fsys, dir, opt)
}

// Adopt finds the values that templates of the component generate into Secrets, and
// the chart values that replace them (see package repeat). It
// renders with both seeds and compares the results.
func (req Request) Adopt(ctx context.Context, base *knowledge.Base, seeds [2]random.Key) (*repeat.Component, error) {
	fsys, dir, opt, err := req.templates(ctx, base)
	if err != nil {
		return nil, err
	}
	return repeat.Adopt(ctx, fsys, dir, opt, seeds)
}

// templates returns the location of the component's templates, and how to render
// them.
func (req Request) templates(ctx context.Context, base *knowledge.Base) (fs.FS, string, render.Options, error) {
	req, opt, _, err := req.prepare(ctx, base)
	if req.external != nil {
		opt.render.Show = req.external.show
		return req.external.fsys, req.external.dir, opt.render, err
	}
	return req.Repo, req.Dir, opt.render, err
}

// UsesFleetCapabilities reports whether the component uses the API versions of its fleet.
func (req Request) UsesFleetCapabilities(platform component.Platform) bool {
	opt, _, err := req.options(platform)
	return err == nil && opt.capabilities == capabilitiesOfFleet
}

// prepare resolves a request: the location of the manifests, how to render them,
// and the knowledge about their kinds.
func (req Request) prepare(ctx context.Context, base *knowledge.Base) (Request, options, *knowledge.Base, error) {
	base, ladderErr := req.Knowledge(base)
	platform, platformErr := component.PlatformOf(base.Fleet().Node)
	opt, description, err := req.options(platform)
	if err := errors.Join(err, ladderErr, platformErr); err != nil {
		return req, opt, base, err
	}
	req, opt, err = req.locate(ctx, description, opt)
	return req, opt, opt.knowledge(base), err
}

// knowledge returns what is known about the Argo CD that syncs.
func (opt options) knowledge(base *knowledge.Base) *knowledge.Base {
	release, _ := knowledge.ReleaseOf(opt.argocd) // checked when it was set
	return base.For(knowledge.ArgoCD{Release: release})
}

// Annotate orders manifests that another tool rendered. It uses only the settings
// about order and namespace; later ones take precedence. Of the children of an app of apps, it
// knows only charts in registries by their names: those in a repository cannot be rendered here.
func Annotate(objs []object.Object, base *knowledge.Base, children Children, settings ...Settings) (Result, error) {
	var opt options
	for _, s := range settings {
		opt.add(s)
	}
	opt.complete(defaultNamespace)
	base = opt.knowledge(base)
	rendered := render.Result{Objects: objs}
	refs, err := opt.refer(rendered, base)
	if err != nil {
		return Result{}, err
	}
	followed, err := Request{Children: children}.follow(context.Background(), opt, refs, base)
	if err != nil {
		return Result{}, err
	}
	rendered.Findings = append(rendered.Findings, followed.Findings...)
	return opt.order(rendered, followed.Graph, base)
}

// render renders the component of a request, with the requested part of its CRDs.
func (req Request) render(ctx context.Context, opt options, base *knowledge.Base) (render.Result, error) {
	if opt.crds.mode == crds.Include && opt.crds.upgraders == upgradersKeep {
		return req.renderDir(ctx, opt.render)
	}
	var rendered render.Result
	var err error
	if opt.crds.mode == crds.Only {
		var all allCRDs
		if all, err = req.renderCRDs(ctx, opt, base); err == nil {
			err = req.checkRelease(opt, all.objects)
		}
		rendered = all.rendered
		rendered.Objects = all.objects
	} else {
		rendered, err = req.renderOthers(ctx, opt, base)
	}
	// It is unknown which of several renderings may have printed the revision, so assume that
	// templated YAML did.
	rendered.Revision = rendered.Kind == render.Template
	return rendered, err
}

// renderDir renders the directory with the manifests.
func (req Request) renderDir(ctx context.Context, opt render.Options) (render.Result, error) {
	if req.external != nil {
		opt.Show = req.external.show
		res, err := render.Dir(ctx, req.external.fsys, req.external.dir, opt)
		for i, f := range res.Findings {
			res.Findings[i] = req.external.inComponent(f)
		}
		if err == nil || ctx.Err() != nil {
			return res, err
		}
		var all []error
		for _, f := range finding.Of(err) {
			all = append(all, req.external.inComponent(f))
		}
		return res, errors.Join(all...)
	}
	return render.Dir(ctx, req.Repo, req.Dir, opt)
}

// refer finds the references between the selected objects.
func (opt options) refer(rendered render.Result, base *knowledge.Base) (*graph.Graph, error) {
	objs, err := opt.crds.selectObjects(rendered.Objects)
	if err != nil {
		return nil, err
	}
	if opt.tests == testsAsSmoke {
		if objs, err = wave.ConvertTests(objs); err != nil {
			return nil, err
		}
	}
	in := graph.Options{Namespace: opt.render.Namespace, Expects: opt.expects, IsExternal: opt.crds.isExternal()}
	if opt.takesHooks() {
		return opt.takeHooks(rendered, objs, base, in)
	}
	return graph.Build(objs, base, in)
}

// order computes the waves of objects from their references, and annotates them.
func (opt options) order(rendered render.Result, refs *graph.Graph, base *knowledge.Base) (Result, error) {
	plan, err := wave.Assign(refs, base, opt.waves)
	if err != nil {
		return Result{Findings: rendered.Findings}, err
	}
	objs, err := plan.Annotate()
	if err != nil {
		return Result{Findings: rendered.Findings}, err
	}
	if len(objs) == 0 {
		return Result{Findings: rendered.Findings}, opt.crds.errOnlyCRDs()
	}
	// That an object is never applied is graver than what else its annotations say.
	found := append(rendered.Findings, opt.withHelp(rendered, plan, base)...)
	for _, o := range rendered.Objects {
		found = append(found, o.Warnings()...)
	}
	return Result{Kind: rendered.Kind, Plan: plan, Objects: objs, Expects: opt.expects, Base: base,
		UsesRevision: rendered.Revision, Derived: rendered.Derived, Renewals: rendered.Renewals, Lookups: rendered.Lookups,
		Findings: found}, nil
}

// Detect reports whether a directory contains anything that Ladder renders.
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

// show converts a path of the repository for messages.
func (req Request) show(path string) string {
	if req.Show == nil {
		return path
	}
	return req.Show(path)
}
