package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ladder-cmp/ladder/internal/inputs"
	"github.com/ladder-cmp/ladder/internal/krm"
	"github.com/ladder-cmp/ladder/internal/option"
	"github.com/ladder-cmp/ladder/internal/usage"
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
repository applies; component.yaml does not.

If the input is a ResourceList, which kustomize and kpt pass to KRM functions, so is the
output: items keep their order, and findings become results. The functionConfig is a
ConfigMap with any of
` + strings.Join(inputs.Ordering, ", ") + `,
` + krm.LadderKey + `; nothing else is read. Exits with 1 on errors, after printing the list.`,
		Example: `  helm template shop ./chart | cmp annotate
  kustomize build ./overlay | cmp annotate --namespace shop > manifests.yaml
  kustomize build --enable-alpha-plugins --enable-exec ./overlay
  kpt fn eval ./package --exec "cmp annotate" -- waves=compact`,
		Args: option.Args(0, 1),
	}
	in := inputs.Add(cmd, inputs.Ordering...)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		file := append(args, "-")[0]
		list, rest := krm.Peek(s.In, file)
		if list {
			if err := rejectOrderingFlags(cmd.Flags()); err != nil {
				return err
			}
			return runFunction(s, rest)
		}
		if file == "-" {
			s.In = rest
		}
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

// rejectOrderingFlags rejects flags for a ResourceList, which has its own settings.
func rejectOrderingFlags(flags *pflag.FlagSet) error {
	for _, name := range append(slices.Clone(inputs.Ordering), "ladder") {
		if flags.Changed(name) {
			return usage.Errorf("--%s is for manifests, but the input is a ResourceList; remove the flag, and set it in the functionConfig of the list", name)
		}
	}
	return nil
}
