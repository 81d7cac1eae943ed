package wave

import (
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
)

// Check simulates the sync of a plan.
func (p *Plan) Check(base *knowledge.Base) []finding.Finding { return newSimulation(p, base).check() }
