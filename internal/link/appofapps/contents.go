package appofapps

import (
	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/wave"
)

// contents are all that a child comes to, with its own children.
type contents struct {
	parts  []graph.Part
	charts []knowledge.Chart
	// halves are the directories of which it has only a part.
	halves map[string]crds.Mode
	// rung is what it is for, and tells what says so.
	rung, tells string
	// unknown are sources of which nothing is known, failed those that do not
	// render.
	unknown []string
	failed  []*renderedSource
}

// contents collects what a child comes to.
func (f *follower) contents(c child) contents {
	all := contents{halves: map[string]crds.Mode{}}
	f.collect(&all, c, c.cluster, map[string]bool{}, maxDepth)
	return all
}

// collect adds a child, and its own children that go to the same cluster.
func (f *follower) collect(all *contents, c child, cluster string, seen map[string]bool, depth int) {
	if depth == 0 || c.cluster != cluster {
		return
	}
	for _, s := range c.sources {
		if chart, known := f.base.Chart(s.Registry, s.Chart); s.Chart != "" && known {
			all.charts = append(all.charts, chart)
			all.isFor(chart.Rung, "holds the chart "+chart.Name)
			continue
		}
		r := f.rendered[s.key]
		switch {
		case s.key == "":
			all.unknown = append(all.unknown, s.place)
			continue
		case r == nil || seen[s.key]:
			continue
		case r.err != nil:
			all.failed = append(all.failed, r)
			continue
		}
		seen[s.key] = true
		all.parts = append(all.parts, graph.Part{Objects: r.objs, Namespace: c.namespace})
		all.isFor(r.rung, r.tells)
		all.halves[s.dir] = r.mode
		for _, nested := range r.nested {
			f.collect(all, nested, cluster, seen, depth-1)
		}
	}
}

// isFor notes what a source is for, if that says more than the others.
func (all *contents) isFor(rung, tells string) {
	if rung != "" && (all.rung == "" || wave.ComparePurpose(rung, all.rung) < 0) {
		all.rung, all.tells = rung, tells
	}
}

// roles puts every child on the rung of what it holds, unless somebody put it
// elsewhere.
func (f *follower) roles(all []contents) map[int]graph.Role {
	roles := map[int]graph.Role{}
	for i, at := range f.nodes {
		if n := &f.graph.Nodes[at]; n.Role == "" && !n.Kind.Moved {
			if _, known := f.base.Rung(all[i].rung); known {
				roles[at] = graph.Role{Rung: all[i].rung, Why: all[i].tells}
			}
		}
	}
	return roles
}
