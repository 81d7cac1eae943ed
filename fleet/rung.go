package fleet

import (
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/wave"
)

// rungOf returns the rung of a component as a whole, and the object that determines it.
func rungOf(p *wave.Plan) (rung, why string) {
	rung, at := p.Purpose()
	if rung == "" {
		return "", ""
	}
	n := p.Graph.Nodes[at]
	switch {
	case n.Role == knowledge.Controllers && rung != knowledge.Controllers:
		return rung, n.Key.String() + " stores data"
	case n.Role != "" && n.RoleWhy != "":
		return rung, n.Key.String() + " " + n.RoleWhy
	}
	return rung, n.Key.String()
}
