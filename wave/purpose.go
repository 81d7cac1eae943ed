package wave

import (
	"slices"

	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/knowledge"
)

// telling are the rungs by what they say of a component that has objects on
// several: an operator with its secrets is an operator. Smokes say so only
// where nothing else runs.
var telling = []string{knowledge.Controllers, "workloads", knowledge.Bootstraps, knowledge.Smokes, "exposure", "secrets", "crds", "namespaces", "configs"}

// Tells compares two rungs by what they say of a component that has objects on
// both: less than 0 if it is rather the first that it is for.
func Tells(x, y string) int {
	at := func(rung string) int {
		if i := slices.Index(telling, rung); i >= 0 {
			return i
		}
		return len(telling)
	}
	return at(x) - at(y)
}

// Purpose says what the component as a whole is for: the rung, and the node that
// tells. Where nothing tells, the rung is empty.
func (p *Plan) Purpose() (rung string, node int) {
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
		if _, configs := tells["configs"]; !ok || configs && name == "namespaces" && p.Graph.Nodes[i].Key.Kind != "Namespace" {
			continue // a limit among settings is one of them
		}
		if keeper, keeps := p.keepsData(); keeps && name == knowledge.Controllers {
			return "workloads", keeper
		}
		return name, i
	}
	return "", 0
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

// keepsData finds a workload that keeps data in volumes of its own. Controllers
// keep theirs in the API server, so what has such a workload is a runtime, even
// if it brings a controller along.
func (p *Plan) keepsData() (node int, ok bool) {
	for i, n := range p.Graph.Nodes {
		if n.Kind.Runs == "" && !n.Kind.Pod.IsZero() && len(n.Get("spec", "volumeClaimTemplates").Items()) > 0 {
			return i, true
		}
	}
	return 0, false
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
