package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/finding"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/plugin"
)

func newLint(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lint DIR...",
		Short: "Find what makes components come out otherwise than before",
		Long: `Render components as cmp render does, again and again, and report what makes them
come out otherwise: API versions that the cluster has or not, the version of
Kubernetes, passwords, keys and certificates that templates draw, and the time.
Each finding names the line of the template, the objects that differ, and the
setting or value that decides the matter, if one is found by trying. What stops or
warns a rendering is reported, too. Of a folder with many components, all are looked
at.

cmp check judges the waves of manifests, and cmp fleet lint the phases of a fleet.
Exits with 1 if there is a finding of severity error.`,
		Example: `  cmp lint ./component
  cmp lint ./components --strict -o sarif > lint.sarif`,
		Args: cobra.MinimumNArgs(1),
	}
	in := addInputs(cmd)
	format := formatFlag(cmd, "Format of the report", reportText, reportJSON, reportSARIF)
	strict := cmd.Flags().Bool("strict", false, "Exit with 1 if there are warnings, too")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := knownReport(*format); err != nil {
			return err
		}
		args = directories(s, args)
		var r verdict
		looked := 0
		for _, dir := range args {
			found, components, err := in.lint(cmd, dir)
			if err != nil {
				return err
			}
			r.findings = append(r.findings, found...)
			looked += components
		}
		r.of = counted(looked, "component")
		finding.Sort(r.findings)
		return r.write(s, *format, *strict)
	}
	return cmd
}

// lint renders the component in a directory, or each of a folder of them, and finds
// what varies. The error is one of the command line.
func (in *inputs) lint(cmd *cobra.Command, dir string) (found []finding.Finding, components int, err error) {
	req, base, done, err := in.request(dir)
	var usage usageError
	if errors.As(err, &usage) {
		return nil, 0, err
	}
	if err != nil {
		return finding.Of(err), 1, nil
	}
	defer done()
	found, err = lintOne(cmd.Context(), req, base)
	if err == nil {
		return found, 1, nil
	}
	all := in.folderOf(req)
	if len(all) == 0 {
		return finding.Of(err), 1, nil
	}
	for _, req.Dir = range all {
		req.DirName = ""
		some, err := lintOne(cmd.Context(), req, base)
		found = append(append(found, some...), finding.Of(err)...)
	}
	return found, len(all), nil
}

// lintOne finds what varies in the component of a request. The error is why it does
// not render.
func lintOne(ctx context.Context, req plugin.Request, base *knowledge.Base) ([]finding.Finding, error) {
	res, err := plugin.Generate(ctx, req, base)
	if err != nil {
		return nil, err
	}
	varying, err := req.Vary(ctx, base)
	return append(append(res.Findings, varying...), finding.Of(err)...), nil
}
