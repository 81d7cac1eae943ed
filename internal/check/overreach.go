package check

import (
	"context"
	"slices"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/lint"
	"github.com/ladder-cmp/ladder/internal/checkout"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/inputs"
	"github.com/ladder-cmp/ladder/internal/verdict"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/plugin"
)

// component renders a component, and adds to its findings what it requests although only the
// platform may set it. It returns which waves it checked: those in the manifests are not what the
// plugin writes if the component takes hooks into the order.
func component(ctx context.Context, opt inputs.Options, dir string, defaults ...plugin.Settings) (plugin.Result, []finding.Finding, verdict.Waves, error) {
	waves := checkedWaves(opt, defaults...)
	res, err := opt.Generate(ctx, dir, defaultsFor(opt, defaults...)...)
	if res.LeavesHooks && opt.Settings.Order.Waves == "" {
		waves = verdict.Computed
		res, err = opt.Generate(ctx, dir)
	}
	found, overreachErr := overreach(ctx, opt, dir)
	if overreachErr != nil {
		return res, res.AllFindings(), waves, err // the rendering reports the files that cannot be read
	}
	rendering := slices.DeleteFunc(res.AllFindings(), func(f finding.Finding) bool { return f.Rule == knowledge.RefusedRule }) // found, as errors
	return res, append(rendering, found...), waves, err
}

// overreach finds what a component requests although only the platform may set it, by the settings
// of the platform above its directory.
func overreach(ctx context.Context, opt inputs.Options, dir string) ([]finding.Finding, error) {
	base, err := opt.Base()
	if err != nil {
		return nil, err
	}
	c, err := checkout.Open(dir)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	f, err := fleet.Load(ctx, fleet.Source{Repo: c.Repo, NoRepository: c.NoRepository, Dirs: []string{c.Dir}, Show: c.Show, SkipRendering: true}, base)
	if err != nil {
		return nil, err
	}
	return lint.Overreach(f, ""), nil
}
