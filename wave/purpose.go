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
	for i, n := range p.Graph.Nodes {
		name := p.Places[i].Rung.Name
		if !tellsMuch(n, name) {
			continue
		}
		if name == "workloads" && n.Kind.Runs == "once" {
			name = knowledge.Bootstraps
		}
		if rung == "" || Tells(name, rung) < 0 {
			rung, node = name, i
		}
	}
	if rung == knowledge.Controllers {
		if keeper, ok := p.keepsData(); ok {
			return "workloads", keeper
		}
	}
	return rung, node
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
