package main

import (
	"context"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/argocd"
	"github.com/ladder-cmp/ladder/argocd/cluster"
	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/command"
	"github.com/ladder-cmp/ladder/fleet/lint"
	"github.com/ladder-cmp/ladder/graph/hooks"
	"github.com/ladder-cmp/ladder/internal/checkout"
	"github.com/ladder-cmp/ladder/internal/cli"
	"github.com/ladder-cmp/ladder/internal/cli/flags"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/locate"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/plugin"
	"github.com/ladder-cmp/ladder/render/helm"
	"github.com/ladder-cmp/ladder/wave"
)

const checkHelp = `Simulate a sync with its waves and hooks, report each object that cannot be applied or
become healthy in its wave, and list what Argo CD waits for in each wave. DIR is a
component to render, with the waves that Ladder computes; with --waves off, with those in
its manifests. FILE or - (standard input) contains manifests with their waves; with
--waves rungs, --waves compact or --hooks order, Ladder computes them.

If DIR is a directory of components, check each of them, and print a line for each
Application; with --changed, those that contain FILE.... If one of them has a
component.yaml, only those that have one are checked, and others get a warning.

With --deterministic, render the components several times instead, and report what makes
the output differ: API versions, the Kubernetes version, generated values, the time.

Exits with 1 if there is an error or, with --strict, a warning.`

func newCheck(s cli.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check DIR...|FILE|- | --changed FILE...",
		Short: "Check sync waves by simulating a sync, or find non-deterministic output",
		Long:  checkHelp,
		Example: `  cmp check ./component
  cmp check ./components --deterministic --strict
  kustomize build ./overlay | cmp check - -o sarif > waves.sarif
  git diff --name-only main | xargs cmp check --changed`,
	}
	in := command.AddAny(cmd, "Check only the components deployed in this environment")
	in.ExpandSets()
	cmd.Flags().Lookup("waves").Usage = "Which waves to check. rungs, compact: those that Ladder computes; " +
		"off: those in the manifests (default: rungs for directories, off for FILE and -)"
	cli.PutFlags(cmd.Flags(), cli.OwnFlags, "waves") // the text above names it
	in.ForBoth("waves")
	in.ForComponent("generator-values")
	in.Fleet.AddProjects()
	in.ForFleet("allow-project")
	var argoCD clusterInput
	argoCD.addFlags(cmd, "the cluster of Argo CD, whose version and health checks in argocd-cm are read")
	changed := cmd.Flags().Bool("changed", false, "Check the components that contain the named files")
	in.ForComponent("changed")
	deterministic := cmd.Flags().Bool("deterministic", false, "Render components several times, and report what differs and why")
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if *changed {
			return nil // without files, there are no components to check
		}
		return cli.Args(1, cli.Many)(cmd, args)
	}
	format := cli.Format(cmd, "Format of the report", cli.Text, cli.JSON, cli.SARIF)
	strict := cli.StrictFlag(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *deterministic {
			return checkDeterminism(cmd, s, in, args, *format, *strict)
		}
		isFleet := !*changed && in.AnyFleet(checkout.Dirs(args), nil)
		if err := in.Reject(isFleet, args); err != nil {
			return err
		}
		if err := readArgoCD(cmd.Context(), s, in, argoCD.named()); err != nil {
			return err
		}
		if isFleet {
			return checkFleet(cmd.Context(), s, in, args, *format, *strict)
		}
		opt, err := in.Options()
		if err != nil {
			return err
		}
		var r cli.Report
		if *changed {
			r, err = checkChanged(cmd.Context(), opt, args)
		} else {
			r, err = checkNamed(cmd.Context(), opt, s.In, args)
		}
		if err != nil {
			return err
		}
		r.Named = args
		return s.Report(r, *format, *strict)
	}
	return cmd
}

// readArgoCD reads which health checks an Argo CD has, if the command line names a cluster.
func readArgoCD(ctx context.Context, s cli.Streams, in *command.Any, from *cluster.Cluster) error {
	if from == nil {
		return nil
	}
	var found []finding.Finding
	var err error
	in.ArgoCD, found, err = from.ArgoCD(ctx)
	s.Warn(found...)
	return err
}

