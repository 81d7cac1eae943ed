package main

import (
	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/argocd"
	"github.com/ladder-cmp/ladder/internal/build"
	"github.com/ladder-cmp/ladder/internal/checkout"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/inputs"
	"github.com/ladder-cmp/ladder/internal/option"
	"github.com/ladder-cmp/ladder/internal/server"
	"github.com/ladder-cmp/ladder/internal/usage"
	"github.com/ladder-cmp/ladder/internal/verdict"
	"github.com/ladder-cmp/ladder/object"
)

func newDoctor(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor [DIR|FILE|-]...",
		Short: "Check the installation of Ladder in Argo CD",
		Long: `Check an Argo CD installation for everything that the plugin needs: the container with
its volumes, user, probes and memory, the settings of Argo CD, and the plugin fields of
Applications. The input is any of:

  - manifests of Argo CD and Applications, or a directory to render first
  - values of the argo-cd chart
  - a cluster, with --context or --kubeconfig, which is only read

--sandbox checks whether the kernel of this machine or container supports the sandbox of
cmp serve. What is not in the input is not checked.

Exits with 1 if there is an error, or with --strict, a warning.`,
		Example: `  cmp doctor argocd-values.yaml
  cmp doctor ./argo-cd -f your-values.yaml -f argocd-values.yaml
  kustomize build ./argocd | cmp doctor - ./applications
  cmp doctor --context production -o sarif > doctor.sarif
  kubectl -n argocd exec deploy/argocd-repo-server -c ladder -- cmp doctor --sandbox`,
		Args: cobra.ArbitraryArgs,
	}
	in := inputs.Add(cmd, "name", "namespace", "values", "set", "set-string", "set-file", "kube-version", "api-versions")
	flags := cmd.Flags()
	flags.Lookup("namespace").Usage = "Namespace of Argo CD (default: argocd)"
	flags.Lookup("values").Usage = "Values files of the chart argo-cd, later ones win"
	c := argocd.Cluster{Namespace: "argocd", UserAgent: "cmp doctor " + build.Version(release)}
	flags.StringVar(&c.Kubeconfig, "kubeconfig", "", "Kubeconfig of the cluster to check")
	flags.StringVar(&c.Context, "context", "", "Kubeconfig context of the cluster to check")
	confined := flags.Bool("sandbox", false, "Check whether this machine supports the sandbox of cmp serve")
	format := option.Format(cmd, "Format of the report", reportText, reportJSON, reportSARIF)
	strict := strictFlag(flags)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := knownReport(*format); err != nil {
			return err
		}
		live := flags.Changed("kubeconfig") || flags.Changed("context")
		given, err := flags.GetStringSlice("values")
		if err != nil {
			return err
		}
		if *confined && len(args) == 0 && len(given) == 0 && !live {
			found, err := server.ExamineSandbox(workerCommand)
			if err != nil {
				return err
			}
			return writeVerdict(s, verdict.Verdict{Findings: found, Of: "the sandbox of a worker"}, *format, *strict)
		}
		if len(args) == 0 && len(given) == 0 && !live {
			return usage.New("no input; name manifests, values of the argo-cd chart, or a cluster with --context; see cmp doctor --help")
		}
		args = checkout.Once(args)
		if err := fits(in, args); err != nil {
			return err
		}
		e, err := argocd.ReadFiles(args, given, func(arg string) ([]object.Object, error) { return manifestsOf(in, flags, s.In, arg) })
		if usage.Is(err) {
			return err
		}
		if err := argocd.CheckOne(e, live); err != nil {
			return err
		}
		r := verdict.Verdict{Findings: finding.Of(err)}
		if err == nil {
			if n := flags.Lookup("namespace"); n.Changed {
				c.Namespace = n.Value.String()
			}
			if r, err = diagnose(cmd.Context(), e, c, live, *confined); err != nil {
				return err
			}
		}
		return writeVerdict(s, r, *format, *strict)
	}
	return cmd
}
