package main

import (
	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/inputs"
	"github.com/ladder-cmp/ladder/internal/option"
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
		Args: option.Args(1, 1),
	}
	in := inputs.AddWithoutSeed(cmd)
	var cluster clusterInput
	cluster.addFlags(cmd, "the cluster")
	output := option.OutputFile(cmd, "File to write the values to, which only its owner can read, - for standard output", "the values", "adopted.yaml")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		opt, err := in.Options()
		if err != nil {
			return err
		}
		adoption, notes, err := opt.Adopt(cmd.Context(), args[0], *cluster.current())
		s.warn(notes...)
		if err != nil {
			return err
		}
		text, err := adoption.Text()
		if err != nil {
			return err
		}
		s.warn(adoption.Findings()...)
		return output.Write(s.Out, text, 0o600)
	}
	return cmd
}
