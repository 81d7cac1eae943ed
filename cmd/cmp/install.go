package main

import (
	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/build"
	"github.com/ladder-cmp/ladder/internal/install"
	"github.com/ladder-cmp/ladder/internal/option"
)

func newInstall(s streams) *cobra.Command {
	var (
		form, file string
		o          install.Options
	)
	const values, kustomize = "values", "kustomize"
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Print Helm values or a kustomization that add the plugin to Argo CD",
		Long: `Print values of the argo-cd Helm chart, or a kustomization, that add the plugin to
Argo CD: the sidecar of the repo-server in this version, the health check of
Applications, and the settings that fit them. Nothing is written or applied.

With --file, print your own values or kustomization with these additions. Whatever
is in it stays: other containers, your settings of the container ladder, comments.
Only the image of the container changes, to that of --image or of this version.
Merging a second time changes nothing.`,
		Example: `  cmp install --print values -f your-values.yaml > argocd-values.yaml
  cmp install --print kustomize --image registry.example.com/ladder:v1.2.3 > ladder/kustomization.yaml
  cmp install --print kustomize -f kustomization.yaml --image registry.example.com/ladder:v1.2.3`,
		Args: cobra.NoArgs,
	}
	flags := cmd.Flags()
	flags.StringVar(&form, "print", values, "What to print: values of the argo-cd Helm chart, or a kustomization")
	option.Choices(cmd, "print", values, kustomize)
	flags.StringVarP(&file, "file", "f", "", `Your values or kustomization.yaml to merge into; "-" is standard input`)
	flags.StringVar(&o.Image, "image", "", "Image of the sidecar, best with its digest (default: that of this release)")
	cmd.RunE = func(*cobra.Command, []string) error {
		if err := option.OneOf("print", form, values, kustomize); err != nil {
			return err
		}
		text, err := install.ReadFile(s.In, file)
		if err != nil {
			return err
		}
		o.Released = install.Image(build.This(release).Version)
		write := install.Values
		if form == kustomize {
			write = install.Kustomization
		}
		merged, err := write(text, o)
		if err != nil && file != "" {
			return install.InFile(file, err)
		}
		return emit(s, merged, err)
	}
	return cmd
}
