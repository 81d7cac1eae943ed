package show

import (
	"errors"
	"os"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/wholefile"
)

// UpToDate says where a committed file is not what would be written.
func UpToDate(file string, made []fleet.Manifest) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return finding.Finding{Severity: finding.Error, Rule: "no-file", File: file, Message: wholefile.Reason(err), Remedy: "name the committed file, or write it with cmp fleet " + "appset > " + file}
	}
	differences, err := fleet.Differences(string(text), made)
	if err != nil {
		return finding.Finding{Severity: finding.Error, Rule: "bad-yaml", File: file, Message: err.Error(), Remedy: "write the file again"}
	}
	var all []error
	for _, d := range differences {
		all = append(all, finding.Finding{Severity: finding.Error, Rule: "out-of-date", File: file, Line: d.Line, Field: d.Path, Message: d.Message, Remedy: "write the file again"})
	}
	return errors.Join(all...)
}
