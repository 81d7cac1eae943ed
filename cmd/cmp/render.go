package main

import (
	"io"

	"github.com/spf13/cobra"
)

func newRender(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "render DIR",
		Short: "Print the manifests of a component with their sync waves",
		Long: `Print the manifests of the component in DIR in the order in which Argo CD applies
them, with their computed sync waves and otherwise as rendered.`,
		Example: `  cmp render ./component
  cmp render ./chart --name shop --namespace shop -f values-prod.yaml --set image.tag=v2`,
		Args: cobra.ExactArgs(1),
	}
	in := addInputs(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		res, err := in.generate(cmd, args[0])
		if err != nil {
			return err
		}
		warn(s, res.Findings)
		_, err = io.WriteString(s.Out, res.YAML())
		return err
	}
	return cmd
}
