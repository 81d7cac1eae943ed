package main

import (
	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/cli"
	"github.com/ladder-cmp/ladder/internal/cli/flags"
)

func newGenerate(s cli.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "generate",
		Short: "Generate manifests for Argo CD's own plugin server",
		Long: `Print the manifests of the component in the working directory. This is the command that
plugin.yaml runs. The input is the environment that Argo CD passes to the command of a
plugin: ARGOCD_APP_NAME, ARGOCD_APP_NAMESPACE, ARGOCD_APP_PARAMETERS, ARGOCD_ENV_LADDER_*,
ARGOCD_APP_SOURCE_REPO_URL, KUBE_VERSION and KUBE_API_VERSIONS.`,
		Example: `  cd apps/shop && ARGOCD_APP_NAME=shop ARGOCD_APP_NAMESPACE=shop cmp generate`,
		Args:    cli.Args(0, 0),
	}
	in := flags.AddEnvironment(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		res, err := in.Generate(cmd.Context())
		if err != nil {
			s.WarnFailed(res.Findings)
			return err
		}
		s.Warn(res.Findings...)
		return s.Emit(res.YAML(), nil)
	}
	return cmd
}
