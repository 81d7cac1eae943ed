package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/checkout"
	"github.com/ladder-cmp/ladder/internal/cli"
	"github.com/ladder-cmp/ladder/internal/cli/flags"
	"github.com/ladder-cmp/ladder/plugin"
)

func newRender(s cli.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "render DIR|FILE|-",
		Short: "Print the manifests of a component, or of another tool, with their sync waves",
		Long: `Print the manifests of the component in DIR in the order in which Argo CD applies
them, with computed sync waves. FILE or - (standard input) contains manifests that another
tool rendered: the ladder.yaml beside it or above it applies, component.yaml does not. By
default, only annotations for waves and sync options are added.

Exits with 1 and prints nothing if the manifests cannot be rendered or ordered. Other
errors, such as a deadlock in existing waves, are reported on standard error, but the
command still prints the manifests and exits with 0. With --strict, it prints nothing and
exits with 1 if there is an error or a warning.`,
		Example: `  cmp render ./component
  cmp render ./chart --name shop --namespace shop -f values-prod.yaml --set image.tag=v2
  kustomize build ./overlay | cmp render - --namespace shop > manifests.yaml`,
		Args: cli.Args(1, 1),
		// What scores orders from outside pipes manifests through cmp annotate.
		Aliases: []string{"annotate"},
	}
	in := flags.AddRendering(cmd)
	strict := cmd.Flags().Bool("strict", false, "Print nothing and exit with 1 if there are errors or warnings")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		res, err := renderAny(cmd.Context(), s, in, args[0])
		if err != nil {
			s.WarnFailed(res.Findings)
			return err
		}
		if err := s.WarnStrictly(res.Findings, *strict); err != nil {
			return err
		}
		return s.Emit(res.YAML(), nil)
	}
	return cmd
}

// renderAny orders a component, a file of manifests, or those of standard input.
func renderAny(ctx context.Context, s cli.Streams, in *flags.Rendering, arg string) (plugin.Result, error) {
	opt, err := in.Options()
	if err != nil {
		return plugin.Result{}, err
	}
	if checkout.IsDir(arg) {
		return opt.Generate(ctx, arg)
	}
	return opt.Annotate(s.In, arg)
}
