// Package appofapps orders the Applications of an app of apps.
//
// An app of apps renders to Applications, its children. Their dependencies are in
// the manifests that they render to. So children in the same repository are
// rendered, too; for charts in registries the knowledge contains what is needed.
// The results are references between the Applications, from which waves are
// computed like from all others.
//
// The package is pure: it renders through [Repository].
package appofapps

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/ladder-cmp/ladder/argocd"
	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/wave"
)

// The limits of rendering: the depth of nested children, and the number of sources
// for an app of apps.
const (
	maxDepth     = 4
	maxRendered  = 1000
	maxMentioned = 10
)

// Options describe an app of apps.
type Options struct {
	// Name and Namespace are those of its own Application, and Dir is its directory
	// in the repository.
	Name, Namespace, Dir string
	// RepoURL is the URL of the repository; empty if unknown, as on a laptop.
	RepoURL string
	// Repository is the available repository; nil if there is none.
	Repository Repository
	// NoRoot means that nothing says where the repository begins: at a directory above Dir.
	NoRoot bool
	// Expand returns the Applications of an ApplicationSet in a child; nil ignores
	// them.
	Expand func(set object.Object) []object.Object
	// Show converts a directory for messages; nil leaves it unchanged.
	Show func(dir string) string
}

func (o Options) show(dir string) string {
	if o.Show == nil {
		return dir
	}
	return o.Show(dir)
}

// Result is a graph with the dependencies between its Applications.
type Result struct {
	Graph    *graph.Graph
	Findings []finding.Finding
	// Revision and RepoURL report whether those of the Application may have
	// affected the result.
	Revision, RepoURL bool
}

// follower is the state of Follow.
type follower struct {
	opt     Options
	base    *knowledge.Base
	repoURL string
	// root is the directory that the paths of sources begin at.
	root string
	// graph is that of the parent, and nodes are the nodes of its Applications.
	graph    *graph.Graph
	nodes    []int
	children []Child
	// rendered are the rendered sources, by key.
	rendered map[string]*renderedSource
}

// renderedSource is a rendered source of a child.
type renderedSource struct {
	source Source
	objs   []object.Object
	// rung is the rung of the source, and tells the reason.
	rung, reason string
	mode         crds.Mode
	revision     bool
	// nested are the Applications in it, and contents what AppProjects decide about.
	nested   []Child
	contents []argocd.Content
	err      error
}

// Follow finds the dependencies of the Applications in a graph on each other and on
// the objects next to them, and their rungs. The error is that of the context: a
// child that fails to render is a finding. A graph without Applications is returned
// unchanged.
func Follow(ctx context.Context, g *graph.Graph, base *knowledge.Base, opt Options) (Result, error) {
	nodes := applications(g)
	if len(nodes) == 0 {
		return Result{Graph: g}, nil
	}
	f := &follower{opt: opt, base: base, graph: g, nodes: nodes, repoURL: opt.RepoURL}
	f.locate(specsOf(g, nodes))
	for _, i := range nodes {
		f.children = append(f.children, f.readChild(g.Nodes[i].Object, g.Nodes[i].Kind.Deploys))
	}
	var err error
	if f.rendered, err = f.renderAll(ctx); err != nil {
		return Result{}, err
	}
	all := make([]contents, len(f.children))
	for i, c := range f.children {
		all[i] = f.contents(c)
	}
	refs, found := f.references(all)
	linked := g.With(refs, f.roles(all))
	f.markStuck(linked)
	found = slices.Concat(found, f.reportUnordered(all), f.withoutHealth(linked))
	finding.Sort(found)
	revision := func(r *renderedSource) bool { return r.revision }
	return Result{Graph: linked, Findings: found, RepoURL: true,
		Revision: slices.ContainsFunc(slices.Collect(maps.Values(f.rendered)), revision)}, nil
}

// applications returns the nodes of Applications in the Sync phase.
func applications(g *graph.Graph) []int {
	var all []int
	for i, n := range g.Nodes {
		if !n.Kind.Deploys.IsZero() && n.InSync() && !n.External {
			all = append(all, i)
		}
	}
	return all
}

func specsOf(g *graph.Graph, nodes []int) []object.Value {
	var specs []object.Value
	for _, i := range nodes {
		for _, spec := range g.Nodes[i].Kind.Deploys.Find(g.Nodes[i].Root()) {
			specs = append(specs, spec.Value)
		}
	}
	return specs
}

// renderAll renders the sources of all children, recursively, each once. It renders
// sequentially: a server has other requests for the other CPUs.
func (f *follower) renderAll(ctx context.Context) (map[string]*renderedSource, error) {
	all := map[string]*renderedSource{}
	level := f.children
	for range maxDepth {
		var next []Child
		for _, c := range level {
			for _, s := range c.Sources {
				if s.key == "" || all[s.key] != nil {
					continue
				}
				r := &renderedSource{source: s, err: s.Err}
				all[s.key] = r
				switch {
				case r.err != nil || f.isParent(c, s):
				case len(all) > maxRendered:
					r.err = fmt.Errorf("only %d sources are rendered for one component", maxRendered)
				default:
					*r = f.render(ctx, s)
					if ctx.Err() != nil {
						return nil, ctx.Err()
					}
				}
				next = append(next, r.nested...)
			}
		}
		level = next
	}
	return all, nil
}

// isParent reports whether a child is the rendered Application itself: many manage
// themselves.
func (f *follower) isParent(c Child, s Source) bool {
	return s.Dir == f.opt.Dir && cmp.Or(f.opt.Name, c.ID.Name) == c.ID.Name
}

// render renders a source of a child.
func (f *follower) render(ctx context.Context, s Source) renderedSource {
	r := renderedSource{source: s}
	var rendered Rendered
	rendered, r.err = s.Render(ctx)
	r.mode, r.revision = rendered.CRDs, rendered.Revision
	if r.err != nil {
		return r
	}
	for _, n := range rendered.Graph.Nodes {
		if n.External {
			continue
		}
		r.objs = append(r.objs, n.Object)
		if !n.Kind.Deploys.IsZero() {
			r.nested = append(r.nested, f.readChild(n.Object, n.Kind.Deploys))
		}
		if f.opt.Expand == nil {
			continue
		}
		for _, app := range f.opt.Expand(n.Object) {
			kind, _ := f.base.Kind(app.ID.Group, app.ID.Kind)
			nested := f.readChild(app, kind.Deploys)
			nested.generated = true
			r.nested = append(r.nested, nested)
		}
	}
	r.contents = Contents(rendered.Graph, rendered.Base, func(*graph.Node) bool { return true })
	r.rung, r.reason = purpose(rendered)
	return r
}

// purpose returns the rung of a source, by its own order, and the reason. A source
// that cannot be ordered is not a problem of the parent.
func purpose(r Rendered) (rung, reason string) {
	plan, err := wave.Assign(r.Graph, r.Base, r.Waves)
	if err != nil {
		return "", ""
	}
	rung, at := plan.Purpose()
	if rung == "" {
		return "", ""
	}
	n := r.Graph.Nodes[at]
	reason = "contains " + n.Key.String()
	if n.Role != "" && n.RoleWhy != "" {
		reason += ", which " + n.RoleWhy
	}
	return rung, reason
}
