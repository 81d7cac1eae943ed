package fleet

import "github.com/ladder-cmp/ladder/wave"

// rungOf says what a component as a whole is for, and which object tells.
func rungOf(p *wave.Plan) (rung, why string) {
	rung, at := p.Purpose()
	if rung == "" {
		return "", ""
	}
	n := p.Graph.Nodes[at]
	why = n.Key.String()
	if n.Role == rung && n.RoleWhy != "" {
		why += " " + n.RoleWhy
	}
	return rung, why
}
