package check

import (
	"context"
	"slices"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/inputs"
	"github.com/ladder-cmp/ladder/internal/locate"
	"github.com/ladder-cmp/ladder/internal/usage"
	"github.com/ladder-cmp/ladder/internal/verdict"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/plugin"
	"github.com/ladder-cmp/ladder/render/helm"
)

// Determinism renders the components in directories several times, and reports
// non-deterministic output.
func Determinism(ctx context.Context, opt inputs.Options, dirs []string) (verdict.Verdict, error) {
	var r verdict.Verdict
	components := 0
	for _, dir := range dirs {
		found, n, err := lintComponents(ctx, opt, dir)
		if err != nil {
			return r, err
		}
		r.Findings = append(r.Findings, found...)
		components += n
	}
	r.Scope = finding.Counted(components, "component")
	finding.Sort(r.Findings)
	return r, nil
}

// lintComponents reports non-deterministic output of the component in a directory, or of each
// component below it.
func lintComponents(ctx context.Context, opt inputs.Options, dir string) (found []finding.Finding, components int, err error) {
	req, base, done, err := opt.Open(dir)
	if usage.Is(err) {
		return nil, 0, err
	}
	if err != nil {
		return finding.Of(err), 1, nil
	}
	defer done()
	found, err = lintComponent(ctx, req, base)
	if err == nil {
		return found, 1, nil
	}
	all, skipped := locate.Components(req)
	if opt.IsSet("renderer") || len(all) == 0 {
		return append(found, finding.Of(err)...), 1, nil
	}
	found = nil
	for _, req.Dir = range all {
		req.DirName = ""
		some, err := lintComponent(ctx, req, base)
		if plugin.IsNotDeployed(err) {
			continue
		}
		found = append(append(found, some...), finding.Of(err)...)
	}
	return append(found, skipped...), len(all), nil
}

// lintComponent reports non-deterministic output of a component. Its error is the reason why the
// component cannot be rendered; the findings are then those up to it.
func lintComponent(ctx context.Context, req plugin.Request, base *knowledge.Base) ([]finding.Finding, error) {
	res, err := plugin.Generate(ctx, req, base)
	if err != nil {
		return res.Findings, err
	}
	varying, err := req.Vary(ctx, base)
	found := slices.DeleteFunc(res.Findings, func(f finding.Finding) bool { return f.Rule == helm.Random }) // the findings of Vary are more specific
	return slices.Concat(found, varying, res.RenewalFindings(), res.LookupFindings(), finding.Of(err)), nil
}