// checkDeterminism reports non-deterministic output of components, also of each component of a
// fleet with the flags for one.
func checkDeterminism(cmd *cobra.Command, s cli.Streams, in *command.Any, dirs []string, format string, strict bool) error {
	for _, flag := range []string{"changed", "waves", "parallel", "allow-project", "argocd-version", "context", "kubeconfig"} {
		if in.IsSet(flag) {
			return finding.Usagef("--%s has no effect with --deterministic; remove one of the two", flag)
		}
	}
	for _, arg := range dirs {
		if !checkout.IsDir(arg) {
			return finding.Usagef("%s is not a directory; --deterministic renders components, so name their directories", arg)
		}
	}
	opt, err := in.Options()
	if err != nil {
		return err
	}
	r, err := determinismOf(cmd.Context(), opt, s.Directories(dirs))
	if err != nil {
		return err
	}
	r.Named = dirs
	return s.Report(r, format, strict)
}

func checkFleet(ctx context.Context, s cli.Streams, in *command.Any, dirs []string, format string, strict bool) error {
	opt, err := in.FleetOptions()
	if err != nil {
		return err
	}
	settings, err := in.Settings()
	if err != nil {
		return err
	}
	opt.Source.Waves = settings.Waves
	r, err := command.CheckFleet(ctx, opt, command.Arguments(s, dirs))
	if err != nil {
		return err
	}
	r.Named = dirs
	return s.Report(r, format, strict)
}

// checkNamed checks the arguments: several components, or one of a component, a file of manifests and
// standard input.
func checkNamed(ctx context.Context, opt flags.Options, stdin io.Reader, args []string) (cli.Report, error) {
	if len(args) > 1 {
		return all(ctx, opt, args)
	}
	return one(ctx, opt, stdin, args[0])
}

// checkChanged checks the components that contain some files, with the waves that the plugin
// would compute.
func checkChanged(ctx context.Context, opt flags.Options, files []string) (cli.Report, error) {
	dirs, skipped := locate.Touched(files)
	r, err := all(ctx, opt, dirs)
	r.Findings = slices.DeleteFunc(r.Findings,
		func(f finding.Finding) bool { return f.Rule == plugin.NotDeployed }) // the user did not name these components
	r.Findings = append(r.Findings, skipped...)
	finding.Sort(r.Findings)
	return r, err
}

// one checks a component, with the waves that Ladder computes, or manifests, with their own;
// unless flags select others.
func one(ctx context.Context, opt flags.Options, stdin io.Reader, arg string) (cli.Report, error) {
	var res plugin.Result
	var err error
	var found []finding.Finding
	waves := cli.Computed
	if checkout.IsDir(arg) {
		res, found, err = checkComponent(ctx, opt, arg)
	} else {
		var defaults []plugin.Settings
		if opt.Settings.Hooks != hooks.Order && opt.Settings.Waves == "" {
			defaults = []plugin.Settings{{Waves: wave.Off}}
		}
		res, err = opt.Annotate(stdin, arg, defaults...)
		found = append(res.AllFindings(), notExpandedNotes(res.Objects)...)
	}
	if finding.IsUsage(err) {
		return cli.Report{}, err
	}
	if err != nil { // report that the manifests cannot be ordered as a finding, not as an error of the command
		return cli.Report{Findings: append(finding.Of(err), found...)}, nil
	}
	switch {
	case !res.Plan.Computes(): // component.yaml may say so, too
		waves = cli.Written
	case slices.ContainsFunc(res.Plan.Places, func(p wave.Placement) bool { return p.Author }):
		waves = cli.Following
	}
	return cli.Report{Findings: found, Plan: res.Plan, Gates: res.Plan.Audit(res.Base), Waves: waves}, nil
}

// all checks several components one after the other.
func all(ctx context.Context, opt flags.Options, dirs []string) (cli.Report, error) {
	r := cli.Report{Scope: finding.Counted(len(dirs), "component"), Waves: checkedWaves(opt)}
	for _, dir := range dirs {
		if !checkout.IsDir(dir) {
			return r, finding.Usagef("%s is not a directory; check files one at a time, or use --changed for the components that contain them", dir)
		}
		_, found, err := checkComponent(ctx, opt, dir)
		if finding.IsUsage(err) {
			return r, err
		}
		r.Findings = slices.Concat(r.Findings, found, finding.Of(err))
	}
	finding.Sort(r.Findings)
	return r, nil
}

