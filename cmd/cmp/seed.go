package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/argocd/cluster"
	"github.com/ladder-cmp/ladder/internal/cli"
	"github.com/ladder-cmp/ladder/internal/cli/flags"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/render/random"
	"github.com/ladder-cmp/ladder/render/repeat"
)

func newSeed(s cli.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "seed [flags]",
		Short: "Print a new seed for generated passwords, keys and certificates",
		Long: `Charts generate passwords, keys and certificates. With a seed, Ladder derives them, so
that they are the same on every render.

Print a new seed of 256 random bits. Protect it like a private key: anyone who has it can
compute every password that is derived from it. If you lose it, Ladder can no longer
derive these passwords; only the copies in the cluster remain.`,
		Example: `  cmp seed > seed && kubectl -n argocd create secret generic ladder-seed --from-file=seed`,
		Args:    cli.Args(0, 0),
		RunE: func(*cobra.Command, []string) error {
			return s.Emit(flags.NewSeed(), nil)
		},
	}
	cmd.AddCommand(newSeedAdopt(s))
	return cmd
}

func newSeedAdopt(s cli.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "adopt DIR",
		Short: "Print chart values that preserve the generated passwords that are in a cluster",
		Long: `Find the Secrets whose content the component in DIR generates, read these Secrets from the
cluster, and print chart values with which the component renders the same content. If no
value can do this, print how to keep the Secret. Each value is verified by rendering.

The output contains the content of the Secrets. With --output, only the owner of the file
can read it. Only Secrets with generated fields are read, and nothing is written.`,
		Example: `  cmp seed adopt ./chart --name shop --namespace shop -o adopted.yaml
  cmp seed adopt ./chart --name shop --namespace shop --context production | vault kv put secret/shop values=-`,
		Args: cli.Args(1, 1),
	}
	in := flags.AddWithoutSeed(cmd)
	var cluster clusterInput
	cluster.addFlags(cmd, "the cluster")
	output := cli.OutputFile(cmd, "File to write the values to, which only its owner can read, - for standard output",
		"the values", "adopted.yaml")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		opt, err := in.Options()
		if err != nil {
			return err
		}
		adoption, notes, err := adoptSecrets(cmd.Context(), opt, args[0], *cluster.current())
		s.Warn(notes...)
		if err != nil {
			return err
		}
		text, err := adoption.Text()
		if err != nil {
			return err
		}
		s.Warn(adoption.Findings()...)
		return output.Write(s.Out, text, 0o600)
	}
	return cmd
}

// adoptSecrets finds the generated values of the component in dir, and the chart values that keep
// those of a cluster.
func adoptSecrets(ctx context.Context, o flags.Options, dir string,
	c cluster.Cluster) (result repeat.Adoption, notes []finding.Finding, err error) {
	req, base, done, err := o.Open(dir)
	if err != nil {
		return result, nil, err
	}
	defer done()
	if req.Random, err = flags.TemporaryRandom(); err != nil { // for a component that requires a seed
		return result, nil, err
	}
	seeds, err := twoSeeds()
	if err != nil {
		return result, nil, err
	}
	found, err := req.Adopt(ctx, base, seeds)
	if err != nil {
		return result, nil, o.Fault(req, err)
	}
	if len(found.Generated) == 0 {
		return result, []finding.Finding{adoptionNote("%s generates no values of Secrets, so there is nothing to keep", dir)}, nil
	}
	if found.NotTried > 0 {
		notes = append(notes, adoptionNote("%s has too many empty values to test whether each determines a generated one; %d were not tested",
			dir, found.NotTried))
	}
	c.Namespace = found.Secrets()[0].Namespace
	live, err := c.Secrets(ctx, found.Secrets())
	if err != nil {
		return result, notes, err
	}
	result, err = found.Adopt(ctx, live)
	return result, notes, err
}

func adoptionNote(format string, args ...any) finding.Finding {
	return finding.Finding{Severity: finding.Note, Rule: "random", Message: fmt.Sprintf(format, args...)}
}

// twoSeeds generates two seeds, whose values differ wherever a template generates one.
func twoSeeds() (keys [2]random.Key, err error) {
	for i := range keys {
		made, err := random.ParseSeed([]byte(flags.NewSeed()))
		if err != nil {
			return keys, err
		}
		keys[i] = made.Key(random.Owner{})
	}
	return keys, nil
}
