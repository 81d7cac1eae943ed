package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/checkout"
	"github.com/ladder-cmp/ladder/internal/ladderfile"
	"github.com/ladder-cmp/ladder/internal/scaffold"
)

func newInit(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "init DIR...",
		Short: "Write a component.yaml from what is found",
		Long: `Write a component.yaml into each DIR from what is found there: its name, the
namespace if the manifests name one, what its chart says of itself, and whether
its CRDs should be split off. Below a ladder.yaml that has a fleet with a profile,
it also gets its domain and the earliest phase at which it can stand; what has a
phase keeps it. What cannot be found out is a comment. Where cmp fleet schema
wrote a component.schema.json, in a directory above or in docs there, the first
line names it for editors.

A component.yaml that is there stays. With --force, what it does not say is added;
all that it says is kept.`,
		Example: `  cmp init ./components/vault
  cmp init ./components/* --stdout`,
		Args: cobra.MinimumNArgs(1),
	}
	flags := cmd.Flags()
	force := flags.Bool("force", false, "Add what is missing to a component.yaml that is there")
	stdout := flags.Bool("stdout", false, "Print what would be written, and write nothing")
	ladder := ladderFlag(flags)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		base, err := ladderfile.Base(*ladder)
		if err != nil {
			return err
		}
		dirs, err := scaffold.Directories(args)
		if err != nil {
			return err
		}
		c, err := checkout.Open(dirs[0])
		if err != nil {
			return fmt.Errorf("%s: %w", dirs[0], err)
		}
		defer c.Close()
		in, err := scaffold.Begin(cmd.Context(), c, base, dirs, *force)
		if err != nil {
			return err
		}
		warn(s, in.Findings)
		if len(in.Found) == 0 {
			return errors.New("no file is to be written; name directories of components without one, or give --force")
		}
		if !*stdout {
			if err := in.Write(); err != nil {
				return err
			}
		}
		_, err = io.WriteString(s.Out, in.Text(*stdout))
		return err
	}
	return cmd
}
