package main

import (
	"strings"

	"github.com/ladder-cmp/ladder/internal/finding"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/argocd/install"
	"github.com/ladder-cmp/ladder/internal/cli"
)

func newInstall(s cli.Streams) *cobra.Command {
	var files []string
	var o install.Options
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Print Helm values or a kustomize component that adds the plugin to Argo CD",
		Long: `Print values for the argo-cd Helm chart, or a kustomize component, with everything that
adds the plugin to Argo CD: the repo-server sidecar with the image of this version, the
health check for Applications, and a setting that keeps Argo CD from sending the git
history to plugins. No file or cluster is changed.

With --file, print your own values or kustomization with these additions. Your containers,
settings and comments are kept; only the image of a "ladder" container is replaced.
Running the command again on its output changes nothing.`,
		Example: `  cmp install --print values -f your-values.yaml > argocd-values.yaml
  cmp install --print kustomize --image registry.example.com/ladder:v1.2.3 > ladder/kustomization.yaml
  cmp install --print kustomize -f kustomization.yaml --image registry.example.com/ladder:v1.2.3`,
		Args: cli.Args(0, 0),
	}
	flags := cmd.Flags()
	form := cli.Choice(cmd, "print", "What to print: values (for the argo-cd Helm chart) or kustomize (a kustomize component)",
		install.FormValues, install.FormKustomize)
	flags.StringArrayVarP(&files, "file", "f", nil, `Your values or kustomization.yaml to merge into; "-" is standard input`)
	flags.StringVar(&o.Image, "image", "", "Image of the sidecar, preferably with a digest (default: that of this release)")
	flags.BoolVar(&o.UI, "ui", false, "Also add the extension that shows in Argo CD's user interface what a sync waits for")
	cmd.RunE = func(*cobra.Command, []string) error {
		if len(files) > 1 {
			return finding.Usagef(
				"--file names one file to merge into, not %d; use the one that sets repoServer, and pass the others to Helm as before", len(files))
		}
		o.Released = install.Image(cli.ThisBuild(release).Version)
		merged, err := install.Merge(s.In, strings.Join(files, ""), *form, o)
		if err := s.Emit(merged.Text, err); err != nil {
			return err
		}
		if merged.AddsHealth {
			s.Note("the health check for Applications lets the sync of an app of apps wait for its children, and fail if one is Degraded; " +
				"before you apply it, see what cmp doctor --context says of yours")
		}
		return nil
	}
	return cmd
}
