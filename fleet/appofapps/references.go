package appofapps

import (
	"maps"
	"slices"

	"github.com/ladder-cmp/ladder/argocd"
	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/fleet/link"
	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/object"
)

// cluster contains the dependencies between the children of a cluster.
type cluster struct {
	// members are the children; beside are the nodes of the parent's other objects,
	// which the last Application of the links contains.
	members []int
	beside  map[object.ID]int
	links   []link.Link
}

// node returns the node of one end of a link.
func (f *follower) node(c cluster, app int, id object.ID) (int, bool) {
	if app < len(c.members) {
		return f.nodes[c.members[app]], true
	}
	at, there := c.beside[id]
	return at, there
}

// references returns the dependencies between the children of each cluster.
func (f *follower) references(all []contents) ([]graph.Reference, []finding.Finding) {
	var refs []graph.Reference
	clusters, found := f.clusters(all)
	for _, c := range clusters {
		refs = append(refs, f.crossing(c)...)
	}
	return refs, found
}

// clusters finds the dependencies between the children of each cluster. Children in
// Argo CD's own cluster also depend on the parent's other objects.
func (f *follower) clusters(all []contents) ([]cluster, []finding.Finding) {
	byCluster := map[string][]int{}
	for i, c := range f.children {
		byCluster[c.Cluster] = append(byCluster[c.Cluster], i)
	}
	var clusters []cluster
	var found []finding.Finding
	for _, name := range slices.Sorted(maps.Keys(byCluster)) {
		members := byCluster[name]
		apps := make([]link.Contents, len(members))
		for k, i := range members {
			apps[k] = link.Contents{Parts: all[i].parts, Charts: all[i].charts, File: f.children[i].File}
		}
		beside := map[object.ID]int{}
		if name == argocd.InCluster {
			var objs []object.Object
			for i, n := range f.graph.Nodes {
				// Kinds that exist wherever Argo CD runs need no child.
				if n.InSync() && !n.External && !n.Kind.AlwaysInstalled {
					beside[n.Key] = i
					objs = append(objs, n.Object)
				}
			}
			apps = append(apps, link.Contents{Parts: []graph.Part{{Objects: objs, Namespace: f.opt.Namespace}}})
		}
		_, links, err := link.Find(apps, f.base, f.halves(members, all)...)
		if err != nil {
			// Contradicting objects, or an invalid annotation: the child's own
			// rendering reports it.
			fault := finding.Of(err)[0]
			found = append(found, finding.Finding{Severity: finding.Warning, Rule: finding.NotRendered,
				Object: f.name(members[0]), About: string(fault.Rule) + " " + fault.Object,
				Message: "the dependencies between the children are unknown, so they keep their waves: " + fault.Error(),
				Remedy:  "correct it in the child"})
			continue
		}
		clusters = append(clusters, cluster{members, beside, links})
	}
	return clusters, found
}

// halves: the rest of a split component follows its CRDs.
func (f *follower) halves(members []int, all []contents) []link.Link {
	var found []link.Link
	for from, i := range members {
		for to, j := range members {
			for dir, mode := range all[i].halves {
				if mode == crds.Skip && all[j].halves[dir] == crds.Only {
					found = append(found, link.Link{From: from, To: to,
						Reasons: []link.Reason{{Strength: link.Applied, Why: "the definitions of " + f.opt.show(dir) + " are there"}}})
				}
			}
		}
	}
	return found
}

// crossing converts links to references. For each meaning, the first reason is
// used.
func (f *follower) crossing(c cluster) []graph.Reference {
	type relation struct {
		from, to int
		need     graph.Need
		until    graph.State
		inferred bool
	}
	var refs []graph.Reference
	seen := map[relation]bool{}
	for _, l := range c.links {
		for _, r := range l.Reasons {
			from, known := f.node(c, l.From, r.From)
			to, there := f.node(c, l.To, r.To)
			if kind, _ := f.base.Kind(r.From.Group, r.From.Kind); !known || !there || kind.AlwaysInstalled {
				continue
			}
			ref := graph.Reference{From: from, To: to, Field: "spec.source", Until: graph.Healthy, Sign: graph.Package,
				Why: "needs", Because: r.String(), Source: r.Source}
			if r.Inferred {
				ref.Sign = graph.Installation
			}
			if l.From >= len(c.members) {
				ref.Field = r.Field
			}
			switch r.Strength {
			case link.Applied:
				ref.Fails = graph.Refused
			case link.Calls:
				ref.Need, ref.Until, ref.Why = graph.MayNeed, graph.Together, "names"
			case link.Exists:
				ref.Until = graph.Exists
			}
			if key := (relation{from, to, ref.Need, ref.Until, ref.Inferred()}); !seen[key] {
				seen[key] = true
				refs = append(refs, ref)
			}
		}
	}
	return refs
}
