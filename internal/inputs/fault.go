package inputs

import (
	"slices"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/locate"
	"github.com/ladder-cmp/ladder/internal/usage"
	"github.com/ladder-cmp/ladder/plugin"
	"github.com/ladder-cmp/ladder/render/helm"
)

// Fault returns why a component of a request is not rendered. If that is because it is a
// directory of components, each of its files is at fault, and no remedy for any of
// them helps. If a flag cannot be what it is, whatever is rendered with it, the error is
// one of the command line.
func (in *Component) Fault(req plugin.Request, err error) error {
	if err == nil {
		return nil
	}
	if !in.IsSet("renderer") {
		err = locate.NotComponent(in.cmd.Name(), req, err)
	}
	return in.blamed(err)
}

// blamed marks an error as one of the command line if a flag cannot be what it is,
// whatever is rendered with it.
func (in *Component) blamed(err error) error {
	if err == nil {
		return nil
	}
	settings, wrong := in.Settings()
	if wrong != nil {
		return err
	}
	misspelt := map[finding.Finding]bool{}
	for _, f := range finding.Of(settings.Values.SyntaxErrors()) {
		misspelt[f] = true
	}
	if slices.ContainsFunc(finding.Of(err), func(f finding.Finding) bool {
		return misspelt[f] || f.Rule == helm.BadName && settings.Name != ""
	}) {
		return usage.Error{Err: err}
	}
	return err
}
