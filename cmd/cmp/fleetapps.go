package main

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/generate"
	"github.com/ladder-cmp/ladder/fleet/lint"
	"github.com/ladder-cmp/ladder/internal/checkout"
	"github.com/ladder-cmp/ladder/internal/fleets"
	"github.com/ladder-cmp/ladder/internal/inputs"
	"github.com/ladder-cmp/ladder/internal/wholefile"
)

func newFleetApps(s streams) *cobra.Command {
	var opt generate.AppsOptions
	var out, argocdCM, healthCheckFormat string
	cmd := &cobra.Command{
		Use:   "apps DIR... | --health-check[=values]",
		Short: "Generate an app of apps with sync waves",
		Long: `Write a parent Application, and a child for each component with its step as its sync wave,
to standard output or to a directory with a kustomization. With --tiers, also write one
Application for each band, which is a child of the parent and deploys the components of
the band.

Argo CD waits for a child only if a health check for Applications is configured.
--health-check prints one; --argocd-cm checks that a configuration has one.`,
		Example: `  cmp fleet apps ./components --out argocd/platform
  cmp fleet apps ./components --out argocd/platform --tiers --sets
  cmp fleet apps --health-check > argocd-cm.patch.yaml
  cmp fleet apps ./components --argocd-cm argocd-cm.yaml --out argocd/platform`,
	}
	in := inputs.AddFleet(cmd)
	flags := cmd.Flags()
	addTarget(flags, &opt.Options, "Applications")
	in.AddProjects()
	template := flags.String("template", "", "File with an Application to use as a template for every child; only the fields that depend on the component are replaced, such as name, namespace, wave and source")
	flags.StringVar(&opt.Path, "path", "", "Directory in the repository where the parent reads the children (default: the directory of --out)")
	flags.StringVarP(&out, "out", "o", "", "Directory to write one file per Application to")
	force := flags.Bool("force", false, "Replace the directory of --out and everything in it")
	flags.BoolVar(&opt.Tiers, "tiers", false, "Also generate one Application for each band, which is a child of the parent and deploys the components of the band")
	flags.BoolVar(&opt.Sets, "sets", false, "With --tiers: generate one ApplicationSet for each band instead of children")
	flags.BoolVar(&opt.Preserve, "preserve", false, "When an Application is deleted, keep its resources")
	flags.StringVar(&opt.ArgoCD, "argocd-version", "", "Argo CD release for --sets, such as 2.14 (default: the latest)")
	flags.StringVar(&healthCheckFormat, "health-check", "", "Print the health check for Applications: configmap, or values for the Argo CD Helm chart")
	flags.Lookup("health-check").NoOptDefVal = "configmap"
	flags.StringVar(&argocdCM, "argocd-cm", "", "Check that this file (argocd-cm or values for the Argo CD Helm chart) has a health check for Applications")
	cmd.Args = func(cmd *cobra.Command, args []string) error { return appsArgs(cmd, args, healthCheckFormat) }
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if healthCheckFormat != "" {
			return printChildHealth(s, *in.Ladder, healthCheckFormat)
		}
		var err error
		opt.Template, err = ownTemplate(*template, "Application")
		if err = cmp.Or(err, checkApps(cmd.Context(), opt, args, out, argocdCM)); err != nil {
			return err
		}
		opt.Environment = in.Source.Environment
		all, err := loadFleet(cmd.Context(), s, in, args, fleets.LoadTarget)
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
		if argocdCM == "" {
			s.note("Argo CD waits for children only with a health check for Applications; print it with cmp fleet apps --health-check, check for it with --argocd-cm FILE")
		}
		return nil
	}
	return cmd
}

// writeApps prints the Applications of a fleet, or writes them to a directory.
func writeApps(s streams, f *fleet.Fleet, opt generate.AppsOptions, out string, force bool) error {
	manifests, faults, err := generate.Applications(f, opt)
	if err != nil {
		s.warn(lint.Failures(f, opt.Environment)...)
		return noteUnproven(s, err)
	}
	s.warn(append(lint.Rendering(f, opt.Environment, nil), faults...)...)
	if out == "" {
		return s.emit(generate.YAML(manifests...), nil)
	}
	return wholefile.ReplaceDir(out, force, generate.Files(manifests))
}

// checkApps rejects invalid combinations before anything is rendered.
func checkApps(ctx context.Context, opt generate.AppsOptions, dirs []string, out, argocdCM string) error {
	for _, dir := range dirs {
		if err := checkout.CheckDir(dir); err != nil {
			return err
		}
	}
	if err := opt.Check(out); err != nil || argocdCM == "" {
		return err
	}
	return checkChildHealth(ctx, argocdCM)
}
