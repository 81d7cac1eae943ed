package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/argocd"
	"github.com/ladder-cmp/ladder/internal/build"
	"github.com/ladder-cmp/ladder/internal/complete"
	"github.com/ladder-cmp/ladder/internal/inputs"
	"github.com/ladder-cmp/ladder/internal/seed"
	"github.com/ladder-cmp/ladder/internal/seedfile"
	"github.com/ladder-cmp/ladder/internal/usage"
	"github.com/ladder-cmp/ladder/internal/wholefile"
	"github.com/ladder-cmp/ladder/render/adopt"
)

func newSeedAdopt(s streams) *cobra.Command {
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
		Args: cobra.ExactArgs(1),
	}
	in := inputs.AddSeedless(cmd)
	flags := cmd.Flags()
	c := argocd.Cluster{UserAgent: "cmp seed adopt " + build.Version(release)}
	flags.StringVar(&c.Kubeconfig, "kubeconfig", "", "Kubeconfig of the cluster")
	flags.StringVar(&c.Context, "context", "", "Kubeconfig context of the cluster")
	output := flags.StringP("output", "o", "-", "File to write the values to, which only its owner can read, - for standard output")
	_ = cmd.RegisterFlagCompletionFunc("output", complete.AnyFile) // the flag is there
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if slices.Contains(formatWords, *output) {
			return usage.Errorf("--output names the file of the values here, and %q is a format of other commands; write -o adopted.yaml, or -o ./%s for a file of that name", *output, *output)
		}
		adoption, err := adoptSeed(cmd.Context(), s, in, args[0], c)
		if err != nil {
			return err
		}
		text, err := adoption.Text()
		if err != nil {
			return err
		}
		warn(s, adoption.Findings())
		if *output == "-" {
			_, err = io.WriteString(s.Out, text)
			return err
		}
		if err := wholefile.WriteFile(*output, []byte(text), 0o600); err != nil {
			return fmt.Errorf("%s: %s; name a file that can be written", *output, wholefile.Reason(err))
		}
		return nil
	}
	return cmd
}

// adoptSeed finds the generated values of the component in a directory, and the chart values
// that keep those of the cluster.
func adoptSeed(ctx context.Context, s streams, in *inputs.Component, dir string, c argocd.Cluster) (adopt.Adoption, error) {
	req, base, done, err := in.Request(dir)
	if err != nil {
		return adopt.Adoption{}, err
	}
	defer done()
	if req.Random, err = inputs.Throwaway(); err != nil { // for a component that demands a seed
		return adopt.Adoption{}, err
	}
	var seeds [2]seed.Key
	for i := range seeds {
		made, err := seed.Parse([]byte(seedfile.New()))
		if err != nil {
			return adopt.Adoption{}, err
		}
		seeds[i] = made.Key(seed.Application{})
	}
	found, err := req.Adopt(ctx, base, seeds)
	if err != nil {
		return adopt.Adoption{}, in.Fault(req, err)
	}
	if len(found.Generated) == 0 {
		note(s, "%s generates nothing into Secrets, so there is nothing to keep", dir)
		return adopt.Adoption{}, nil
	}
	if found.NotTried > 0 {
		note(s, "%s has so many empty values that %d of them were not tried", dir, found.NotTried)
	}
	c.Namespace = found.Secrets()[0].Namespace
	live, err := c.Secrets(ctx, found.Secrets())
	if err != nil {
		return adopt.Adoption{}, err
	}
	return found.Adopt(ctx, live)
}
