// Package appofapps orders the Applications in an app of apps.
//
// An app of apps renders to Applications, its children. What one of them needs of
// another stands in what they render to: so those that lie in the same repository
// are rendered, too, and of charts in registries knowledge tells. All of it becomes
// references between the Applications, from which waves follow as they do from all
// others.
//
// The package is pure: who calls it renders.
package appofapps

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/wave"
)

// Bounds of what is rendered: how deep children of children are followed, and how
// many sources are rendered for one app of apps.
const (
	maxDepth     = 4
	maxRendered  = 1000
	maxMentioned = 10
)

// Options say where an app of apps is.
type Options struct {
	// Name and Namespace are those of its own Application, and Dir is its directory
	// in the repository.
	Name, Namespace, Dir string
	// RepoURL is the address of the repository; empty where nobody says it, as on a
	// laptop.
	RepoURL string
	// Repository is what is at hand; nil for nothing.
	Repository Repository
	// Show returns how messages are to name a directory; nil means as it is.
	Show func(dir string) string
}

func (o Options) show(dir string) string {
	if o.Show == nil {
		return dir
	}
	return o.Show(dir)
}

// Result is a graph with what its Applications need of each other.
type Result struct {
	Graph    *graph.Graph
	Findings []finding.Finding
	// Revision and RepoURL report whether those of the Application may have made a
	// difference.
	Revision, RepoURL bool
}

// follower is the work of Follow.
type follower struct {
	opt     Options
	base    *knowledge.Base
	repoURL string
	// graph is that of the parent, and nodes are those of the Applications in it.
	graph    *graph.Graph
	nodes    []int
	children []child
	// rendered are the sources, by their keys.
	rendered map[string]*renderedSource
}

// renderedSource is what a source of a child rendered to.
type renderedSource struct {
	source Source
	objs   []object.Object
	// rung is what the source is for, and tells what says so.
	rung, tells string
	mode        crds.Mode
	revision    bool
	// nested are the Applications in it.
	nested []child
	err    error
}

// Follow finds what the Applications in a graph need of each other and of the objects
// beside them, and which rungs they stand on. The error is that of the context: a
// child that cannot be rendered is a finding. A graph without Applications comes back
// as it is.
func Follow(ctx context.Context, g *graph.Graph, base *knowledge.Base, opt Options) (Result, error) {
	nodes := applications(g)
	if len(nodes) == 0 {
		return Result{Graph: g}, nil
	}
	f := &follower{opt: opt, base: base, graph: g, nodes: nodes, repoURL: cmp.Or(opt.RepoURL, base.Fleet().RepoURL)}
	if f.repoURL == "" && opt.Repository != nil {
		f.repoURL = guessRepository(opt.Repository, specsOf(g, nodes))
	}
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
	found = slices.Concat(found, f.unordered(all), f.withoutHealth(linked))
	finding.Sort(found)
	revision := func(r *renderedSource) bool { return r.revision }
	return Result{Graph: linked, Findings: found, RepoURL: true, Revision: slices.ContainsFunc(slices.Collect(maps.Values(f.rendered)), revision)}, nil
}

// applications are the nodes of Applications in the Sync phase.
func applications(g *graph.Graph) []int {
	var all []int
	for i, n := range g.Nodes {
		if !n.Kind.Deploys.IsZero() && n.InSync() && !n.Elsewhere {
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

// renderAll renders the sources of the children, of theirs, and so on, each once.
// One after the other: a server has other requests for the other processors.
func (f *follower) renderAll(ctx context.Context) (map[string]*renderedSource, error) {
	all := map[string]*renderedSource{}
	level := f.children
	for range maxDepth {
		var next []child
		for _, c := range level {
			for _, s := range c.sources {
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

// isParent reports whether a child is the very Application that is rendered:
// many manage themselves.
func (f *follower) isParent(c child, s Source) bool {
	return s.dir == f.opt.Dir && cmp.Or(f.opt.Name, c.ID.Name) == c.ID.Name
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
		if n.Elsewhere {
			continue
		}
		r.objs = append(r.objs, n.Object)
		if !n.Kind.Deploys.IsZero() {
			r.nested = append(r.nested, f.readChild(n.Object, n.Kind.Deploys))
		}
	}
	r.rung, r.tells = purpose(rendered)
	return r
}

// purpose is the rung that a source is for, by its own order, and what tells. One that
// has no order is no fault of the parent's.
func purpose(r Rendered) (rung, tells string) {
	plan, err := wave.Assign(r.Graph, r.Base, r.Waves)
	if err != nil {
		return "", ""
	}
	rung, at := plan.Purpose()
	if rung == "" {
		return "", ""
	}
	n := r.Graph.Nodes[at]
	tells = "holds " + n.Key.String()
	if n.Role != "" && n.RoleWhy != "" {
		tells += ", which " + n.RoleWhy
	}
	return rung, tells
}
