package main

import (
	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/fleet/scaffold"
	"github.com/ladder-cmp/ladder/internal/cli"
	"github.com/ladder-cmp/ladder/internal/cli/flags"
)

func newInit(s cli.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "init DIR...",
		Short: "Write a component.yaml for a directory",
		Long: `Write a component.yaml to each DIR with the name, the namespace if the manifests have one,
the description of the chart, and whether to move the CRDs to a separate Application.
Below a ladder.yaml with a fleet profile, also write the domain and the earliest possible
rolloutPhase. A key whose value is unknown is written as a comment. The first line refers
to the component.schema.json of a parent directory or its docs directory.

With --recursive, write a component.yaml for each component below DIR: every chart and
kustomization that no other one refers to. Bases, kustomizations of kind Component, and
those that only group other components or Applications are not components.

An existing component.yaml is not changed, except with --force.`,
		Example: `  cmp init ./components/vault
  cmp init ./components/* --print
  cmp init --recursive .`,
		Args: cli.Args(1, cli.Many),
	}
	set := cmd.Flags()
	force := set.Bool("force", false, "Add missing keys to an existing component.yaml")
	recursive := set.BoolP("recursive", "R", false, "Write one for each component below the directories")
	printOnly := set.Bool("print", false, "Print the result instead of writing it")
	ladder := flags.LadderFlag(set)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		base, err := flags.KnowledgeOf(*ladder)
		if err != nil {
			return err
		}
		in, found, err := scaffold.Begin(cmd.Context(), base, args, scaffold.Options{Recursive: *recursive, Force: *force})
		s.Warn(found...)
		if err != nil {
			return err
		}
		defer in.Close()
		if !*printOnly {
			if err := in.Write(); err != nil {
				return err
			}
		}
		return s.Emit(in.Text(*printOnly), nil)
	}
	return cmd
}
