package graph

import "github.com/ladder-cmp/ladder/knowledge"

// findSmokes: a Job, CronJob or Pod that runs to its end and is called a test
// checks the rest of the component, and comes after all of it.
func (b *builder) findSmokes() {
	for i, n := range b.Nodes {
		if n.Kind.Runs == "" || !n.InSync() || b.guarding[i] {
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
