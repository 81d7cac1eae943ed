package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/plugin"
)

func newGenerate(s streams) *cobra.Command {
	var ladder *string
	var from *fetching
	cmd := &cobra.Command{
		Use:   "generate",
		Short: "Print the manifests of the component in the working directory, as Argo CD's plugin command",
		Long: `Print the manifests of the component in the working directory. Everything else
comes from the environment that Argo CD gives to a plugin's command:
ARGOCD_APP_NAME, ARGOCD_APP_NAMESPACE, ARGOCD_APP_PARAMETERS, ARGOCD_ENV_LADDER_*,
ARGOCD_APP_SOURCE_REPO_URL, KUBE_VERSION, KUBE_API_VERSIONS. This is what plugin.yaml runs.`,
		Example: `  cd apps/shop && ARGOCD_APP_NAME=shop ARGOCD_APP_NAMESPACE=shop cmp generate`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			wd, err := os.Getwd()
			if err != nil {
				return err
			}
			env := environment()
			c, err := openCheckoutAt(pluginRoot(wd, env["ARGOCD_APP_SOURCE_PATH"]), wd)
			if err != nil {
				return err
			}
			defer c.close()
			repo, err := newUnpacked(c.root)
			if err != nil {
				return err
			}
			req, err := plugin.FromEnvironment(regularFS{repo}, c.dir, env)
			if err != nil {
				return err
			}
			req.DirName = c.name
			if req.Remote, err = from.remote(nil, nil); err != nil {
				return err
			}
			base, err := knowledgeBase(*ladder)
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
	ladder = ladderFlag(cmd.Flags())
	from = remoteFlags(cmd.Flags(), "")
	return cmd
}

// pluginRoot finds the repository around the working directory of a plugin
// command. Argo CD unpacks it to a temporary directory and starts the command
// in the Application's path below it. Where the path does not tell, the nearest
// .git does. An Application with manifest-generate-paths gets a part of the
// repository and is started in the end of its path; the more of the path fits,
// the smaller is the part that is missing. Failing all that, nothing outside of
// the working directory is read.
func pluginRoot(wd, sourcePath string) string {
	path := filepath.Clean(filepath.FromSlash("/" + sourcePath))
	if base := below(wd, path); base != "" {
		return base
	}
	if base := gitRoot(wd); base != "" {
		return base
	}
	for rest := path[1:]; rest != ""; {
		if base := below(wd, "/"+rest); base != "" {
			return base
		}
		_, rest, _ = strings.Cut(rest, string(filepath.Separator))
	}
	return wd
}

// below returns the directory that wd is path below, or "" if it is not.
func below(wd, path string) string {
	base, ok := strings.CutSuffix(wd, filepath.FromSlash(path))
	if !ok || path == string(filepath.Separator) {
		return ""
	}
	return base
}

func environment() map[string]string {
	env := map[string]string{}
	for _, entry := range os.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		env[name] = value
	}
	return env
}
