package fleet

import (
	"github.com/ladder-cmp/ladder/internal/finding"
)

// Failures returns the findings of severity Error.
func Failures(all []finding.Finding) []finding.Finding {
	var failed []finding.Finding
	for _, f := range all {
		if f.Severity == finding.Error {
			failed = append(failed, f)
		}
	}
	return failed
}
