package flags

import (
	"slices"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/locate"
	"github.com/ladder-cmp/ladder/plugin"
	"github.com/ladder-cmp/ladder/render/helm"
)

// Fault converts the error of a rendering for the user. For a directory of components it
// returns one error that says so, instead of an error for each file. If a flag is invalid
// for every component, it returns a usage error.
func (o Options) Fault(req plugin.Request, err error) error {
	if err == nil {
		return nil
	}
	if !o.IsSet("renderer") {
		err = locate.NotComponent(o.Command, req, err)
	}
	return o.asUsageError(err)
}

// asUsageError converts an error to a usage error if it is about a flag that is invalid
// for every component.
func (o Options) asUsageError(err error) error {
	syntaxErrors := map[finding.Finding]bool{}
	for _, f := range finding.Of(o.Settings.Values.SyntaxErrors()) {
		syntaxErrors[f] = true
	}
	if slices.ContainsFunc(finding.Of(err), func(f finding.Finding) bool {
		return syntaxErrors[f] || f.Rule == helm.BadName && o.Settings.Name != ""
	}) {
		return finding.UsageError{Err: err}
	}
	return err
}
