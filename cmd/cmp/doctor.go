package main

import (
	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/check"
	"github.com/ladder-cmp/ladder/internal/checkout"
	"github.com/ladder-cmp/ladder/internal/inputs"
	"github.com/ladder-cmp/ladder/internal/option"
)

func newDoctor(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor [DIR|FILE|-]...",
		Short: "Check the installation of Ladder in Argo CD",
		Long: `Check an Argo CD installation for everything that the plugin needs: the container with
its volumes, user, probes and memory, and the settings of Argo CD. The input is any of:

  - manifests of Argo CD and Applications, or a directory to render first
  - values for the argo-cd Helm chart
  - a cluster (read-only), with --context or --kubeconfig

Only what is in the input is checked. --sandbox checks whether the kernel of this machine
or container supports the sandbox of cmp serve.

Exits with 1 if there is an error or, with --strict, a warning.`,
		Example: `  cmp doctor argocd-values.yaml
  cmp doctor ./argo-cd -f argocd-values.yaml
  kustomize build ./argocd | cmp doctor - ./applications
  cmp doctor --context production -o sarif > doctor.sarif
  kubectl -n argocd exec deploy/argocd-repo-server -c ladder -- cmp doctor --sandbox`,
		Args: cobra.ArbitraryArgs,
	}
	in := inputs.Add(cmd, "name", "namespace", "values", "set", "set-string", "set-file", "kube-version", "api-versions")
	flags := cmd.Flags()
	flags.Lookup("namespace").Usage = "Namespace of Argo CD (default: argocd)"
	flags.Lookup("values").Usage = "Values files for the argo-cd Helm chart; later ones override earlier ones"
	d := check.Installation{Stdin: s.In, Worker: workerCommand}
	var cluster clusterInput
	cluster.addFlags(cmd, "the cluster to check")
	flags.BoolVar(&d.Sandbox, "sandbox", false, "Check whether this machine supports the sandbox of cmp serve")
	format := option.Format(cmd, "Format of the report", reportText, reportJSON, reportSARIF)
	strict := strictFlag(flags)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var err error
		if d.Options, err = in.Options(); err != nil {
			return err
		}
		d.Cluster = cluster.named()
		r, err := d.Check(cmd.Context(), checkout.Unique(args))
		if err != nil {
			return err
		}
		return writeVerdict(s, r, *format, *strict)
	}
	return cmd
}
