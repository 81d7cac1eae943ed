package fleet

import (
	"cmp"
	"context"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/ladder-cmp/ladder/argocd"
	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/fleet/appofapps"
	"github.com/ladder-cmp/ladder/fleet/inplace"
	"github.com/ladder-cmp/ladder/fleet/profile"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/remote"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/plugin"
	"github.com/ladder-cmp/ladder/render"
	"github.com/ladder-cmp/ladder/render/input"
	"github.com/ladder-cmp/ladder/wave"
)

// InPlace reports whether the fleet was read from Applications, which have no component.yaml.
func (f *Fleet) InPlace() bool { return f.Tree != nil }

// loadInPlace reads a fleet from Applications and ApplicationSets, and renders what they deploy.
func loadInPlace(ctx context.Context, src Source, base *knowledge.Base) (*Fleet, error) {
	src.files, src.shared = &plugin.Files{}, &object.Sharing{}
	dir := "."
	if len(src.Dirs) > 0 {
		dir = src.top()
		if info, err := fs.Stat(src.Repo, dir); err == nil && !info.IsDir() {
			dir = path.Dir(dir)
		}
	}
	base = profile.Reading(base)
	base, err := (plugin.Request{Repo: src.Repo, Dir: dir, Show: src.Show, Files: src.files}).Knowledge(base, dir)
	if err != nil {
		return nil, err
	}
	f := &Fleet{Dir: dir, Settings: profile.In(base), Dirs: src.Dirs, Base: base, Profile: inPlaceProfile()}
	f.Settings.Environments, f.Settings.Server = nil, "" // Applications say where they are deployed
	r := &sourceRenderer{src: src, base: base, dir: dir, memory: input.NewMemory(renderMemory).Sharing(src.shared),
		all: map[*inplace.Deployed]*Application{}}
	in := inplace.Input{Repo: src.Repo, Paths: src.Dirs, NoRepository: src.NoRepository, Objects: src.Manifests, Show: src.Show,
		RepoURL: f.Settings.RepoURL, Generators: src.Generators, Render: r.render}
	if src.SkipRendering {
		in.Render = func(context.Context, []*inplace.Deployed) error { return nil }
	}
	contents, err := inplace.Read(ctx, in, base)
	if err != nil {
		return nil, err
	}
	f.Tree, f.Around = &contents.Tree, contents.Around
	f.Settings.RepoURL = contents.RepoURL
	f.addApplications(contents, r.all)
	f.guess()
	if err := f.link(); err != nil {
		return nil, err
	}
	f.dropSatisfied()
	f.Reading = contents.Findings
	f.Findings = append(slices.Clone(f.Reading), FindingsOf(f.Applications)...)
	return f, nil
}

// inPlaceProfile describes the order that Applications have: nothing reserves a step.
func inPlaceProfile() profile.Profile {
	return profile.Profile{Name: "applications", Why: "the order that the owners of the Applications wrote", Digits: 1, Key: "wave",
		Style: profile.Waves}
}

// addApplications adds the Applications of the tree, in their order.
func (f *Fleet) addApplications(contents inplace.Contents, rendered map[*inplace.Deployed]*Application) {
	ranks := contents.Tree.Ranks()
	names := map[string]int{}
	for _, n := range contents.Tree.Nodes {
		if !n.IsSet {
			names[n.Object.ID.Name]++
		}
	}
	for i, n := range contents.Tree.Nodes {
		if n.IsSet {
			continue
		}
		read := contents.Applications[i]
		app := rendered[read]
		if app == nil {
			app = &Application{}
		}
		app.Component = componentOf(read, n, names[n.Object.ID.Name] > 1)
		app.Name, app.Namespace, app.Node = app.Component.Name, read.Namespace, i
		app.Step = component.Step{Number: ranks[i].Number, Text: ranks[i].Text, Set: true}
		f.Components, f.Applications = append(f.Components, app.Component), append(f.Applications, app)
	}
	slices.SortStableFunc(f.Applications, func(x, y *Application) int {
		return cmp.Or(CompareSteps(x.Step, y.Step), cmp.Compare(x.Name, y.Name))
	})
	slices.SortStableFunc(f.Components, func(x, y *Component) int { return cmp.Or(cmp.Compare(x.Dir, y.Dir), cmp.Compare(x.Name, y.Name)) })
}

// componentOf describes an Application as if a component.yaml did.
func componentOf(app *inplace.Deployed, n inplace.Node, isAmbiguous bool) *Component {
	c := &Component{File: n.Place.File, At: n.Place.Line}
	c.Name, c.Namespace, c.Server = n.Object.ID.Name, app.Namespace, app.Cluster
	if isAmbiguous {
		c.Name = cmp.Or(strings.TrimSuffix(n.Installation, path.Ext(n.Installation)), n.Object.ID.Namespace) + "/" + c.Name
	}
	spec := n.Object.Get("spec")
	c.Project = spec.Get("project").Text()
	c.Labels, c.Annotations = textsOf(n.Object, "labels"), textsOf(n.Object, "annotations")
	for _, o := range spec.Get("syncPolicy", "syncOptions").Items() {
		c.SyncOptions = append(c.SyncOptions, o.Text())
	}
	c.Dir = path.Dir(n.Place.File)
	for _, s := range app.Sources {
		if s.IsOurs {
			c.Dir = s.Dir
			break
		}
	}
	return c
}

