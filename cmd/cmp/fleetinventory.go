package main

import (
	"io"

	"github.com/spf13/cobra"
)

func newFleetInventory(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "inventory DIR...",
		Short:   "List the components of a fleet by phase",
		Example: `  cmp fleet inventory ./components`,
	}
	in := addFleetInputs(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		f, err := in.load(cmd, s, args)
		if err != nil {
			return err
		}
		warn(s, f.Findings)
		_, err = io.WriteString(s.Out, f.String())
		return err
	}
	return cmd
}
