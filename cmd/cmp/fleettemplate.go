package main

import (
	"os"

	"github.com/ladder-cmp/ladder/fleet/applications"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/wholefile"
)

// ownTemplate reads the file of --template; nil if it has no name.
func ownTemplate(file, kind string) (*applications.OwnTemplate, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, finding.Finding{Severity: finding.Error, Rule: "no-file", File: file, Message: wholefile.Reason(err), Remedy: "correct --template"}
	}
	return applications.NewOwnTemplate(file, kind, text)
}
