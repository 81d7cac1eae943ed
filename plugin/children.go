package plugin

import (
	"cmp"
	"context"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/wave"
)

// Children knows what the Applications among the objects of a component deploy, and so what they
// need of each other. Package fleet/children implements it; without it, Applications are objects
// like all others.
type Children interface {
	// Follow adds the references between the Applications of a graph. The error is that of the
	// context: a child that fails to render is a finding.
	Follow(ctx context.Context, of Parent, g *graph.Graph, base *knowledge.Base) (Followed, error)
	// Expand returns what the ApplicationSets of a plan generate, and where the order does not
	// respect it; nothing if the caller does not know what generators find.
	Expand(ctx context.Context, of Parent, plan *wave.Plan, base *knowledge.Base) ([]GeneratedSet, []finding.Finding, error)
}

// Parent is the component that the Applications are objects of.
type Parent struct {
	// Request is that of the component. It has no Repo for manifests that another tool rendered.
	Request Request
	// Namespace is the default namespace of the objects, and RepoURL the URL of the repository;
	// empty if unknown, as on a laptop.
	Namespace, RepoURL string
}

// Followed is a graph with the dependencies between its Applications.
type Followed struct {
	Graph    *graph.Graph
	Findings []finding.Finding
	// Revision and RepoURL report whether those of the Application may have
	// affected the result.
	Revision, RepoURL bool
}

// GeneratedSet is an ApplicationSet of a plan, with the Applications that it generates.
type GeneratedSet struct {
	// Node is its node in the plan.
	Node         int
	Applications []object.Object
	// Steps are the steps of the Applications in a RollingSync, counted from 1, and 0 for those
	// that no step selects; nil without one.
	Steps []int
}

// asParent returns the component of the request as the parent of its Applications.
func (req Request) asParent(opt options, base *knowledge.Base) Parent {
	platform, _ := component.PlatformOf(base.Fleet().Node) // prepare reports an error
	return Parent{Request: req, Namespace: opt.render.Namespace, RepoURL: cmp.Or(req.App.RepoURL, platform.RepoURL)}
}

// follow adds the references between the Applications of a component.
func (req Request) follow(ctx context.Context, opt options, g *graph.Graph, base *knowledge.Base) (Followed, error) {
	if req.Children == nil {
		return Followed{Graph: g}, nil
	}
	return req.Children.Follow(ctx, req.asParent(opt, base), g, base)
}

// expand returns what the ApplicationSets of a plan generate.
func (req Request) expand(ctx context.Context, opt options, plan *wave.Plan,
	base *knowledge.Base) ([]GeneratedSet, []finding.Finding, error) {
	if req.Children == nil {
		return nil, nil, nil
	}
	return req.Children.Expand(ctx, req.asParent(opt, base), plan, base)
}

// SetsByNode returns the ApplicationSets of the result by their node in the plan.
func (r Result) SetsByNode() map[int]GeneratedSet {
	sets := map[int]GeneratedSet{}
	for _, set := range r.Sets {
		sets[set.Node] = set
	}
	return sets
}

// GeneratedNames returns the names of the Applications that each ApplicationSet generates, by
// the node of the set in the plan.
func (r Result) GeneratedNames() map[int][]string {
	names := map[int][]string{}
	for _, set := range r.Sets {
		for _, app := range set.Applications {
			names[set.Node] = append(names[set.Node], app.ID.Name)
		}
	}
	return names
}

// Applications returns the Applications that the ApplicationSets of the result generate.
func (r Result) Applications() []object.Object {
	var all []object.Object
	for _, set := range r.Sets {
		all = append(all, set.Applications...)
	}
	return all
}
