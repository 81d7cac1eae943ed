package main

import (
	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/check"
	"github.com/ladder-cmp/ladder/internal/inputs"
	"github.com/ladder-cmp/ladder/internal/option"
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
		opt, err := in.Options()
		if err != nil {
			return err
		}
		r, err := check.Determinism(cmd.Context(), opt, s.withoutFiles(args))
		if err != nil {
			return err
		}
		return writeVerdict(s, r, *format, *strict)
	}
	return cmd
}
