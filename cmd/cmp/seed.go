package main

import (
	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/option"
	"github.com/ladder-cmp/ladder/internal/seedfile"
)

func newSeed(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "seed [flags]",
		Short: "Print a new seed for generated passwords, keys and certificates",
		Long: `Charts generate passwords, keys and certificates. With a seed, Ladder derives them, so
that they are the same on every render.

Print a new seed of 256 random bits. Protect it like a private key: anyone who has it can
compute every password that is derived from it. If you lose it, Ladder can no longer
derive these passwords; only the copies in the cluster remain.`,
		Example: `  cmp seed > seed && kubectl -n argocd create secret generic ladder-seed --from-file=seed`,
		Args:    option.Args(0, 0),
		RunE: func(*cobra.Command, []string) error {
			return s.emit(seedfile.New(), nil)
		},
	}
	cmd.AddCommand(newSeedAdopt(s))
	return cmd
}
