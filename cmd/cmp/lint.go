package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/finding"
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
warns a rendering is reported, too.

cmp check judges the waves of manifests, and cmp fleet lint the phases of a fleet.
Exits with 1 if there is a finding of severity error.`,
		Example: `  cmp lint ./component
  cmp lint ./components/* --strict -o sarif > lint.sarif`,
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
		r := verdict{of: counted(len(args), "component")}
		for _, dir := range args {
			found, err := in.lint(cmd, dir)
			if err != nil {
				return err
			}
			r.findings = append(r.findings, found...)
		}
		finding.Sort(r.findings)
		return r.write(s, *format, *strict)
	}
	return cmd
}

// lint renders the component in a directory, and finds what varies in it. The
// error is one of the command line.
func (in *inputs) lint(cmd *cobra.Command, dir string) ([]finding.Finding, error) {
	req, base, done, err := in.request(dir)
	var usage usageError
	if errors.As(err, &usage) {
		return nil, err
	}
	if err != nil {
		return finding.Of(err), nil
	}
	defer done()
	res, err := plugin.Generate(cmd.Context(), req, base)
	if err != nil {
		return finding.Of(in.notOne(cmd, req, err)), nil
	}
	varying, err := req.Vary(cmd.Context(), base)
	return append(append(res.Findings, varying...), finding.Of(err)...), nil
}
