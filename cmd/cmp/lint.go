package main

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/inputs"
	"github.com/ladder-cmp/ladder/internal/locate"
	"github.com/ladder-cmp/ladder/internal/option"
	"github.com/ladder-cmp/ladder/internal/usage"
	"github.com/ladder-cmp/ladder/internal/verdict"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/plugin"
	"github.com/ladder-cmp/ladder/render/helm"
)

func newLint(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lint DIR...",
		Short: "Find non-deterministic output",
		Long: `Render components several times, and report what makes the output differ: API versions of
the cluster, the Kubernetes version, generated passwords, keys and certificates, and the
current time. Each finding names the objects that differ, and the template and line that
probably cause it. Rendering errors and warnings are also reported. If DIR is a directory
of components, lint all of them.

Exits with 1 if there is an error or, with --strict, a warning.`,
		Example: `  cmp lint ./component
  cmp lint ./components --strict -o sarif > lint.sarif`,
		Args: option.Args(1, option.Many),
	}
	in := inputs.Add(cmd)
	format := option.Format(cmd, "Format of the report", reportText, reportJSON, reportSARIF)
	strict := strictFlag(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		args = s.directories(args)
		var r verdict.Verdict
		looked := 0
		for _, dir := range args {
			found, components, err := lint(cmd.Context(), in, dir)
			if err != nil {
				return err
			}
			r.Findings = append(r.Findings, found...)
			looked += components
		}
		r.Scope = finding.Counted(looked, "component")
		finding.Sort(r.Findings)
		return writeVerdict(s, r, *format, *strict)
	}
	return cmd
}

// lint renders the component in a directory, or each component below it, and reports
// non-deterministic output. Its error is about the command line.
func lint(ctx context.Context, in *inputs.Component, dir string) (found []finding.Finding, components int, err error) {
	req, base, done, err := in.Request(dir)
	if usage.Is(err) {
		return nil, 0, err
	}
	if err != nil {
		return finding.Of(err), 1, nil
	}
	defer done()
	found, err = lintOne(ctx, req, base)
	if err == nil {
		return found, 1, nil
	}
	all, left := locate.Components(req)
	if in.Given("renderer") || len(all) == 0 {
		return finding.Of(err), 1, nil
	}
	for _, req.Dir = range all {
		req.DirName = ""
		some, err := lintOne(ctx, req, base)
		if plugin.IsNotDeployed(err) {
			continue
		}
		found = append(append(found, some...), finding.Of(err)...)
	}
	return append(found, left...), len(all), nil
}

// lintOne reports non-deterministic output of a component. Its error is the reason why the
// component cannot be rendered.
func lintOne(ctx context.Context, req plugin.Request, base *knowledge.Base) ([]finding.Finding, error) {
	res, err := plugin.Generate(ctx, req, base)
	if err != nil {
		return nil, err
	}
	varying, err := req.Vary(ctx, base)
	found := slices.DeleteFunc(res.Findings, func(f finding.Finding) bool { return f.Rule == helm.Random }) // varying says more
	return slices.Concat(found, varying, res.RenewalFindings(), res.LookupFindings(), finding.Of(err)), nil
}
