package appofapps

import (
	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/wave"
)

// contents is everything that a child deploys, including its own children.
type contents struct {
	parts  []graph.Part
	charts []knowledge.Chart
	// halves are the directories of which it deploys only a part.
	halves map[string]crds.Mode
	// rung is its rung, and tells the reason.
	rung, reason string
	// unknown are sources with unknown content, failed those that fail to render.
	unknown []string
	failed  []*renderedSource
}

// contents collects the content of a child.
func (f *follower) contents(c Child) contents {
	all := contents{halves: map[string]crds.Mode{}}
	f.collect(&all, c, c.Cluster, map[string]bool{}, maxDepth)
	return all
}

// collect adds a child, and its own children for the same cluster.
func (f *follower) collect(all *contents, c Child, cluster string, seen map[string]bool, depth int) {
	if depth == 0 || c.Cluster != cluster {
		return
	}
	for _, s := range c.Sources {
		if chart, known := f.base.Chart(s.Registry, s.Chart); s.Chart != "" && known {
			all.charts = append(all.charts, chart)
			all.isFor(chart.Rung, "deploys the "+chart.Name+" chart")
			continue
		}
		r := f.rendered[s.key]
		switch {
		case s.key == "":
			all.unknown = append(all.unknown, s.Place)
			continue
		case r == nil || seen[s.key]:
			continue
		case r.err != nil:
			all.failed = append(all.failed, r)
			continue
		}
		seen[s.key] = true
		all.parts = append(all.parts, graph.Part{Objects: r.objs, Namespace: c.Namespace})
		all.isFor(r.rung, r.reason)
		all.halves[s.Dir] = r.mode
		for _, nested := range r.nested {
			f.collect(all, nested, cluster, seen, depth-1)
		}
	}
}

// isFor records the rung of a source, if it is more characteristic than the others.
func (all *contents) isFor(rung, reason string) {
	if rung != "" && (all.rung == "" || wave.ComparePurpose(rung, all.rung) < 0) {
		all.rung, all.reason = rung, reason
	}
}

// roles assigns every child the rung of its content, unless the user set another
// one.
func (f *follower) roles(all []contents) map[int]graph.Role {
	roles := map[int]graph.Role{}
	for i, at := range f.nodes {
		if n := &f.graph.Nodes[at]; n.Role == "" && !n.Kind.RungChanged {
			if _, known := f.base.Rung(all[i].rung); known {
				roles[at] = graph.Role{Rung: all[i].rung, Why: all[i].reason}
			}
		}
	}
	return roles
}
