package wave

import (
	"cmp"
	"slices"

	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// applyOrder sorts the nodes as Argo CD sorts its tasks: by phase, wave, kind and
// name, with namespaces and CRDs moved before their first user (gitops-engine
// pkg/sync/sync_tasks.go). Where Argo CD leaves the order open, nodes are sorted by
// identity. Objects that are never applied come last.
func applyOrder(p *Plan, base *knowledge.Base) []int {
	order := make([]int, len(p.Graph.Nodes))
	for i := range order {
		order[i] = i
	}
	phase := func(i int) int {
		if ps := p.Graph.Nodes[i].Phases(); len(ps) > 0 {
			return ps[0].Order()
		}
		return object.PostDelete.Order() + 1
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := p.Graph.Nodes[a].Key, p.Graph.Nodes[b].Key
		return cmp.Or(cmp.Compare(phase(a), phase(b)), cmp.Compare(p.Places[a].Wave, p.Places[b].Wave),
			cmp.Compare(base.KindOrder(x.Kind), base.KindOrder(y.Kind)), cmp.Compare(x.Name, y.Name),
			cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Group, y.Group), cmp.Compare(x.Namespace, y.Namespace))
	})
	nodes := p.Graph.Nodes
	order = pullForward(order,
		func(i int) string {
			if nodes[i].Key.Kind == "Namespace" && nodes[i].Key.Group == "" {
				return nodes[i].Key.Name
			}
			return ""
		},
		func(i int) string { return nodes[i].Key.Namespace })
	return pullForward(order,
		func(i int) string {
			// Argo CD moves only CustomResourceDefinitions, not CRDs of other API
			// groups.
			for _, d := range nodes[i].Kind.Defines {
				if base.Builtin(nodes[i].Key.Group) {
					return d.Group.Text(nodes[i].Root()) + "/" + d.Kind.Text(nodes[i].Root())
				}
			}
			return ""
		},
		func(i int) string { return nodes[i].Key.Group + "/" + nodes[i].Key.Kind })
}

// pullForward moves each object that provides something before the first object
// that uses it.
func pullForward(order []int, provides, uses func(int) string) []int {
	firstUse := map[string]int{} // position in order
	for at, i := range order {
		key := provides(i)
		if key == "" {
			if use := uses(i); use != "" {
				if _, seen := firstUse[use]; !seen {
					firstUse[use] = at
				}
			}
			continue
		}
		to, used := firstUse[key]
		if !used {
			continue
		}
		copy(order[to+1:at+1], order[to:at])
		order[to] = i
		for k, pos := range firstUse {
			if pos >= to {
				firstUse[k] = pos + 1
			}
		}
	}
	return order
}
