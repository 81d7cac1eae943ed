package command

import (
	"cmp"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/generate"
	"github.com/ladder-cmp/ladder/fleet/lint"
	"github.com/ladder-cmp/ladder/internal/checkout"
	"github.com/ladder-cmp/ladder/internal/cli"
	"github.com/ladder-cmp/ladder/internal/usage"
	"github.com/ladder-cmp/ladder/internal/wholefile"
)

func newFleetApps(s cli.Streams) *cobra.Command {
	var opt generate.AppsOptions
	var out string
	cmd := &cobra.Command{
		Use:   "apps DIR...",
		Short: "Generate an app of apps with sync waves",
		Long: `Write a parent Application, and a child for each component with its step as its sync wave,
to standard output or to a directory with a kustomization. With --tiers, also write one
Application for each band, which is a child of the parent and deploys the components of
the band.

Argo CD waits for a child only if a health check for Applications is configured: cmp
install adds one, and cmp doctor checks a configuration.`,
		Example: `  cmp fleet apps ./components --out argocd/platform
  cmp fleet apps ./components --out argocd/platform --tiers=sets`,
	}
	in := AddFleet(cmd)
	flags := cmd.Flags()
	addTarget(flags, &opt.Options, "Applications")
	in.AddProjects()
	template := flags.String("template", "",
		"File with an Application to use as a template for every child; only the fields that depend on the component are replaced, such as name, namespace, wave and source")
	flags.StringVar(&opt.Path, "path", "", "Directory in the repository where the parent reads the children (default: the directory of --out)")
	flags.StringVarP(&out, "out", "o", "", "Directory to write one file per Application to")
	force := flags.Bool("force", false, "Replace the directory of --out and everything in it")
	tiers := flags.String("tiers", "", "Also generate one Application for each band, which is a child of the parent and deploys the components of the band; with =sets, through an ApplicationSet for each band instead of children")
	flags.Lookup("tiers").NoOptDefVal = tiersApps
	cli.Choices(cmd, "tiers", tiersApps, tiersSets)
	flags.BoolVar(&opt.Preserve, "preserve", false, "When an Application is deleted, keep its resources")
	flags.StringVar(&opt.ArgoCD, "argocd-version", "", "Argo CD release for --tiers=sets, such as 2.14 (default: the latest)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *tiers != "" && *tiers != tiersApps && *tiers != tiersSets {
			return usage.Errorf("--tiers: unknown value %q; use --tiers, or --tiers=%s", *tiers, tiersSets)
		}
		opt.Tiers, opt.Sets = *tiers != "", *tiers == tiersSets
		var err error
		opt.Template, err = ownTemplate(*template, "Application")
		if err = cmp.Or(err, checkApps(opt, args, out)); err != nil {
			return err
		}
		opt.Environment = in.Source.Environment
		all, err := loadFleet(cmd.Context(), s, in, args, LoadTarget)
		if err != nil {
			return err
		}
		if opt.Path == "" {
			if opt.Path, err = checkout.InRepository(args[0], out); err != nil {
				return err
			}
		}
		if err := writeApps(s, all.Fleet, opt, out, *force); err != nil {
			return err
		}
		s.Note("Argo CD waits for children only with a health check for Applications; cmp install adds it, and cmp doctor checks for it")
		return nil
	}
	return cmd
}

// Values of --tiers.
const (
	tiersApps = "applications"
	tiersSets = "sets"
)

// writeApps prints the Applications of a fleet, or writes them to a directory.
func writeApps(s cli.Streams, f *fleet.Fleet, opt generate.AppsOptions, out string, force bool) error {
	manifests, faults, err := generate.Applications(f, opt)
	if err != nil {
		s.Warn(lint.Failures(f, opt.Environment)...)
		return noteUnproven(s, err)
	}
	s.Warn(append(lint.Rendering(f, opt.Environment, nil), faults...)...)
	if out == "" {
		return s.Emit(generate.YAML(manifests...), nil)
	}
	return wholefile.ReplaceDir(out, force, generate.Files(manifests))
}

// checkApps rejects invalid combinations before anything is rendered.
func checkApps(opt generate.AppsOptions, dirs []string, out string) error {
	for _, dir := range dirs {
		if err := checkout.CheckDir(dir); err != nil {
			return err
		}
	}
	return opt.Check(out)
}
