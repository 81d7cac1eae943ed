package plugin

import (
	"context"
	"io/fs"

	"github.com/ladder-cmp/ladder/fleet/appset"
	"github.com/ladder-cmp/ladder/fleet/parent"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/remote"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/wave"
)

// GeneratedSet is an ApplicationSet of a Result, with its Applications.
type GeneratedSet struct {
	// Node is its node in the plan.
	Node int
	appset.Set
}

// expandSets expands the ApplicationSets of a plan and checks their Applications. It
// does not change the order: Argo CD calls the plugin without what generators find.
func (req Request) expandSets(ctx context.Context, plan *wave.Plan, base *knowledge.Base, opt options) (sets []GeneratedSet, all []finding.Finding, err error) {
	of := req.appOfApps(opt, base)
	nodes := plan.Graph.Nodes
	if of.RepoURL == "" {
		var objs []object.Object
		for _, n := range nodes {
			objs = append(objs, n.Object)
		}
		of.RepoURL = appset.FindRepository(objs, req.Repo)
	}
	in := appset.Input{Values: *req.Generators, Open: func(url string) fs.FS {
		if !req.NoRepository && remote.SameRepository(of.RepoURL, url) {
			return req.Repo
		}
		return nil
	}}
	of.Expand = func(o object.Object) []object.Object {
		if !appset.Is(o) {
			return nil
		}
		return appset.Expand(o, in).Objects()
	}
	var generated []parent.Set
	for i, n := range nodes {
		if !appset.Is(n.Object) || n.External {
			continue
		}
		set := GeneratedSet{i, appset.Expand(n.Object, in)}
		sets = append(sets, set)
		checked := parent.Set{Node: i, Applications: set.Objects()}
		for _, app := range set.Applications {
			if set.Steps > 0 {
				checked.Steps = append(checked.Steps, app.Step)
			}
		}
		generated = append(generated, checked)
		for _, f := range set.Faults {
			severity, rule := finding.Warning, "bad-set"
			if f.NeedsValues {
				severity, rule = finding.Note, "unknown-generator"
			}
			found := f.Finding(n.Object, severity, rule)
			found.Object = n.Key.String()
			all = append(all, found)
		}
	}
	if sets == nil {
		return nil, nil, nil
	}
	found, err := parent.CheckSets(ctx, plan, generated, base, of)
	return sets, append(all, found...), err
}

// SetsByNode returns the ApplicationSets of the result by their node in the plan.
func (r Result) SetsByNode() map[int]appset.Set {
	sets := map[int]appset.Set{}
	for _, set := range r.Sets {
		sets[set.Node] = set.Set
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
		all = append(all, set.Objects()...)
	}
	return all
}
