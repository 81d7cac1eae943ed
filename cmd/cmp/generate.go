package main

import (
	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/inputs"
	"github.com/ladder-cmp/ladder/internal/option"
)

func newGenerate(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "generate",
		Short: "Generate manifests for Argo CD's own plugin server",
		Long: `Print the manifests of the component in the working directory. This is the command that
plugin.yaml runs. The input is the environment that Argo CD passes to the command of a
plugin: ARGOCD_APP_NAME, ARGOCD_APP_NAMESPACE, ARGOCD_APP_PARAMETERS, ARGOCD_ENV_LADDER_*,
ARGOCD_APP_SOURCE_REPO_URL, KUBE_VERSION and KUBE_API_VERSIONS.`,
		Example: `  cd apps/shop && ARGOCD_APP_NAME=shop ARGOCD_APP_NAMESPACE=shop cmp generate`,
		Args:    option.Args(0, 0),
	}
	in := inputs.AddEnvironment(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		res, err := in.Generate(cmd.Context())
		if err != nil {
			s.warn(res.Findings...)
			return err
		}
		s.warn(res.Findings...)
		return s.emit(res.YAML(), nil)
	}
	return cmd
}
