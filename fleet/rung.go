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
	tells := map[string]string{}
	for i, n := range p.Graph.Nodes {
		name := p.Places[i].Rung.Name
		if !tellsMuch(n, name) {
			continue
		}
		if name == "workloads" && n.Kind.Runs == "once" {
			name = knowledge.Bootstraps
		}
		if _, seen := tells[name]; !seen {
			why := n.Key.String()
			if n.Role != "" && n.RoleWhy != "" {
				why += " " + n.RoleWhy
			}
			tells[name] = why
		}
	}
	if tells[knowledge.Controllers] != "" {
		if store := keepsData(p); store != "" {
			return "workloads", store + " keeps data of its own"
		}
	}
	for _, name := range telling {
		if why, ok := tells[name]; ok {
			return name, why
		}
	}
	return "", ""
}

// keepsData finds a workload that keeps data in volumes of its own. Controllers
// keep theirs in the API server, so what has such a workload is a runtime, even
// if it brings a controller along.
func keepsData(p *wave.Plan) string {
	for _, n := range p.Graph.Nodes {
		if n.Kind.Runs == "" && !n.Kind.Pod.IsZero() && len(n.Get("spec", "volumeClaimTemplates").Items()) > 0 {
			return n.Key.String()
		}
	}
	return ""
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