func textsOf(o object.Object, key string) map[string]string {
	all := map[string]string{}
	for _, field := range o.Get("metadata", key).Fields() {
		all[field.Key] = field.Value.Text()
	}
	return all
}

// Line returns the line of a key in component.yaml, or that of an Application in its file.
func (c *Component) Line(key string) int {
	if c.At > 0 {
		return c.At
	}
	return c.Description.Line(key)
}

// sourceRenderer renders the sources of Applications as Argo CD does, as far as they are available.
type sourceRenderer struct {
	src    Source
	base   *knowledge.Base
	dir    string
	memory *input.Memory

	mu   sync.Mutex
	all  map[*inplace.Deployed]*Application
	done int
}

// render implements inplace.Input.
func (r *sourceRenderer) render(ctx context.Context, apps []*inplace.Deployed) error {
	of := r.done + len(apps)
	each := make([]*Application, len(apps))
	concurrently(ctx, cmp.Or(r.src.Parallel, parallelism()), len(apps), func(i int) {
		each[i] = r.renderOne(ctx, apps[i])
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.done++; r.src.Progress != nil {
			r.src.Progress(r.done, of, apps[i].ID.Name)
		}
	})
	for i, app := range apps {
		r.all[app] = each[i]
	}
	return ctx.Err()
}

// renderOne renders an Application: the objects of all of its sources.
func (r *sourceRenderer) renderOne(ctx context.Context, read *inplace.Deployed) *Application {
	app := &Application{}
	if ctx.Err() != nil {
		return app
	}
	plain := map[string]bool{}
	for _, s := range read.Sources {
		res, missing, err := r.renderSource(ctx, read, s)
		if missing != nil {
			app.addMissing(r.base, *missing)
			app.ValueNames = append(app.ValueNames, r.valueNames(read, s)...)
		}
		if err != nil {
			app.Failed = true
			app.Findings = append(app.Findings, r.located(condensed(finding.Of(err)), read)...)
		}
		if res.Plan == nil {
			continue
		}
		app.takeMore(res)
		for _, o := range res.Objects {
			read.Objects = append(read.Objects, o)
			plain[o.ID.String()] = res.Kind == render.Plain && o.Line > 0
			if !argocd.IsApplication(o.ID) && !argocd.IsSet(o.ID) {
				app.Objects = append(app.Objects, o)
			}
		}
		if r.src.Rendered != nil {
			r.mu.Lock()
			r.src.Rendered(app, res)
			r.mu.Unlock()
		}
	}
	if len(app.MissingSources) > 0 { // what seems to be missing, or to need no wait, may be there
		app.Findings = slices.DeleteFunc(app.Findings,
			func(found finding.Finding) bool {
				return found.Missing != "" || found.Rule == wave.GateWithoutDependent
			})
	}
	read.IsTemplated = func(o object.Object) bool { return !plain[o.ID.String()] }
	app.IsChartMissing = len(app.MissingSources) > 0 && len(app.Objects) == 0 && !app.Failed
	return app
}

// valueNames returns what the values of a source name that is not rendered.
func (r *sourceRenderer) valueNames(app *inplace.Deployed, s appofapps.Source) []ValueName {
	return namesInSource(s, app.File, app.Line, func(name string) ([]byte, string, error) {
		text, err := fs.ReadFile(r.src.Repo, name)
		if r.src.Show != nil {
			name = r.src.Show(name)
		}
		return text, name, err
	})
}

// takeMore adds the rendering of a source, apart from its objects.
func (a *Application) takeMore(res plugin.Result) {
	a.Waves, a.Expects = max(a.Waves, res.Plan.Waves()), append(a.Expects, res.Expects...)
	a.Findings = append(a.Findings, slices.DeleteFunc(slices.Clone(res.Findings), func(found finding.Finding) bool {
		ofApplication := strings.HasPrefix(found.Object, "Application") // the tree says what waits for it
		return found.Rule == knowledge.RefusedRule || found.Rule == wave.GateWithoutDependent && ofApplication
	})...)
	if rung, why := rungOf(res.Plan); rung != "" && (a.Rung == "" || wave.ComparePurpose(rung, a.Rung) < 0) {
		a.Rung, a.RungWhy = rung, why
	}
}

// addMissing records a source that is not available.
func (a *Application) addMissing(base *knowledge.Base, c MissingSource) {
	if c.Plugin != "" {
		a.MissingSources = append(a.MissingSources, c)
		return
	}
	a.addMissingSource(base, c.Ref)
}