// checkedWaves returns which waves of components are checked.
func checkedWaves(opt flags.Options) cli.CheckedWaves {
	if opt.Settings.Waves == wave.Off {
		return cli.Written
	}
	return cli.Computed
}

// notExpandedNotes returns a note for each ApplicationSet of a file, because it is not expanded.
func notExpandedNotes(objs []object.Object) []finding.Finding {
	var all []finding.Finding
	for _, o := range objs {
		if argocd.IsSet(o.ID) {
			all = append(all, finding.Finding{Severity: finding.Note, Rule: finding.NotRendered, File: o.File, Line: o.Line, Object: o.ID.String(),
				Message: "an ApplicationSet in a file is not expanded, so its Applications are not checked",
				Remedy:  "name the directory of the file in its repository"})
		}
	}
	return all
}

// checkComponent renders a component, and adds to its findings what it requests although only the
// platform may set it.
func checkComponent(ctx context.Context, opt flags.Options, dir string) (plugin.Result, []finding.Finding, error) {
	res, err := opt.Generate(ctx, dir)
	found, overreachErr := overreach(ctx, opt, dir)
	if overreachErr != nil {
		return res, res.AllFindings(), err // the rendering reports the files that cannot be read
	}
	// The refused ones are in found, as errors.
	rendering := slices.DeleteFunc(res.AllFindings(), func(f finding.Finding) bool { return f.Rule == knowledge.RefusedRule })
	return res, append(rendering, found...), err
}

// overreach finds what a component requests although only the platform may set it, by the settings
// of the platform above its directory.
func overreach(ctx context.Context, opt flags.Options, dir string) ([]finding.Finding, error) {
	base, err := opt.Base()
	if err != nil {
		return nil, err
	}
	c, err := checkout.Open(dir)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	f, err := fleet.Load(ctx, fleet.Source{Repo: c.Repo, NoRepository: c.NoRepository, Dirs: []string{c.Dir}, Show: c.Show,
		SkipRendering: true}, base)
	if err != nil {
		return nil, err
	}
	return lint.Overreach(f, ""), nil
}

// determinismOf renders the components in directories several times, and reports
// non-deterministic output.
func determinismOf(ctx context.Context, opt flags.Options, dirs []string) (cli.Report, error) {
	var r cli.Report
	components := 0
	for _, dir := range dirs {
		found, n, err := determinismIn(ctx, opt, dir)
		if err != nil {
			return r, err
		}
		r.Findings = append(r.Findings, found...)
		components += n
	}
	r.Scope = finding.Counted(components, "component")
	finding.Sort(r.Findings)
	return r, nil
}

// determinismIn reports non-deterministic output of the component in a directory, or of each
// component below it.
func determinismIn(ctx context.Context, opt flags.Options, dir string) (found []finding.Finding, components int, err error) {
	req, base, done, err := opt.Open(dir)
	if finding.IsUsage(err) {
		return nil, 0, err
	}
	if err != nil {
		return finding.Of(err), 1, nil
	}
	defer done()
	found, err = determinismOfOne(ctx, req, base)
	if err == nil {
		return found, 1, nil
	}
	all, skipped := locate.Components(req)
	if opt.IsSet("renderer") || len(all) == 0 {
		return append(found, finding.Of(err)...), 1, nil
	}
	found = nil
	for _, req.Dir = range all {
		req.DirName = ""
		some, err := determinismOfOne(ctx, req, base)
		if plugin.IsNotDeployed(err) {
			continue
		}
		found = append(append(found, some...), finding.Of(err)...)
	}
	return append(found, skipped...), len(all), nil
}

// determinismOfOne reports non-deterministic output of a component. Its error is the reason why the
// component cannot be rendered; the findings are then those up to it.
func determinismOfOne(ctx context.Context, req plugin.Request, base *knowledge.Base) ([]finding.Finding, error) {
	res, err := plugin.Generate(ctx, req, base)
	if err != nil {
		return res.Findings, err
	}
	varying, err := req.Vary(ctx, base)
	// The findings of Vary are more specific.
	found := slices.DeleteFunc(res.Findings, func(f finding.Finding) bool { return f.Rule == helm.Random })
	return slices.Concat(found, varying, res.RenewalFindings(), res.LookupFindings(), finding.Of(err)), nil
}
