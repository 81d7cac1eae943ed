package graph

import "github.com/ladder-cmp/ladder/knowledge"

// findSmokes puts Jobs and bare Pods that test the rest of the component on the last
// rung. A CronJob that finds an error has more runs, so it needs no wait.
func (b *builder) findSmokes() {
	for i, n := range b.Nodes {
		if n.Kind.Runs != "once" || !n.InSync() || b.isPrecondition[i] {
			continue
		}
		if n.IsTest() {
			b.giveRole(i, knowledge.Smokes, "is a test of the chart")
			continue
		}
		if why := b.base.Smoke(n.Object); why != "" {
			b.giveRole(i, knowledge.Smokes, why)
		}
	}
}
