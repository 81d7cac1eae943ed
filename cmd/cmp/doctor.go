package main

import (
	"bytes"
	"context"
	"io"
	"os/exec"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ladder-cmp/ladder/argocd/cluster"
	"github.com/ladder-cmp/ladder/argocd/doctor"
	"github.com/ladder-cmp/ladder/internal/checkout"
	"github.com/ladder-cmp/ladder/internal/cli"
	"github.com/ladder-cmp/ladder/internal/cli/flags"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/wholefile"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/plugin"
	"github.com/ladder-cmp/ladder/sidecar/serve"
	"github.com/ladder-cmp/ladder/wave"
)

func newDoctor(s cli.Streams) *cobra.Command {
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
	in := flags.AddRendering(cmd, "name", "namespace", "values", "set", "set-string", "set-file", "kube-version", "api-versions")
	flags := cmd.Flags()
	flags.Lookup("namespace").Usage = "Namespace of Argo CD (default: argocd)"
	flags.Lookup("values").Usage = "Values files for the argo-cd Helm chart; later ones override earlier ones"
	d := installation{Stdin: s.In, Worker: workerCommand}
	var cluster clusterInput
	cluster.addFlags(cmd, "the cluster to check")
	flags.BoolVar(&d.Sandbox, "sandbox", false, "Check whether this machine supports the sandbox of cmp serve")
	format := cli.Format(cmd, "Format of the report", cli.Text, cli.JSON, cli.SARIF)
	strict := cli.StrictFlag(flags)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var err error
		if d.Options, err = in.Options(); err != nil {
			return err
		}
		d.Cluster = cluster.named()
		r, err := d.check(cmd.Context(), checkout.Unique(args))
		if err != nil {
			return err
		}
		r.Named = args
		return s.Report(r, *format, *strict)
	}
	return cmd
}

// installation is an installation of Argo CD to check: files, directories and a cluster.
type installation struct {
	Options flags.Options
	Stdin   io.Reader
	// Cluster is nil for a check without a cluster.
	Cluster *cluster.Cluster
	// Sandbox also checks whether this machine supports the sandbox of a worker, which Worker
	// starts.
	Sandbox bool
	Worker  func(remember bool) *exec.Cmd
}

// check checks the files and directories in the arguments, the cluster and the sandbox.
func (d installation) check(ctx context.Context, args []string) (r cli.Report, err error) {
	values := d.Options.Settings.Values.Files
	if len(args) == 0 && len(values) == 0 && d.Cluster == nil {
		if !d.Sandbox {
			return r, finding.Usage("no input; pass manifests, values for the argo-cd chart, or a cluster with --context; see cmp doctor --help")
		}
		found, err := serve.ExamineSandbox(d.Worker)
		return cli.Report{Findings: found, Scope: "the sandbox of a worker"}, err
	}
	if err := d.checkFlags(args); err != nil {
		return r, err
	}
	stdin, err := d.readStdin(args)
	if err != nil {
		return cli.Report{Findings: finding.Of(err)}, nil
	}
	d.Stdin = bytes.NewReader(stdin)
	e, err := cluster.ReadFiles(args, values, stdin, func(arg string) ([]object.Object, error) { return d.manifestsOf(ctx, arg) })
	if finding.IsUsage(err) {
		return r, err
	}
	if err := cluster.CheckOne(e, d.Cluster != nil); err != nil {
		return r, err
	}
	if err != nil {
		return cli.Report{Findings: finding.Of(err)}, nil
	}
	return d.diagnose(ctx, e)
}

// readStdin reads standard input, which may contain manifests or values, if it is among the
// arguments.
func (d installation) readStdin(args []string) ([]byte, error) {
	if !slices.Contains(args, "-") {
		return nil, nil
	}
	text, err := io.ReadAll(d.Stdin)
	if err != nil {
		return nil, finding.Finding{Severity: finding.Error, Rule: finding.NotFound, File: finding.StandardInput,
			Message: wholefile.Reason(err), Remedy: "pipe manifests or values for the argo-cd chart into the command"}
	}
	return text, nil
}

// diagnose checks the installation that was read and, if requested, the cluster and the
// sandbox.
func (d installation) diagnose(ctx context.Context, e doctor.Input) (r cli.Report, err error) {
	if d.Cluster != nil {
		cluster := *d.Cluster
		if d.Options.IsSet("namespace") {
			cluster.Namespace = d.Options.Settings.Namespace
		}
		found, err := cluster.Read(ctx)
		if err != nil {
			return r, err
		}
		e.Objects, e.Live = append(e.Objects, found.Objects...), true
		r.Findings = found.Findings
	}
	if d.Sandbox {
		found, err := serve.ExamineSandbox(d.Worker)
		if err != nil {
			return r, err
		}
		r.Findings = append(r.Findings, found...)
	}
	e.ParseServe, e.ReadLadder = serve.FlagsOf, serve.ReadLadder
	r.Findings = append(r.Findings, cluster.Examine(ctx, e)...)
	r.Scope = cluster.Described(e)
	return r, nil
}

// checkFlags rejects flags that apply to none of the arguments.
func (d installation) checkFlags(args []string) error {
	isChart, isDir := slices.ContainsFunc(args, cluster.IsChart), slices.ContainsFunc(args, checkout.IsDir)
	for _, name := range []string{"set", "set-string", "set-file"} {
		if d.Options.IsSet(name) && !isChart {
			return finding.Usagef("--%s applies only to the argo-cd chart; pass the directory of the chart", name)
		}
	}
	for _, name := range []string{"name", "kube-version", "api-versions"} {
		if d.Options.IsSet(name) && !isDir {
			return finding.Usagef("--%s applies only to directories to render; remove the flag, or pass a directory", name)
		}
	}
	return nil
}

// manifestsOf reads a file of manifests, or renders a directory without computing waves.
func (d installation) manifestsOf(ctx context.Context, arg string) ([]object.Object, error) {
	if !checkout.IsDir(arg) {
		return checkout.ReadManifests(d.Stdin, arg)
	}
	opt := d.Options
	if !cluster.IsChart(arg) {
		opt.Settings = opt.Settings.WithoutValues() // those of the flags are for the chart only
	}
	res, err := opt.Generate(ctx, arg, plugin.Settings{Name: "argocd", Namespace: "argocd", Waves: wave.Off})
	return res.Objects, err
}

// clusterInput contains the flags that name a cluster.
type clusterInput struct {
	cluster.Cluster
	flags *pflag.FlagSet
	cmd   *cobra.Command
}

// addFlags adds the flags to a command. of ends their help.
func (c *clusterInput) addFlags(cmd *cobra.Command, of string) {
	c.cmd, c.flags, c.Namespace = cmd, cmd.Flags(), "argocd"
	c.flags.StringVar(&c.Kubeconfig, "kubeconfig", "", "Kubeconfig of "+of)
	c.flags.StringVar(&c.Context, "context", "", "Kubeconfig context of "+of)
}

// isSet reports whether the flags name a cluster.
func (c *clusterInput) isSet() bool {
	return c.flags.Changed("kubeconfig") || c.flags.Changed("context")
}

// named returns the cluster that the flags name; nil if they name none.
func (c *clusterInput) named() *cluster.Cluster {
	if !c.isSet() {
		return nil
	}
	return c.current()
}

// current returns the cluster of the flags, by default the current context.
func (c *clusterInput) current() *cluster.Cluster {
	cluster := c.Cluster
	cluster.UserAgent = c.cmd.CommandPath() + " " + cli.Version(release)
	return &cluster
}
