package fleet

import (
	"github.com/ladder-cmp/ladder/internal/finding"
)

// Failures are the findings without which more would be known of the needs.
func Failures(all []finding.Finding) []finding.Finding {
	var failed []finding.Finding
	for _, f := range all {
		if f.Severity == finding.Error {
			failed = append(failed, f)
		}
	}
	return failed
}
