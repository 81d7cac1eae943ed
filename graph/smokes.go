package graph

import "github.com/ladder-cmp/ladder/knowledge"

// findSmokes puts Jobs, CronJobs and bare Pods that test the rest of the
// component on the last rung.
func (b *builder) findSmokes() {
	for i, n := range b.Nodes {
		if n.Kind.Runs == "" || !n.InSync() || b.isPrecondition[i] {
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
