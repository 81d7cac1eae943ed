package explain

import (
	"fmt"
	"slices"

	"github.com/ladder-cmp/ladder/argocd/health"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/wave"
)

// Health returns the kinds of blind objects for which Ladder can generate a health
// check, those for which it can generate a better one than Argo CD's, and a note for
// each kind without known status fields.
func Health(p *wave.Plan, gates []wave.Gate) ([]knowledge.Kind, []finding.Finding) {
	var kinds []knowledge.Kind
	for _, g := range p.DegradedAtStart(gates) {
		if k := p.Graph.Nodes[g.Node].Kind; k.Status != nil {
			kinds = append(kinds, *k)
		}
	}
	var unknown []finding.Finding
	var seen []string
	for _, g := range wave.WithoutHealthCheck(gates) {
		if slices.Contains(seen, g.Kind) {
			continue
		}
		seen = append(seen, g.Kind)
		n := p.Graph.Nodes[g.Node]
		if n.Kind.Status != nil {
			kinds = append(kinds, *n.Kind)
			continue
		}
		if n.Kind.Later != "" {
			unknown = append(unknown, finding.Finding{Severity: finding.Note, Rule: "blind-gate", File: n.File, Line: n.Line, Object: g.Object,
				Message: fmt.Sprintf("%s, but Argo CD has no health check for %s before %s", g.Why, g.Kind, n.Kind.Later), Remedy: wave.UpgradeOrCopy(&n)})
			continue
		}
		unknown = append(unknown, finding.Finding{Severity: finding.Note, Rule: "blind-gate", File: n.File, Line: n.Line, Object: g.Object,
			Message: g.Why + ", but Argo CD has no health check for " + g.Kind + ", and Ladder does not know which status fields mean healthy",
			Remedy:  "write " + health.Key(n.ID.Group, n.ID.Kind) + " to argocd-cm if the status of " + g.Kind + " shows whether it is healthy"})
	}
	return kinds, unknown
}
