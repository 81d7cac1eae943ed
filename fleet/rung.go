package fleet

import (
	"slices"

	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/wave"
)

// telling are the rungs by what they say of a component that has objects on
// several: an operator with its secrets is an operator. Smokes say so only
// where nothing else runs.
var telling = []string{knowledge.Controllers, "workloads", knowledge.Bootstraps, knowledge.Smokes, "exposure", "secrets", "crds", "namespaces", "configs"}

// rungOf says what a component as a whole is for, and which object tells.
func rungOf(p *wave.Plan) (rung, why string) {
	tells := map[string]int{} // by rung, the node
	for i, n := range p.Graph.Nodes {
		name := p.Places[i].Rung.Name
		if !tellsMuch(n, name) {
			continue
		}
		if name == "workloads" && n.Kind.Runs == "once" {
			name = knowledge.Bootstraps
		}
		if told, ok := tells[name]; !ok || clarity(n) > clarity(p.Graph.Nodes[told]) {
			tells[name] = i
		}
	}
	for _, name := range telling {
		i, ok := tells[name]
		if !ok {
			continue
		}
		n := p.Graph.Nodes[i]
		if _, configs := tells["configs"]; configs && name == "namespaces" && n.Key.Kind != "Namespace" {
			continue // a limit among settings is one of them
		}
		if n.Role != "" && n.RoleWhy != "" {
			return name, n.Key.String() + " " + n.RoleWhy
		}
		return name, n.Key.String()
	}
	return "", ""
}

// clarity says how clearly an object tells what its component is for: what runs
// tells more than its volume, and what becomes healthy more than its settings.
func clarity(n graph.Node) int {
	switch {
	case n.RoleWhy != "" && !n.Partner:
		return 3
	case !n.Kind.Pod.IsZero():
		return 2
	case n.HasHealth && n.Kind.Place == "":
		return 1
	}
	return 0
}

// tellsMuch reports whether an object says what its component is for. Services,
// accounts and their like come with anything.
func tellsMuch(n graph.Node, rung string) bool {
	if n.Elsewhere || !n.Kind.Selects.IsZero() {
		return false
	}
	if rung == "workloads" || rung == knowledge.Controllers {
		return n.HasHealth || !n.Kind.Pod.IsZero() || n.Foreign
	}
	return slices.Contains(telling, rung)
}
