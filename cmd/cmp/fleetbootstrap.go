package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/internal/usage"
	"github.com/ladder-cmp/ladder/internal/wholefile"
)

func newFleetBootstrap(s streams) *cobra.Command {
	var out, until string
	var talos, force bool
	cmd := &cobra.Command{
		Use:   "bootstrap DIR... --until PHASE --out DIR",
		Short: "Write what must be applied before Argo CD is there",
		Long: `Write the components up to a phase as manifests in ordered files, and a script,
apply.sh, that applies them with kubectl and waits after each until it is ready:
definitions of the Gateway API, a network, whatever Argo CD itself needs. With
--talos they come as inline manifests of a Talos machine configuration, too.

Where a component up to that phase is for some environments only, --environment
says which one it is.

Argo CD adopts later what is there: it renders the same from the same components.`,
		Example: `  cmp fleet bootstrap ./components --until 020 --out bootstrap && sh bootstrap/apply.sh
  cmp fleet bootstrap ./components --until 020 --out bootstrap --talos`,
	}
	in := addFleetInputs(cmd)
	flags := cmd.Flags()
	flags.StringVar(&until, "until", "", "Last phase whose components are written")
	flags.StringVarP(&out, "out", "o", "", "Directory to write to")
	flags.BoolVar(&force, "force", false, "Replace the directory of --out with all that is in it")
	flags.BoolVar(&talos, "talos", false, "Write talos.yaml, a patch with inline manifests, too")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if until == "" {
			return usage.New("say where Argo CD takes over; give --until PHASE")
		}
		if out == "" {
			return usage.New("--out is missing; write --out DIR")
		}
		phase, err := component.ParsePhase(until)
		if err != nil {
			return usage.Errorf("--until: %w", err)
		}
		f, err := in.load(cmd, s, args)
		if err != nil {
			return err
		}
		if bound := f.Bound(phase); len(bound) > 0 && in.source.Environment == "" {
			return usage.Errorf("%s: %s is for %s only, and a cluster is of one environment; give --environment %s",
				bound[0].File, bound[0].Name, strings.Join(bound[0].Environments, ", "), strings.Join(f.Environments(), " or "))
		}
		made, notes, err := f.Bootstrap(phase)
		if err != nil {
			return err
		}
		warn(s, append(f.Findings, notes...))
		files := map[string]string{"apply.sh": made.Script()}
		for _, step := range made.Steps {
			files[step.Name+".yaml"] = step.Text
		}
		if talos {
			files["talos.yaml"] = made.Talos()
		}
		if err := wholefile.ReplaceDir(out, force, files); err != nil {
			return err
		}
		for _, step := range made.Steps {
			fmt.Fprintf(s.Out, "%s.yaml  %s\n", step.Name, step.About)
		}
		return nil
	}
	return cmd
}
