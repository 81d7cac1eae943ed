package wave

import (
	"fmt"
	"slices"

	"github.com/ladder-cmp/ladder/graph"
)

// WaitsToRead names, in short, the objects that Argo CD waits for only because others read
// what they write. These would wait by themselves, and the wait stops each later sync while
// the awaited object is unhealthy, although what it writes is there. It is empty if there are
// none, or if Argo CD waits for all objects in any case.
func (p *Plan) WaitsToRead() string {
	if awaitsAll(p.Graph) {
		return ""
	}
	var firm []constraint
	for _, c := range p.rules {
		if c.ref.Need == graph.Needs {
			if c.reason == Reads {
				c.gap = 0
			}
			firm = append(firm, c)
		}
	}
	awaited := awaitedNodes(firm)
	var sources []int
	for _, i := range p.Order {
		if p.Graph.Nodes[i].HasHealth && !awaited[i] &&
			slices.ContainsFunc(p.rules, func(c constraint) bool { return c.dependency == i && c.gap > 0 && c.reason == Reads }) {
			sources = append(sources, i)
		}
	}
	return p.inShort(sources, 0)
}

// heldUp says what no sync applies while a node is not healthy, in short: all in later waves.
// It is empty if Argo CD does not wait for the node.
func (p *Plan) heldUp(i int) string {
	if !p.Graph.Nodes[i].HasHealth || !p.Places[i].Computed {
		return ""
	}
	var later []int
	for _, j := range p.Order {
		if p.Places[j].Computed && p.Places[j].Wave > p.Places[i].Wave {
			later = append(later, j)
		}
	}
	return p.inShort(later, max(0, slices.IndexFunc(later, func(j int) bool { return !p.Graph.Nodes[j].Kind.Pod.IsZero() })))
}

// inShort names one of some nodes, and counts the others.
func (p *Plan) inShort(nodes []int, example int) string {
	switch len(nodes) {
	case 0:
		return ""
	case 1:
		return p.name(nodes[0])
	}
	return fmt.Sprintf("%s and %d more", p.name(nodes[example]), len(nodes)-1)
}
