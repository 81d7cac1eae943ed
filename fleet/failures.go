package fleet

import (
	"fmt"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/render/helm"
)

// condensed returns the errors of a component with a single one about failed templates: in a
// fleet, the others usually have the same cause, and hide the errors of other components.
func condensed(all []finding.Finding) []finding.Finding {
	var kept []finding.Finding
	first, others := -1, 0
	for _, f := range all {
		switch {
		case f.Rule != helm.FailedTemplate:
			kept = append(kept, f)
		case first < 0:
			first = len(kept)
			kept = append(kept, f)
		default:
			others++
		}
	}
	if others > 0 {
		kept[first].Message += fmt.Sprintf("; errors in other templates of the component: %d", others)
	}
	return kept
}
