package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/krm"
	"github.com/ladder-cmp/ladder/internal/ladderfile"
	"github.com/ladder-cmp/ladder/internal/usage"
)

func newFn(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "fn",
		Short: "Add sync waves to a ResourceList, as a KRM function for kustomize and kpt",
		Long: `Read a ResourceList from standard input, add the computed sync waves to its items,
and write it to standard output with the findings as results: a KRM function for
kustomize and kpt. The items keep their order; items for tools, such as a Kptfile,
are not changed.

The functionConfig is a ConfigMap. Its data are parameters: ` + strings.Join(ordering, ", ") + `.
The key ` + krm.LadderKey + ` holds the text of such a file. Nothing else is read.

Exits with 1 if there is a finding of severity error, such as existing waves that
cannot work. The list is written anyway, and the findings are also printed to
standard error.`,
		Example: `  kustomize build --enable-alpha-plugins --enable-exec ./overlay
  kpt fn eval ./package --exec "cmp fn" -- waves=compact
  cmp fn < resource-list.yaml`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage.Errorf("cmp fn reads standard input and takes no %s; write cmp fn < %s, or cmp annotate %s if it holds manifests", args[0], args[0], args[0])
			}
			return nil
		},
	}
	cmd.RunE = func(*cobra.Command, []string) error {
		base, err := ladderfile.Base("")
		if err != nil {
			return err
		}
		list, findings, err := krm.Run(s.In, base, ordering)
		if _, writing := s.Out.Write(list); writing != nil {
			return writing
		}
		if err != nil {
			return err
		}
		warn(s, findings)
		for _, f := range findings {
			if f.Severity == finding.Error {
				return errReported
			}
		}
		return nil
	}
	return cmd
}
