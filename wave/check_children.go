package wave

import (
	"fmt"

	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/internal/finding"
)

// stuckChildren reports Applications that Argo CD waits for and that do not become healthy by
// themselves, and those that it rejects: one finding for each reason.
func (s *simulation) stuckChildren() []finding.Finding {
	type cause struct {
		graph.Stuck
		awaited bool
	}
	var causes []cause
	nodes := map[cause][]int{}
	for i, n := range s.Graph.Nodes {
		c := cause{n.Stuck, s.awaits(i)}
		if n.Stuck.Why == "" || s.at[i] == never || !c.awaited && !n.Stuck.Refused {
			continue
		}
		if nodes[c] == nil {
			causes = append(causes, c)
		}
		nodes[c] = append(nodes[c], i)
	}
	var found []finding.Finding
	for _, c := range causes {
		first := nodes[c][0]
		n := &s.Graph.Nodes[first]
		var also string
		if others := nodes[c][1:]; len(others) > 0 {
			var names []string
			for _, i := range others {
				names = append(names, s.Graph.Nodes[i].Key.String())
			}
			also = " (the same applies to " + finding.Few(names) + ")"
		}
		message := "this Application does not become healthy: " + c.Why
		switch {
		case c.awaited && n.HasHealth:
			message = fmt.Sprintf("Argo CD waits for this object %s, but %s, so the sync hangs", s.at[first], c.Why)
		case c.awaited:
			message = fmt.Sprintf("with a health check for Applications, Argo CD waits for this object %s, but %s, so the sync hangs",
				s.at[first], c.Why)
		}
		f := s.finding(first, finding.Warning, "doubtful-gate", message+also, c.Fix)
		f.About = c.Why
		found = append(found, f)
	}
	return found
}
