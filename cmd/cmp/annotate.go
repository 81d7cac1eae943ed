package main

import (
	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/inputs"
	"github.com/ladder-cmp/ladder/internal/option"
	"github.com/ladder-cmp/ladder/plugin"
)

func newAnnotate(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "annotate [FILE]",
		Short: "Add sync waves to rendered manifests",
		Long: `Read manifests from FILE or standard input, and print them in the order in which Argo CD
applies them, with their computed sync waves. By default, only annotations for waves and
sync options are added. This makes cmp a post-renderer for any tool. A ladder.yaml in the
directory of FILE (for standard input, in the working directory) or above it in the
repository applies; component.yaml does not.`,
		Example: `  helm template shop ./chart | cmp annotate
  kustomize build ./overlay | cmp annotate --namespace shop > manifests.yaml`,
		Args: option.Args(0, 1),
	}
	in := inputs.Add(cmd, inputs.Ordering...)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		file := append(args, "-")[0]
		opt, err := in.Options()
		if err != nil {
			return err
		}
		res, err := opt.Annotate(s.In, file, plugin.Settings{})
		if err != nil {
			return err
		}
		s.warn(res.Findings...)
		return s.emit(res.YAML(), nil)
	}
	return cmd
}
