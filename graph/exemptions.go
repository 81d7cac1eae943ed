package graph

import (
	"slices"

	"github.com/ladder-cmp/ladder/internal/digraph"
	"github.com/ladder-cmp/ladder/knowledge"
)

// exemptions finds the objects that do not wait for a webhook although it must admit
// them.
type exemptions struct {
	*builder
	byPart map[int]map[int]bool
	// byServer maps a workload that serves webhooks to its dependencies, through
	// references and through the webhooks that must admit them.
	byServer map[int]map[int]bool
}

// isExempt reports whether an object is exempt from the webhooks that a component
// registers for some servers:
//   - The lowest rung: objects that must exist before Pods start, such as a quota,
//     have no effect later.
//   - Controllers, and those of their dependencies that Argo CD applies before a
//     webhook configuration in the same wave.
//   - Dependencies of the servers, also through another webhook: two webhooks whose
//     servers need objects that the other one admits would wait for each other.
func (e *exemptions) isExempt(i, part int, servers []int) bool {
	n := &e.Nodes[i]
	if n.Kind.Rung == e.base.Rungs()[0].Name || n.Part == part && n.Role == knowledge.Controllers || e.isAppliedBefore(i, part) {
		return true
	}
	if e.byServer == nil {
		e.findDependencies()
	}
	return slices.ContainsFunc(servers, func(s int) bool { return e.byServer[s][i] })
}

// isAppliedBefore reports whether Argo CD applies an object before the webhook
// configurations of a component, which its controllers may need: it is of a built-in
// kind, and a dependency of a controller, its Service, or a CRD. The backend of a
// webhook for all kinds may not start without the CRDs of its own kinds.
func (e *exemptions) isAppliedBefore(i, part int) bool {
	if e.base.KindOrder(e.Nodes[i].Key.Kind) == 0 { // mixed with webhook configurations, by name
		return false
	}
	exempt, known := e.byPart[part]
	if known {
		return exempt[i]
	}
	isController := func(i int) bool { return e.Nodes[i].Part == part && e.Nodes[i].Role == knowledge.Controllers }
	var controllers []int
	for i := range e.Nodes {
		if isController(i) {
			controllers = append(controllers, i)
		}
	}
	exempt = digraph.Reachable(controllers, e.dependenciesOf)
	for s, servers := range e.backends {
		if slices.ContainsFunc(servers, isController) {
			exempt[s] = true
		}
	}
	for _, d := range e.defined {
		if e.Nodes[d.node].Key.Group == extensions {
			exempt[d.node] = true
		}
	}
	if e.byPart == nil {
		e.byPart = map[int]map[int]bool{}
	}
	e.byPart[part] = exempt
	return exempt[i]
}

// findDependencies finds the dependencies of all controllers, at once, since the
// callers add references meanwhile.
func (e *exemptions) findDependencies() {
	admitted := e.findAdmitted()
	e.byServer = map[int]map[int]bool{}
	add := func(server int) {
		if e.byServer[server] == nil {
			e.byServer[server] = digraph.Reachable([]int{server}, func(n int) []int { return append(e.dependenciesOf(n), admitted[n]...) })
		}
	}
	for i := range e.Nodes {
		if e.Nodes[i].Role == knowledge.Controllers {
			add(i)
		}
		for _, server := range admitted[i] {
			add(server)
		}
	}
}

// findAdmitted returns, by node, the workloads without which the API server refuses it:
// those that convert it, and the servers of fail-closed webhooks that must admit it.
func (e *exemptions) findAdmitted() [][]int {
	admitted := make([][]int, len(e.Nodes))
	add := func(i, part int, servers []int) {
		if n := &e.Nodes[i]; n.InSync() && (n.Part != part || n.Role != knowledge.Controllers) && !e.isAppliedBefore(i, part) {
			admitted[i] = append(admitted[i], servers...)
		}
	}
	for i := range e.Nodes {
		for _, converter := range e.converters(i) {
			add(i, e.Nodes[converter].Part, []int{converter})
		}
	}
	for w, config := range e.Nodes {
		for _, hooks := range config.Kind.Admits.Find(config.Root()) {
			for _, v := range hooks.Value.Items() {
				servers := e.backendsOf(w, v)
				if failsOpen(v) || len(servers) == 0 {
					continue
				}
				h := readHook(v)
				for _, kind := range e.kindRanges {
					if !h.covers(kind.group, kind.plural) {
						continue
					}
					for i := kind.from; i < kind.to; i++ {
						if i != w && e.selects(h, e.Nodes[i]) {
							add(i, config.Part, servers)
						}
					}
				}
			}
		}
	}
	return admitted
}
