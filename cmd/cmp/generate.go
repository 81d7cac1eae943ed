package main

import (
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/checkout"
	"github.com/ladder-cmp/ladder/internal/fetchers"
	"github.com/ladder-cmp/ladder/internal/ladderfile"
	"github.com/ladder-cmp/ladder/internal/option"
	"github.com/ladder-cmp/ladder/internal/seed"
	"github.com/ladder-cmp/ladder/internal/seedfile"
	"github.com/ladder-cmp/ladder/plugin"
)

func newGenerate(s streams) *cobra.Command {
	var ladder, seedFile *string
	var from *fetchers.Options
	cmd := &cobra.Command{
		Use:   "generate",
		Short: "Generate manifests for Argo CD's own plugin server",
		Long: `Print the manifests of the component in the working directory. This is the command that
plugin.yaml runs. The input is the environment that Argo CD passes to the command of a
plugin: ARGOCD_APP_NAME, ARGOCD_APP_NAMESPACE, ARGOCD_APP_PARAMETERS, ARGOCD_ENV_LADDER_*,
ARGOCD_APP_SOURCE_REPO_URL, KUBE_VERSION and KUBE_API_VERSIONS.`,
		Example: `  cd apps/shop && ARGOCD_APP_NAME=shop ARGOCD_APP_NAMESPACE=shop cmp generate`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			wd, err := os.Getwd()
			if err != nil {
				return err
			}
			env := option.Environment()
			c, err := checkout.OpenAt(checkout.PluginRoot(wd, env["ARGOCD_APP_SOURCE_PATH"]), wd)
			if err != nil {
				return err
			}
			defer c.Close()
			repo, err := checkout.NewUnpacked(c.Root)
			if err != nil {
				return err
			}
			req, err := plugin.FromEnvironment(checkout.Regular{FS: repo}, c.Dir, env)
			if err != nil {
				return err
			}
			req.DirName = c.Name
			seeded, err := seedfile.Read(*seedFile)
			if err != nil {
				return err
			}
			if of, known := plugin.SeedApplication(env); seeded != nil && known {
				req.Random = &plugin.Random{Now: time.Now(), Key: func(seed.Application) seed.Key { return seeded.Key(of) }}
			}
			if req.Remote, err = from.Remote(nil, nil); err != nil {
				return err
			}
			base, err := ladderfile.Base(*ladder)
			if err != nil {
				return err
			}
			res, err := plugin.Generate(cmd.Context(), req, base)
			if err != nil {
				return err
			}
			warn(s, res.Findings)
			_, err = io.WriteString(s.Out, res.YAML())
			return err
		},
	}
	ladder = ladderfile.Flag(cmd.Flags())
	seedFile = seedfile.Flag(cmd.Flags())
	from = fetchers.Add(cmd.Flags(), "")
	return cmd
}
