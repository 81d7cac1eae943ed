package command

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ladder-cmp/ladder/fleet/generate"
	"github.com/ladder-cmp/ladder/fleet/lint"
	"github.com/ladder-cmp/ladder/internal/cli"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/wholefile"
)

func newFleetAppset(s cli.Streams) *cobra.Command {
	var opt generate.SetOptions
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
	in := AddFleet(cmd)
	addTarget(cmd.Flags(), &opt.Options, "ApplicationSet")
	in.AddProjects()
	flags := cmd.Flags()
	template := flags.String("template", "", "File with an ApplicationSet to use as a template; only generators, steps and source are replaced")
	flags.BoolVar(&opt.Preserve, "preserve", false, "When an Application or the ApplicationSet is deleted, keep the resources of the Applications")
	flags.StringVar(&opt.ArgoCD, "argocd-version", "", "Argo CD release to generate for, such as 2.14 (default: the latest)")
	flags.StringVar(&check, "check", "", "Compare with a committed file, and exit with 1 if it is outdated")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var err error
		if opt.Template, err = ownTemplate(*template, "ApplicationSet"); err != nil {
			return err
		}
		opt.Environment = in.Source.Environment
		all, err := loadFleet(cmd.Context(), s, in, args, LoadTarget)
		if err != nil {
			return err
		}
		sets, faults, err := generate.ApplicationSets(all.Fleet, opt)
		if err != nil {
			s.Warn(lint.Failures(all.Fleet, opt.Environment)...)
			return noteUnproven(s, err)
		}
		s.Warn(append(lint.Rendering(all.Fleet, opt.Environment, nil), faults...)...)
		if check != "" {
			return UpToDate(check, sets)
		}
		if err := s.Emit(generate.YAML(sets...), nil); err != nil {
			return err
		}
		s.Note(`the steps need progressive syncs; set applicationsetcontroller.enable.progressive.syncs: "true" in the argocd-cmd-params-cm ConfigMap`)
		return nil
	}
	return cmd
}

// addTarget adds the flags for the destination of a fleet to a command that generates
// some kind of manifests.
func addTarget(flags *pflag.FlagSet, t *generate.Options, manifests string) {
	flags.StringVar(&t.RepoURL, "repo-url", "", "Repository of the components (default: fleet.repoURL in ladder.yaml)")
	flags.StringVar(&t.Revision, "revision", "", "Branch, tag or commit to deploy (default: fleet.revision in ladder.yaml, or HEAD)")
	flags.BoolVar(&t.AllowBlocked, "unproven", false,
		"Generate the "+manifests+" even if cmp fleet lint reports that the rollout cannot finish; these errors become warnings")
}

// noteUnproven prints a note about --unproven if the only errors are that the rollout cannot
// finish.
func noteUnproven(s cli.Streams, err error) error {
	if !slices.ContainsFunc(finding.Of(err), func(f finding.Finding) bool { return !lint.BlocksRollout(f.Rule) }) {
		s.Note("this rollout would never end, so nothing was written; fix the errors, or use --unproven")
	}
	return err
}

// ownTemplate reads the file of --template; it returns nil if the flag is not set.
func ownTemplate(file, kind string) (*generate.OwnTemplate, error) {
	if file == "" {
		return nil, nil
	}
	text, err := wholefile.Read(file, "correct --template")
	if err != nil {
		return nil, err
	}
	return generate.NewOwnTemplate(file, kind, text)
}
