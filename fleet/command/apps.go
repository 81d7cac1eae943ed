package command

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/generate"
	"github.com/ladder-cmp/ladder/fleet/lint"
	"github.com/ladder-cmp/ladder/fleet/profile"
	"github.com/ladder-cmp/ladder/fleet/rollout"
	"github.com/ladder-cmp/ladder/internal/checkout"
	"github.com/ladder-cmp/ladder/internal/cli"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/wholefile"
	"github.com/ladder-cmp/ladder/knowledge"
)

// Values of --style, beside the styles of profiles.
const (
	styleTiers = "tiers"
	styleSets  = "sets"
)

var styles = []string{profile.Steps, profile.Waves, styleTiers, styleSets}

// apps are the flags of cmp fleet apps.
type apps struct {
	generate.Options
	style, template, out, check string
	force                       bool
}

func newFleetApps(s cli.Streams) *cobra.Command {
	var opt apps
	cmd := &cobra.Command{
		Use:   "apps DIR...",
		Short: "Generate the Applications of a fleet, in the order of its steps",
		Long: `Generate what deploys the components in the order of their steps. --style says as what:

  steps  an ApplicationSet that syncs its Applications step by step (RollingSync); two if
         several environments share a cluster: the first contains what exists once
  waves  an app of apps: a parent, and a child for each component with its step as its
         sync wave
  tiers  an app of apps with one Application for each band between parent and children
  sets   the same, with an ApplicationSet for each band instead of children

Steps need progressive syncs, which are disabled by default: set
applicationsetcontroller.enable.progressive.syncs to "true" in the argocd-cmd-params-cm
ConfigMap. Argo CD waits for the children of a parent only if a health check for
Applications is configured: cmp install adds one, and cmp doctor checks a configuration.

Exits with 1 if there is an error or, with --check, if the file is outdated.`,
		Example: `  cmp fleet apps ./components > argocd/platform.yaml
  cmp fleet apps ./components --check argocd/platform.yaml
  cmp fleet apps ./components --style waves --out argocd/platform`,
	}
	in := addFleetFlags(cmd)
	in.AddProjects()
	opt.addFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		for _, dir := range args {
			if err := checkout.CheckDir(dir); err != nil {
				return err
			}
		}
		if err := opt.verify(); err != nil {
			return err
		}
		opt.Environment = in.Source.Environment
		all, err := loadFleet(cmd.Context(), s, in, args, loadTarget)
		if err == nil {
			err = rollout.CheckEnvironment(all.Fleet, opt.Environment)
		}
		if err != nil {
			return err
		}
		if opt.style == "" {
			opt.style = all.Fleet.Profile.Style
			if err := opt.verify(); err != nil {
				return err
			}
		}
		if opt.isParent() && opt.Path == "" {
			if opt.Path, err = checkout.InRepository(args[0], opt.out); err != nil {
				return err
			}
		}
		if opt.Template, err = ownTemplate(opt.template, opt.kind()); err != nil {
			return err
		}
		return opt.write(s, all.Fleet)
	}
	return cmd
}

// addFlags adds the flags to the command.
func (o *apps) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&o.style, "style", "", "Form of the rollout: "+strings.Join(styles, ", ")+" (default: that of the profile)")
	cli.Choices(cmd, "style", styles...)
	flags.StringVar(&o.RepoURL, "repo-url", "", "Repository of the components (default: fleet.repoURL in ladder.yaml)")
	flags.StringVar(&o.Revision, "revision", "", "Branch, tag or commit to deploy (default: fleet.revision in ladder.yaml, or HEAD)")
	flags.BoolVar(&o.AllowBlocked, "unproven", false,
		"Generate even if cmp fleet lint reports that the rollout cannot finish; these errors become warnings")
	flags.StringVar(&o.template, "template", "",
		"File with your own ApplicationSet, or Application for each child; only the fields that depend on the components are replaced")
	flags.BoolVar(&o.Preserve, "preserve", false, "When an Application is deleted, keep its resources")
	flags.StringVar(&o.ArgoCD, "argocd-version", "", "Argo CD release that the ApplicationSets are for, such as 2.14 (default: the latest)")
	flags.StringVar(&o.check, "check", "", "Compare a committed ApplicationSet, and exit with 1 if it is outdated")
	flags.StringVar(&o.Path, "path", "", "Directory in the repository where the parent reads the children (default: the directory of --out)")
	flags.StringVarP(&o.out, "out", "o", "", "Directory to write one file per Application to, with a kustomization")
	flags.BoolVar(&o.force, "force", false, "Replace the directory of --out and everything in it")
}

// isParent reports whether the output is an app of apps.
func (o *apps) isParent() bool { return o.style != "" && o.style != profile.Steps }

// kind returns the kind of the template.
func (o *apps) kind() string {
	if o.isParent() {
		return "Application"
	}
	return "ApplicationSet"
}

// verify rejects invalid combinations. The style may be unknown before the fleet is loaded.
func (o *apps) verify() error {
	if o.ArgoCD != "" {
		if err := knowledge.ArgoCDFault(o.ArgoCD); err != nil {
			return finding.Usagef("--argocd-version: %v", err)
		}
	}
	o.Tiers, o.Sets = o.style == styleTiers || o.style == styleSets, o.style == styleSets
	switch {
	case o.style == "":
		return nil
	case !slices.Contains(styles, o.style):
		return finding.Usagef("--style: unknown value %q; use %s", o.style, strings.Join(styles, ", "))
	case o.isParent() && o.check != "":
		return finding.Usagef("--check compares an ApplicationSet, and style %s generates a parent; remove --check, or use --style steps",
			o.style)
	case o.Sets && o.template != "":
		return finding.Usage("--template is an Application, and --style sets generates ApplicationSets; remove one of the two")
	case o.isParent() && o.Path == "" && o.out == "":
		return finding.Usage("the directory of the children in the repository is unknown; use --out DIR or --path")
	case o.isParent():
		return nil
	case o.out != "" || o.Path != "" || o.force:
		return finding.Usage("--out, --path and --force are for a parent with children; redirect the output to a file, or use --style waves")
	}
	return nil
}

// write prints the manifests, writes them to the directory of --out, or compares them with the
// file of --check.
func (o *apps) write(s cli.Streams, f *fleet.Fleet) error {
	generated, note := generate.ApplicationSets,
		`the steps need progressive syncs; set applicationsetcontroller.enable.progressive.syncs: "true" in the argocd-cmd-params-cm ConfigMap`
	if o.isParent() {
		generated, note = generate.Applications,
			"Argo CD waits for children only with a health check for Applications; cmp install adds it, and cmp doctor checks for it"
	}
	manifests, faults, err := generated(f, o.Options)
	if err != nil {
		s.Warn(lint.Failures(f, o.Environment)...)
		return noteUnproven(s, err)
	}
	s.Warn(append(lint.Rendering(f, o.Environment, nil), faults...)...)
	switch {
	case o.check != "":
		return upToDate(o.check, manifests)
	case o.out != "":
		err = wholefile.ReplaceDir(o.out, o.force, generate.Files(manifests))
	default:
		err = s.Emit(generate.YAML(manifests...), nil)
	}
	if err == nil {
		s.Note("%s", note)
	}
	return err
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
