package inputs

import (
	"slices"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/locate"
	"github.com/ladder-cmp/ladder/internal/usage"
	"github.com/ladder-cmp/ladder/plugin"
	"github.com/ladder-cmp/ladder/render/helm"
)

// Fault converts the error of a rendering for the user. For a directory of components it
// returns one error that says so, instead of an error for each file. If a flag is invalid
// for every component, it returns a usage error.
func (in *Component) Fault(req plugin.Request, err error) error {
	if err == nil {
		return nil
	}
	if !in.IsSet("renderer") {
		err = locate.NotComponent(in.cmd.Name(), req, err)
	}
	return in.asUsageError(err)
}

// asUsageError converts an error to a usage error if it is about a flag that is invalid
// for every component.
func (in *Component) asUsageError(err error) error {
	if err == nil {
		return nil
	}
	settings, wrong := in.Settings()
	if wrong != nil {
		return err
	}
	syntaxErrors := map[finding.Finding]bool{}
	for _, f := range finding.Of(settings.Values.SyntaxErrors()) {
		syntaxErrors[f] = true
	}
	if slices.ContainsFunc(finding.Of(err), func(f finding.Finding) bool {
		return syntaxErrors[f] || f.Rule == helm.BadName && settings.Name != ""
	}) {
		return usage.Error{Err: err}
	}
	return err
}
