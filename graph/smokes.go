package graph

import "github.com/ladder-cmp/ladder/knowledge"

// findSmokes: a Job, CronJob or terminating Pod whose name says that it is a test
// checks the rest of the component and is applied last.
func (b *builder) findSmokes() {
	for i, n := range b.Nodes {
		if n.Kind.Runs == "" || !n.InSync() || b.isGuard[i] {
			continue
		}
		if n.IsTest() {
			b.giveRole(i, knowledge.Smokes, "is a test of the chart's")
			continue
		}
		if why := b.base.Smoke(n.Object); why != "" {
			b.giveRole(i, knowledge.Smokes, why)
		}
	}
}
