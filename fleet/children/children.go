// Package children lets the plugin order the Applications of an app of apps: it renders what they
// deploy and expands ApplicationSets, and package parent decides.
package children

import (
	"context"
	"io/fs"

	"github.com/ladder-cmp/ladder/argocd"
	"github.com/ladder-cmp/ladder/fleet/appofapps"
	"github.com/ladder-cmp/ladder/fleet/appset"
	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/remote"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/plugin"
	"github.com/ladder-cmp/ladder/wave"
)

// Children implements plugin.Children.
type Children struct {
	// Generators holds the results of ApplicationSet generators that read anything other
	// than the repository. If it is nil, ApplicationSets are not expanded, as when Argo CD
	// calls the plugin.
	Generators *appset.Values
}

// Follow implements plugin.Children.
func (c Children) Follow(ctx context.Context, of plugin.Parent, g *graph.Graph, base *knowledge.Base) (plugin.Followed, error) {
	found, err := appofapps.Follow(ctx, g, base, options(of, base))
	return plugin.Followed(found), err
}

// options returns the options to find the children of a component.
func options(of plugin.Parent, base *knowledge.Base) appofapps.Options {
	req := of.Request
	o := appofapps.Options{Name: req.App.Name, Namespace: of.Namespace, Dir: req.Dir, RepoURL: of.RepoURL, Show: req.Show,
		NoRoot: req.NoRepository}
	if req.Repo != nil {
		o.Repository = sources{req, base}
	}
	return o
}

// sources gives package parent access to the children's sources in the repository
// of their parent.
type sources struct {
	parent plugin.Request
	base   *knowledge.Base
}

// HasDir reports whether a directory exists in the repository.
func (s sources) HasDir(dir string) bool {
	if !fs.ValidPath(dir) {
		return false
	}
	info, err := fs.Stat(s.parent.Repo, dir)
	return err == nil && info.IsDir()
}

// Open implements parent.Repository.
func (s sources) Open(app appofapps.Child, repoURL string, source appofapps.Source) appofapps.Source {
	req, err := s.parent.FromSource(app.ID, plugin.App{Name: app.ID.Name, Namespace: app.Namespace, RepoURL: repoURL},
		source.Dir, source.Value, source.Refs)
	if d, err := req.Describe(); err == nil && d.Chart.Remote() && !req.Vendored(d.Chart) {
		source.Registry, source.Chart = d.Chart.RepoURL, d.Chart.Chart
		return source
	}
	source.Err = err
	source.Render = func(ctx context.Context) (appofapps.Rendered, error) {
		r, err := req.Refer(ctx, s.base)
		return appofapps.Rendered(r), err
	}
	return source
}

// Expand implements plugin.Children. It does not change the order: Argo CD calls the plugin
// without what generators find.
func (c Children) Expand(ctx context.Context, parentOf plugin.Parent, plan *wave.Plan,
	base *knowledge.Base) (sets []plugin.GeneratedSet, all []finding.Finding, err error) {
	if c.Generators == nil {
		return nil, nil, nil
	}
	of, req := options(parentOf, base), parentOf.Request
	nodes := plan.Graph.Nodes
	if of.RepoURL == "" {
		var objs []object.Object
		for _, n := range nodes {
			objs = append(objs, n.Object)
		}
		of.RepoURL = appset.FindRepository(objs, req.Repo)
	}
	in := appset.Input{Values: *c.Generators, Open: func(url string) fs.FS {
		if !req.NoRepository && remote.SameRepository(of.RepoURL, url) {
			return req.Repo
		}
		return nil
	}}
	of.Expand = func(o object.Object) []object.Object {
		if !argocd.IsSet(o.ID) {
			return nil
		}
		return appset.Expand(o, in).Objects()
	}
	var generated []appofapps.Set
	for i, n := range nodes {
		if !argocd.IsSet(n.Object.ID) || n.External {
			continue
		}
		expanded := appset.Expand(n.Object, in)
		set := appofapps.Set{Node: i, Applications: expanded.Objects()}
		for _, app := range expanded.Applications {
			if expanded.Steps > 0 {
				set.Steps = append(set.Steps, app.Step)
			}
		}
		generated, sets = append(generated, set), append(sets, plugin.GeneratedSet(set))
		for _, found := range expanded.Unselected {
			found.Object = n.Key.String()
			all = append(all, found)
		}
		for _, f := range expanded.Faults {
			found := f.Finding(n.Object)
			found.Object = n.Key.String()
			all = append(all, found)
		}
	}
	if sets == nil {
		return nil, nil, nil
	}
	found, err := appofapps.CheckSets(ctx, plan, generated, base, of)
	return sets, append(all, found...), err
}
