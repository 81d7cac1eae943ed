package command

import (
	"cmp"

	"github.com/ladder-cmp/ladder/internal/finding"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/fleet/generate"
	"github.com/ladder-cmp/ladder/internal/cli"
	"github.com/ladder-cmp/ladder/internal/wholefile"
)

func newFleetBootstrap(s cli.Streams) *cobra.Command {
	var opt generate.BootstrapOptions
	var out, until, check string
	var talos, force bool
	cmd := &cobra.Command{
		Use:   "bootstrap DIR... --until STEP --out DIR",
		Short: "Generate the manifests to apply before Argo CD is installed",
		Long: `Write the components up to a step, such as the network and whatever else Argo CD needs, as
manifests in numbered files, and a script, apply.sh, that applies them with kubectl in
this order and waits until each component is ready. The Pod network comes before the
components that need it, whatever their steps are. Argo CD later adopts the objects,
because it renders the same manifests.

If a component is only for some environments, --environment selects that of the cluster.

Exits with 1 if there is an error or, with --check, a difference.`,
		Example: `  cmp fleet bootstrap ./components --until 020 --out bootstrap && sh bootstrap/apply.sh
  cmp fleet bootstrap ./components --until 020 --out bootstrap --talos
  cmp fleet bootstrap ./components --until 020 --check bootstrap`,
	}
	in := addFleetFlags(cmd)
	in.Source.Assume = false
	flags := cmd.Flags()
	flags.StringVar(&until, "until", "", "Last step to generate")
	flags.StringVarP(&out, "out", "o", "", "Directory to write to")
	flags.BoolVar(&force, "force", false, "Replace the directory of --out and everything in it")
	flags.BoolVar(&talos, "talos", false, "Also write talos.yaml, a patch with inline manifests")
	flags.StringSliceVar(&opt.Only, "only", nil, "Generate only these components")
	flags.StringSliceVar(&opt.Skip, "skip", nil, "Components to leave out because they are installed already")
	flags.StringVar(&check, "check", "", "Compare with a generated directory, and exit with 1 if Argo CD syncs something else")
	_ = cmd.RegisterFlagCompletionFunc("check", cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)) // the flag exists
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := checkBootstrap(flags, until, out, check); err != nil {
			return err
		}
		var err error
		if until != "" {
			if opt.Until, err = component.ParseStep(until); err != nil {
				return finding.Usagef("--until: %w", err)
			}
		}
		all, err := loadFleet(cmd.Context(), s, in, args, Load)
		if err != nil {
			return err
		}
		if all.Fleet.InPlace() {
			return errInPlace(args)
		}
		if err := opt.Check(all.Fleet, in.Source.Environment); err != nil {
			return err
		}
		bundle, notes, err := generate.NewBootstrap(all.Fleet, opt)
		if err != nil {
			return err
		}
		s.Warn(append(all.Fleet.Findings, notes...)...)
		if check != "" {
			return bootstrapped(check, bundle)
		}
		if err := wholefile.ReplaceDir(out, force, bundle.Files(talos)); err != nil {
			return err
		}
		return s.Emit(bundle.List(), nil)
	}
	return cmd
}

// checkBootstrap rejects flags that do not say what to write, or where.
func checkBootstrap(flags *pflag.FlagSet, until, out, check string) error {
	if until == "" && !flags.Changed("only") {
		return finding.Usage("--until is missing; use --until STEP, the last step before Argo CD takes over")
	}
	if out == "" && check == "" {
		return finding.Usage("--out is missing; use --out DIR")
	}
	return cmp.Or(cli.Alone(flags, "check", "out"), cli.Alone(flags, "check", "talos"), cli.Alone(flags, "check", "force"))
}
