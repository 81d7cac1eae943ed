package main

import (
	"io"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/applications"
	"github.com/ladder-cmp/ladder/fleet/lint"
	"github.com/ladder-cmp/ladder/fleet/manifest"
	"github.com/ladder-cmp/ladder/fleet/show"
	"github.com/ladder-cmp/ladder/internal/checkout"
	"github.com/ladder-cmp/ladder/internal/finding"
)

func newFleetAppset(s streams) *cobra.Command {
	var opt applications.SetOptions
	var check string
	cmd := &cobra.Command{
		Use:   "appset DIR...",
		Short: "Generate the ApplicationSet that rolls out the fleet step by step",
		Long: `Print an ApplicationSet that creates an Application for each component.yaml and syncs them
step by step (RollingSync). If several environments share a cluster, print two: the first
contains the components that exist once per cluster.

The steps need progressive syncs, which are disabled by default: set
applicationsetcontroller.enable.progressive.syncs to "true" in the argocd-cmd-params-cm
ConfigMap.

Exits with 1 if there is an error or, with --check, if the file is outdated.`,
		Example: `  cmp fleet appset ./components > argocd/platform.yaml
  cmp fleet appset ./components --check argocd/platform.yaml`,
	}
	in := addFleetInputs(cmd)
	addTarget(cmd.Flags(), &opt.Options, "ApplicationSet")
	in.addProjects(cmd.Flags())
	flags := cmd.Flags()
	template := flags.String("template", "", "File with an ApplicationSet to use as a template; only generators, steps and source are replaced")
	flags.BoolVar(&opt.AllSteps, "all-steps", false, "Also generate the steps of the profile that no component uses")
	flags.BoolVar(&opt.Preserve, "preserve", false, "When an Application or the ApplicationSet is deleted, keep the resources of the Applications")
	flags.StringVar(&opt.ArgoCD, "argocd-version", "", "Argo CD release to generate for, such as 2.14 (default: the latest)")
	flags.StringVar(&check, "check", "", "Compare with a committed file, and exit with 1 if it is outdated")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var err error
		if opt.Template, err = ownTemplate(*template, "ApplicationSet"); err != nil {
			return err
		}
		f, err := in.loadTarget(cmd, s, args, &opt.Options)
		if err != nil {
			return err
		}
		sets, faults, err := applications.Sets(f, opt)
		if err != nil {
			warn(s, lint.Failures(f, opt.Environment))
			return noteUnproven(s, err)
		}
		warn(s, append(lint.Rendering(f, opt.Environment, nil), faults...))
		if check != "" {
			return show.UpToDate(check, sets)
		}
		if _, err := io.WriteString(s.Out, manifest.YAML(sets...)); err != nil {
			return err
		}
		note(s, `the steps need progressive syncs; set applicationsetcontroller.enable.progressive.syncs: "true" in the argocd-cmd-params-cm ConfigMap`)
		return nil
	}
	return cmd
}

// addTarget adds the flags for the destination of a fleet to a command that generates
// some kind of manifests.
func addTarget(flags *pflag.FlagSet, t *applications.Options, manifests string) {
	flags.StringVar(&t.RepoURL, "repo-url", "", "Repository of the components (default: fleet.repoURL in ladder.yaml)")
	flags.StringVar(&t.Revision, "revision", "", "Branch, tag or commit to deploy (default: fleet.revision in ladder.yaml, or HEAD)")
	flags.BoolVar(&t.AllowBlocked, "unproven", false, "Generate the "+manifests+" even if cmp fleet lint reports that the rollout cannot finish; these errors become warnings")
}

// noteUnproven prints a note about --unproven if the only errors are that the rollout cannot
// finish.
func noteUnproven(s streams, err error) error {
	if !slices.ContainsFunc(finding.Of(err), func(f finding.Finding) bool { return !lint.BlocksRollout(f.Rule) }) {
		note(s, "this rollout would never end, so nothing was written; fix the errors, or use --unproven")
	}
	return err
}

// loadTarget loads a fleet whose components Argo CD finds by their paths in the repository. It
// loads all environments, because only together they show what belongs to the cluster.
func (in *fleetInputs) loadTarget(cmd *cobra.Command, s streams, dirs []string, t *applications.Options) (*fleet.Fleet, error) {
	t.Environment, in.source.Environment = in.source.Environment, ""
	f, err := in.load(cmd, s, dirs)
	if err != nil {
		return nil, err
	}
	c, err := checkout.Open(dirs[0])
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if checkout.GitRoot(c.Base) == "" {
		return nil, finding.Finding{Severity: finding.Error, Rule: "no-checkout", File: dirs[0], Message: "not in a git repository, so the paths of the components in it are unknown",
			Remedy: "run it in a checkout, or run git init in the root of the repository"}
	}
	return f, nil
}
