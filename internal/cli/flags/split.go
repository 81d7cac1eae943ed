package flags

import (
	"context"
	"errors"
	"slices"

	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/internal/checkout"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/plugin"
	"github.com/ladder-cmp/ladder/render"
)

// FindCRDs returns the CRDs that the component in dir can install.
func (o Options) FindCRDs(ctx context.Context, dir string) (plugin.CRDSurvey, error) {
	return With(ctx, o, dir, plugin.FindCRDs)
}

// Split renders the CRDs of the component in dir and the rest of it, whatever its
// component.yaml says about crds.
func (o Options) Split(ctx context.Context, dir string) (halves []checkout.ManifestDir, found []finding.Finding, err error) {
	var faults []error
	for _, half := range []struct {
		dir  string
		mode crds.Mode
	}{{"crds", crds.Only}, {"rest", crds.Skip}} {
		res, err := With(ctx, o, dir, func(ctx context.Context, req plugin.Request, base *knowledge.Base) (plugin.Result, error) {
			req.Settings = append(req.Settings, plugin.Settings{CRDs: half.mode})
			return plugin.Generate(ctx, req, base)
		})
		if err := nothingToSplit(err, half.mode); err != nil {
			if len(faults) == 0 || !slices.Equal(finding.Of(err), finding.Of(faults[0])) { // most errors are those of both halves
				faults = append(faults, err)
			}
			continue
		}
		found = append(found, res.Findings...)
		halves = append(halves, checkout.ManifestDir{Dir: half.dir, Objects: res.Objects})
	}
	return halves, found, errors.Join(faults...)
}

// nothingToSplit returns the error for a half without manifests in terms of splitting, since
// nobody set crds.
func nothingToSplit(err error, mode crds.Mode) error {
	for _, f := range finding.Of(err) {
		switch {
		case f.Rule == plugin.NoCRDs:
			f.Message, f.Remedy = "it has no CRDs, so there is nothing to split", "apply it as it is, or give the values that enable CRDs"
		case f.Rule == render.Empty && mode == crds.Skip:
			f.Message, f.Remedy = "it contains only CRDs, so there is nothing to split", "apply it as it is"
		default:
			continue
		}
		f.Field = ""
		return f
	}
	return err
}
