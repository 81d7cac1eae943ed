package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/inputs"
	"github.com/ladder-cmp/ladder/internal/krm"
	"github.com/ladder-cmp/ladder/internal/ladderfile"
	"github.com/ladder-cmp/ladder/internal/usage"
)

func newFn(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:    "fn",
		Hidden: true,
		Short:  "Add sync waves to a ResourceList, as cmp annotate does",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage.Errorf("cmp fn reads standard input and takes no %s; use cmp annotate %s", args[0], args[0])
			}
			return nil
		},
	}
	cmd.RunE = func(*cobra.Command, []string) error { return runFunction(s, s.In) }
	return cmd
}

// runFunction annotates a ResourceList, as a KRM function.
func runFunction(s streams, in io.Reader) error {
	base, err := ladderfile.Base("")
	if err != nil {
		return err
	}
	list, findings, err := krm.Run(in, base, inputs.Ordering)
	if _, writeErr := s.Out.Write(list); writeErr != nil {
		return writeErr
	}
	if err != nil {
		return err
	}
	s.warn(findings...)
	if finding.Err(findings) != nil {
		return errReported
	}
	return nil
}
