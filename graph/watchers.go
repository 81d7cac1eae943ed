package graph

import (
	"slices"

	"github.com/ladder-cmp/ladder/knowledge"
)

// watcher is a controller with the CRDs of the kinds that it reconciles.
type watcher struct {
	node int
	defs []int
}

// referToWatchedCRDs makes a controller wait for the CRDs of its kinds, without which
// it does not start. Within a component no reference is needed, because Argo CD
// applies CRDs before workloads of the same wave. Kinds that another controller owns
// are only watched if they exist, as Kueue does with job kinds.
func (b *builder) referToWatchedCRDs() {
	watchers := b.watchers()
	parts := map[int][]int{} // the components that reconcile a kind, by its CRD
	for _, w := range watchers {
		for _, def := range w.defs {
			if part := b.Nodes[w.node].Part; !slices.Contains(parts[def], part) {
				parts[def] = append(parts[def], part)
			}
		}
	}
	for _, w := range watchers {
		part := b.Nodes[w.node].Part
		alone := slices.ContainsFunc(w.defs, func(def int) bool { return len(parts[def]) == 1 || b.Nodes[def].Part == part })
		for _, def := range w.defs {
			holder := b.Nodes[def].Part
			if holder == part || len(parts[def]) > 1 && (alone || slices.Contains(parts[def], holder)) {
				continue
			}
			b.refer(Reference{From: w.node, To: def, Field: "spec.template.spec.serviceAccountName", Meaning: knowledge.Healthy, Inferred: true,
				Why: "watches the kind of", Source: "https://pkg.go.dev/sigs.k8s.io/controller-runtime/pkg/cache#Informers"})
		}
	}
}

func (b *builder) watchers() []watcher {
	var all []watcher
	for c, controller := range b.Nodes {
		if controller.Role != knowledge.Controllers {
			continue
		}
		w := watcher{node: c}
		for _, serviceAccount := range b.serviceAccounts(controller) {
			about := byGroup(b.grants.rulesFor(serviceAccount))
			for group := range about {
				for _, def := range b.definedIn(group) {
					own := b.Nodes[def.node].Part == controller.Part
					if rulesAllowReconciling(about, group, def.plural, own) && (own || updatesStatus(about[group], group, def.plural)) {
						w.defs = append(w.defs, def.node)
					}
				}
			}
		}
		slices.Sort(w.defs)
		w.defs = slices.Compact(w.defs)
		all = append(all, w)
	}
	return all
}

// updatesStatus reports whether rules are those of a controller. A console such as
// Kiali may patch a whole group on behalf of its users, but never updates anything.
func updatesStatus(rules []rule, group, resource string) bool {
	status := resource + "/status"
	return slices.ContainsFunc(rules, func(r rule) bool {
		return r.allows(group, status, "update") || slices.Contains(r.resources, status) && r.allows(group, status, "patch")
	})
}
