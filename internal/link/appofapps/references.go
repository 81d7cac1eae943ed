package appofapps

import (
	"maps"
	"slices"

	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/link"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// references are what the children of each cluster need of each other. Those in Argo
// CD's own have the parent's other objects beside them.
func (f *follower) references(all []contents) ([]graph.Reference, []finding.Finding) {
	byCluster := map[string][]int{}
	for i, c := range f.children {
		byCluster[c.cluster] = append(byCluster[c.cluster], i)
	}
	var refs []graph.Reference
	var found []finding.Finding
	for _, cluster := range slices.Sorted(maps.Keys(byCluster)) {
		members := byCluster[cluster]
		apps := make([]link.Application, len(members))
		for k, i := range members {
			apps[k] = link.Application{Parts: all[i].parts, Charts: all[i].charts, File: f.children[i].File}
		}
		beside := map[object.ID]int{}
		if cluster == ownCluster {
			var objs []object.Object
			for i, n := range f.graph.Nodes {
				// What is there wherever Argo CD runs needs no child.
				if n.InSync() && !n.Elsewhere && !n.Kind.Assured {
					beside[n.Key] = i
					objs = append(objs, n.Object)
				}
			}
			apps = append(apps, link.Application{Parts: []graph.Part{{Objects: objs, Namespace: f.opt.Namespace}}})
		}
		_, links, err := link.Find(apps, f.base, f.halves(members, all)...)
		if err != nil {
			// Two objects that contradict each other, or an annotation of ours
			// that is wrong: the child's own rendering says so.
			found = append(found, finding.Finding{Severity: finding.Warning, Rule: "children-not-compared", Object: f.name(members[0]),
				Message: "the dependencies between the children are unknown, so they keep their waves: " + finding.Of(err)[0].Error(),
				Remedy:  "correct it in the child"})
			continue
		}
		refs = append(refs, f.crossing(links, members, beside)...)
	}
	return refs, found
}

// halves: what is left of a component that is split comes after its definitions.
func (f *follower) halves(members []int, all []contents) []link.Link {
	var found []link.Link
	for from, i := range members {
		for to, j := range members {
			for dir, mode := range all[i].halves {
				if mode == crds.Skip && all[j].halves[dir] == crds.Only {
					found = append(found, link.Link{From: from, To: to, Reasons: []link.Reason{{Strength: link.Applied, Why: "the definitions of " + f.opt.show(dir) + " are there"}}})
				}
			}
		}
	}
	return found
}

// crossing turns links into references. Of the reasons for one, the first of
// each meaning is told.
func (f *follower) crossing(links []link.Link, members []int, beside map[object.ID]int) []graph.Reference {
	node := func(app int, id object.ID) (int, bool) {
		if app < len(members) {
			return f.nodes[members[app]], true
		}
		at, there := beside[id]
		return at, there
	}
	type told struct {
		from, to int
		meaning  knowledge.Meaning
		inferred bool
	}
	var refs []graph.Reference
	seen := map[told]bool{}
	for _, l := range links {
		for _, r := range l.Reasons {
			from, known := node(l.From, r.From)
			to, there := node(l.To, r.To)
			if kind, _ := f.base.Kind(r.From.Group, r.From.Kind); !known || !there || kind.Assured {
				continue
			}
			ref := graph.Reference{From: from, To: to, Field: "spec.source", Meaning: knowledge.Healthy, Inferred: r.Inferred, Why: "needs", Because: r.String(), Source: r.Source}
			if l.From >= len(members) {
				ref.Field = r.Field
			}
			switch r.Strength {
			case link.Applied:
				ref.Refused = true
			case link.Calls:
				ref.Meaning, ref.Why = knowledge.Known, "names"
			case link.Exists:
				ref.Meaning = knowledge.Exists
			}
			if key := (told{from, to, ref.Meaning, ref.Inferred}); !seen[key] {
				seen[key] = true
				refs = append(refs, ref)
			}
		}
	}
	return refs
}
