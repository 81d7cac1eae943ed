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
	for _, name := range telling {
		if why, ok := tells[name]; ok {
			return name, why
		}
	}
	return "", ""
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
