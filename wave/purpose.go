package wave

import (
	"slices"

	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/knowledge"
)

// purposeRungs ranks rungs by how well they describe a component with objects on
// several: an operator with Secrets is an operator. Smokes count only if nothing
// else runs.
var purposeRungs = []string{knowledge.Controllers, "workloads", knowledge.Bootstraps, knowledge.Smokes, "exposure", "secrets",
	"crds", "namespaces", "configs"}

// ComparePurpose compares two rungs by how well they describe a component with objects on
// both. It is negative if x describes it better.
func ComparePurpose(x, y string) int {
	at := func(rung string) int {
		if i := slices.Index(purposeRungs, rung); i >= 0 {
			return i
		}
		return len(purposeRungs)
	}
	return at(x) - at(y)
}

// Purpose returns the rung that describes the component as a whole, and the node
// that decided it. The rung is empty if no object is characteristic.
func (p *Plan) Purpose() (rung string, node int) {
	deciders := map[string]int{} // the deciding node, by rung
	for i, n := range p.Graph.Nodes {
		name := p.Places[i].Rung.Name
		if !isCharacteristic(n, name) {
			continue
		}
		if name == "workloads" && n.Kind.Runs == "once" {
			name = knowledge.Bootstraps
		}
		if decider, ok := deciders[name]; !ok || clarity(n) > clarity(p.Graph.Nodes[decider]) {
			deciders[name] = i
		}
	}
	for _, name := range purposeRungs {
		i, ok := deciders[name]
		if _, configs := deciders["configs"]; !ok || configs && name == "namespaces" && p.Graph.Nodes[i].Key.Kind != "Namespace" {
			continue // a quota or limit range among the configuration
		}
		if workload, ok := p.statefulWorkload(); ok && name == knowledge.Controllers {
			return "workloads", workload
		}
		return name, i
	}
	return "", 0
}

// clarity ranks how well an object describes its component: a workload better than
// its volume, an object with health better than its configuration.
func clarity(n graph.Node) int {
	switch {
	case n.RoleWhy != "" && !n.Companion:
		return 3
	case !n.Kind.Pod.IsZero():
		return 2
	case n.HasHealth && n.Kind.Placement == "":
		return 1
	}
	return 0
}

// statefulWorkload returns a workload with persistent volumes. Controllers store their
// data in the API server, so such a component counts as workloads, even if it contains
// a controller.
func (p *Plan) statefulWorkload() (node int, ok bool) {
	for i, n := range p.Graph.Nodes {
		if n.Kind.Runs == "" && !n.Kind.Pod.IsZero() && len(n.Get("spec", "volumeClaimTemplates").Items()) > 0 {
			return i, true
		}
	}
	return 0, false
}

// isCharacteristic reports whether an object is characteristic of its component. Services,
// ServiceAccounts and the like belong to any.
func isCharacteristic(n graph.Node, rung string) bool {
	if n.External || !n.Kind.Selects.IsZero() {
		return false
	}
	if rung == "workloads" || rung == knowledge.Controllers {
		return n.HasHealth || !n.Kind.Pod.IsZero() || n.CRDMissing
	}
	return slices.Contains(purposeRungs, rung)
}
