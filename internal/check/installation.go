package check

import (
	"bytes"
	"context"
	"io"
	"os/exec"
	"slices"

	"github.com/ladder-cmp/ladder/argocd/cluster"
	"github.com/ladder-cmp/ladder/argocd/doctor"
	"github.com/ladder-cmp/ladder/internal/checkout"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/inputs"
	"github.com/ladder-cmp/ladder/internal/server"
	"github.com/ladder-cmp/ladder/internal/usage"
	"github.com/ladder-cmp/ladder/internal/verdict"
	"github.com/ladder-cmp/ladder/internal/wholefile"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/plugin"
	"github.com/ladder-cmp/ladder/wave"
)

// Installation is an installation of Argo CD to check: files, directories and a cluster.
type Installation struct {
	Options inputs.Options
	Stdin   io.Reader
	// Cluster is nil for a check without a cluster.
	Cluster *cluster.Cluster
	// Sandbox also checks whether this machine supports the sandbox of a worker, which Worker
	// starts.
	Sandbox bool
	Worker  func(remember bool) *exec.Cmd
}

// Check checks the files and directories in the arguments, the cluster and the sandbox.
func (d Installation) Check(ctx context.Context, args []string) (r verdict.Verdict, err error) {
	values := d.Options.Settings.Values.Files
	if len(args) == 0 && len(values) == 0 && d.Cluster == nil {
		if !d.Sandbox {
			return r, usage.New("no input; pass manifests, values for the argo-cd chart, or a cluster with --context; see cmp doctor --help")
		}
		found, err := server.ExamineSandbox(d.Worker)
		return verdict.Verdict{Findings: found, Scope: "the sandbox of a worker"}, err
	}
	if err := d.checkFlags(args); err != nil {
		return r, err
	}
	stdin, err := d.readStdin(args)
	if err != nil {
		return verdict.Verdict{Findings: finding.Of(err)}, nil
	}
	d.Stdin = bytes.NewReader(stdin)
	e, err := cluster.ReadFiles(args, values, stdin, func(arg string) ([]object.Object, error) { return d.manifestsOf(ctx, arg) })
	if usage.Is(err) {
		return r, err
	}
	if err := cluster.CheckOne(e, d.Cluster != nil); err != nil {
		return r, err
	}
	if err != nil {
		return verdict.Verdict{Findings: finding.Of(err)}, nil
	}
	return d.diagnose(ctx, e)
}

// readStdin reads standard input, which may contain manifests or values, if it is among the
// arguments.
func (d Installation) readStdin(args []string) ([]byte, error) {
	if !slices.Contains(args, "-") {
		return nil, nil
	}
	text, err := io.ReadAll(d.Stdin)
	if err != nil {
		return nil, finding.Finding{Severity: finding.Error, Rule: "no-file", File: finding.StandardInput, Message: wholefile.Reason(err), Remedy: "pipe manifests or values for the argo-cd chart into the command"}
	}
	return text, nil
}

// diagnose checks the installation that was read and, if requested, the cluster and the
// sandbox.
func (d Installation) diagnose(ctx context.Context, e doctor.Input) (r verdict.Verdict, err error) {
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
		found, err := server.ExamineSandbox(d.Worker)
		if err != nil {
			return r, err
		}
		r.Findings = append(r.Findings, found...)
	}
	r.Findings = append(r.Findings, cluster.Examine(ctx, e)...)
	r.Scope = cluster.Described(e)
	return r, nil
}

// checkFlags rejects flags that apply to none of the arguments.
func (d Installation) checkFlags(args []string) error {
	isChart, isDir := slices.ContainsFunc(args, cluster.IsChart), slices.ContainsFunc(args, checkout.IsDir)
	for _, name := range []string{"set", "set-string", "set-file"} {
		if d.Options.IsSet(name) && !isChart {
			return usage.Errorf("--%s applies only to the argo-cd chart; pass the directory of the chart", name)
		}
	}
	for _, name := range []string{"name", "kube-version", "api-versions"} {
		if d.Options.IsSet(name) && !isDir {
			return usage.Errorf("--%s applies only to directories to render; remove the flag, or pass a directory", name)
		}
	}
	return nil
}

// manifestsOf reads a file of manifests, or renders a directory without computing waves.
func (d Installation) manifestsOf(ctx context.Context, arg string) ([]object.Object, error) {
	if !checkout.IsDir(arg) {
		return checkout.ReadManifests(d.Stdin, arg)
	}
	opt := d.Options
	if !cluster.IsChart(arg) {
		opt.Settings = opt.Settings.WithoutValues() // those of the flags are for the chart only
	}
	res, err := opt.Generate(ctx, arg, plugin.Settings{Name: "argocd", Namespace: "argocd", Order: wave.Options{Waves: wave.Off}})
	return res.Objects, err
}
