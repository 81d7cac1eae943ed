package main

import (
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/manifests"
	"github.com/ladder-cmp/ladder/plugin"
)

// ordering are the parameters that say how to order manifests, whoever
// rendered them.
var ordering = []string{"namespace", "waves", "author-waves", "explain", "jobs", "tests", "crds", "crds-prune"}

func newAnnotate(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "annotate [FILE]",
		Short: "Add sync waves to rendered manifests",
		Long: `Read manifests from FILE, or from standard input if it is "-" or missing, and
print them in the order in which Argo CD applies them, with their computed sync
waves and otherwise unchanged. This makes cmp a post-renderer for any tool.

A ladder.yaml in the directory of FILE, or above it in the repository, applies as
for a component; for standard input, those of the working directory apply. A
component.yaml is not read.`,
		Example: `  helm template shop ./chart | cmp annotate
  kustomize build ./overlay | cmp annotate --namespace shop > manifests.yaml`,
		Args: cobra.MaximumNArgs(1),
	}
	in := addInputs(cmd, ordering...)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		res, err := in.annotate(s, append(args, "-")[0], plugin.Settings{})
		if err != nil {
			return err
		}
		warn(s, res.Findings)
		_, err = io.WriteString(s.Out, res.YAML())
		return err
	}
	return cmd
}

// beside is the directory whose ladder.yaml holds for manifests: that of their
// file, or the working directory if they come through a pipe.
func beside(file string) string {
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
		return "."
	}
	return filepath.Dir(file)
}

// annotate orders the manifests of a file. Flags win over the given defaults.
func (in *inputs) annotate(s streams, file string, defaults plugin.Settings) (plugin.Result, error) {
	settings, err := in.settings()
	if err != nil {
		return plugin.Result{}, err
	}
	objs, err := manifests.Read(s.In, file)
	if err != nil {
		return plugin.Result{}, err
	}
	base, err := in.ladderBeside(beside(file))
	if err != nil {
		return plugin.Result{}, err
	}
	return plugin.Annotate(objs, base, defaults, settings)
}