// renderSource renders a source, or returns what is missing.
func (r *sourceRenderer) renderSource(ctx context.Context, app *inplace.Deployed, s appofapps.Source) (plugin.Result,
	*MissingSource, error) {
	if s.Err != nil {
		return r.withoutDirectory(s)
	}
	config := s.Value.Get("plugin")
	if name := config.Get("name").Text(); config.Exists() && name != plugin.Name && !strings.HasPrefix(name, plugin.Name+"-") {
		missing := &MissingSource{Plugin: cmp.Or(name, "without a name")}
		if !s.IsOurs {
			return plugin.Result{}, missing, nil
		}
		res, rest, err := r.generate(ctx, app, s)
		if rest != nil {
			return res, rest, nil
		}
		missing.IsApproximate = err == nil && res.Plan != nil
		return res, missing, nil // what does not render without the plugin may with it
	}
	return r.generate(ctx, app, s)
}

// defaultBranches are the revisions that the files on disk most likely are.
var defaultBranches = []string{"", "HEAD", "main", "master"}

// withoutDirectory returns what a source is whose directory is not in the repository: wrong, or of
// another revision.
func (r *sourceRenderer) withoutDirectory(s appofapps.Source) (plugin.Result, *MissingSource, error) {
	if revision := s.Value.Get("targetRevision").Text(); !slices.Contains(defaultBranches, revision) {
		ref := remote.Ref{Kind: remote.Repository, URL: s.Value.Get("repoURL").Text(), Version: revision}
		return plugin.Result{}, &MissingSource{Ref: ref}, nil
	}
	return plugin.Result{}, nil, finding.Finding{Severity: finding.Error, Rule: finding.NotFound, Field: "path",
		Message: "directory " + s.Place + " not found in the repository, so Argo CD cannot render the Application",
		Remedy:  "correct the path"}
}

// generate renders a source in the repository, or a chart. Other plugins are ignored.
func (r *sourceRenderer) generate(ctx context.Context, app *inplace.Deployed, s appofapps.Source) (plugin.Result, *MissingSource, error) {
	byLadder := strings.HasPrefix(s.Value.Get("plugin", "name").Text(), plugin.Name)
	top := plugin.Request{Repo: r.src.Repo, NoRepository: r.src.NoRepository, Show: r.src.Show, KubeVersion: r.src.KubeVersion,
		APIVersions: r.src.APIVersions, ArgoCD: r.src.ArgoCD, Memory: r.memory, Remote: r.src.Remote, Files: r.src.files}
	to := plugin.App{Name: app.ID.Name, Namespace: app.Namespace}
	var req plugin.Request
	var err error
	if s.IsOurs {
		req, err = top.FromSource(app.ID, to, s.Dir, s.Value, s.Refs)
	} else {
		req, err = top.FromChart(app.ID, to, r.dir, s.Value, s.Refs)
	}
	if err != nil {
		return plugin.Result{}, nil, err
	}
	req.NoRepository, req.ArgoCD, req.APIVersions = top.NoRepository, top.ArgoCD, top.APIVersions
	req.Random = r.src.Random
	if !byLadder {
		req.Settings = append([]plugin.Settings{plugin.AsBuiltIn()}, req.Settings...)
	}
	res, err := plugin.Generate(ctx, req, r.base)
	switch faults := finding.Of(err); {
	case err == nil:
		return res, nil, nil
	case !s.IsOurs && isChartMissing(err):
		return plugin.Result{}, &MissingSource{Ref: req.Chart.Ref()}, nil
	case len(faults) == 1 && faults[0].Rule == render.Empty:
		return plugin.Result{}, nil, nil // Argo CD syncs nothing, too
	}
	sources := &emptySources{fetcher: req.Remote}
	rest, absent, restErr := sources.render(ctx, req, r.base, err)
	switch {
	case len(absent) > 0 && restErr == nil:
		return rest, &MissingSource{Ref: absent[0]}, nil // it says no more of the others
	case len(sources.repositories) > 0:
		return plugin.Result{}, &MissingSource{Ref: sources.repositories[0]}, nil
	case len(absent) > 0:
		return rest, &MissingSource{Ref: absent[0]}, restErr
	}
	return plugin.Result{Findings: res.Findings}, nil, err
}

// located returns findings about a chart of an Application at the place of the Application.
func (r *sourceRenderer) located(all []finding.Finding, app *inplace.Deployed) []finding.Finding {
	none := path.Join(r.dir, component.File)
	if r.src.Show != nil {
		none = r.src.Show(none)
	}
	for i := range all {
		if all[i].File == none || all[i].File == "" {
			all[i].File, all[i].Line = app.File, app.Line
			all[i].Object = cmp.Or(all[i].Object, app.ID.String())
		}
	}
	return all
}
