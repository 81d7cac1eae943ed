package command

import (
	"errors"
	"os"
	"path"
	"path/filepath"

	"github.com/ladder-cmp/ladder/fleet/generate"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/wholefile"
)

// upToDate reports how a committed file differs from the output that would be written.
func upToDate(file string, generated []generate.Manifest) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return finding.Finding{Severity: finding.Error, Rule: finding.NotFound, File: file, Message: wholefile.Reason(err),
			Remedy: "use the committed file, or generate it with cmp fleet apps > " + file}
	}
	differences, err := generate.Differences(string(text), generated)
	if err != nil {
		return finding.Finding{Severity: finding.Error, Rule: "invalid-yaml", File: file, Message: err.Error(), Remedy: "generate the file again"}
	}
	var all []error
	for _, d := range differences {
		all = append(all, finding.Finding{Severity: finding.Error, Rule: "out-of-date", File: file, Line: d.Line, Field: d.Path,
			Message: d.Message, Remedy: "generate the file again"})
	}
	return errors.Join(all...)
}

// bootstrapped reports how a directory written by cmp fleet bootstrap differs from what Argo
// CD would sync from the same components.
func bootstrapped(dir string, generated generate.Bundle) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return finding.Finding{Severity: finding.Error, Rule: finding.NotFound, File: dir, Message: wholefile.Reason(err),
			Remedy: "use the directory that cmp fleet bootstrap --out wrote"}
	}
	written := map[string]string{}
	for _, e := range entries {
		if name := e.Name(); e.Type().IsRegular() && (path.Ext(name) == ".yaml" || name == generate.ScriptFile) {
			text, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				return finding.Finding{Severity: finding.Error, Rule: finding.NotFound, File: filepath.Join(dir, name),
					Message: wholefile.Reason(err), Remedy: "allow reading it"}
			}
			written[name] = string(text)
		}
	}
	var all []error
	for _, found := range generated.Check(written) {
		found.File = path.Join(filepath.ToSlash(dir), found.File)
		all = append(all, found)
	}
	return errors.Join(all...)
}
