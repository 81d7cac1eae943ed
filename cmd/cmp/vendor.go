package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/internal/ladderfile"
	"github.com/ladder-cmp/ladder/internal/remote"
	"github.com/ladder-cmp/ladder/internal/usage"
	"github.com/ladder-cmp/ladder/internal/vendoring"
)

func newVendor(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "vendor DIR...",
		Short: "Put what components need from elsewhere beside them, with a lock",
		Long: `Fetch what the component in DIR needs and its repository does not hold: charts that
it names or depends on, remote bases and files of kustomizations. It comes to lie below
` + remote.VendorDir + `/ in the component, and ` + remote.LockFile + ` says what it is, with digests: so that a rendering needs
no network. Of a folder with many components, all are looked at: those with a
` + component.File + `, and the charts and kustomizations without that no other one refers to.

The component is rendered to find out what it asks for; dependencies of charts that the
values turn off are not fetched. What is in the lock already keeps its version; --update
takes the newest that fits. Commit both.`,
		Example: `  cmp vendor ./component
  cmp vendor ./components --update=redis,postgresql
  cmp vendor ./components --check`,
		Args: cobra.MinimumNArgs(1),
	}
	in, v := addInputs(cmd), &vendoring.Vendoring{}
	in.remote.Anything = []string{"https://*", "oci://*"}
	f := cmd.Flags()
	f.Lookup("allow-remote").Usage = "Addresses that may be fetched from, and all below them; any if empty, but none of this machine"
	f.BoolVar(&v.Check, "check", false, "Fetch and write nothing, and exit with 1 if the lock is not what the component needs; for pipelines")
	f.StringSliceVar(&v.Update, "update", nil, "Take the newest versions that fit, of all or of the charts, files and repositories that are named")
	f.Lookup("update").NoOptDefVal = vendoring.Everything
	f.BoolVar(&v.Keep, "keep", false, "Keep what this rendering does not ask for: another one may, with other values")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		v.AsGiven = in.flags.Changed("renderer")
		var err error
		if v.Settings, err = in.settings(); err != nil {
			return err
		}
		if v.Base, err = ladderfile.Base(*in.ladder); err != nil {
			return err
		}
		if v.Check && (len(v.Update) > 0 || v.Keep) {
			return usage.New("--check writes nothing, and --update and --keep say what to write; drop one of the two")
		}
		if len(v.Update) > 0 && in.remote.Config.Offline {
			return usage.New("--update asks where things are from, and --offline says not to; drop one of the two")
		}
		if !v.Check {
			f, err := in.remote.Fetcher(nil, nil)
			if err != nil {
				return err
			}
			v.Network = vendoring.NewNetwork(f)
		}
		text, warnings, err := v.Run(cmd.Context(), args)
		warn(s, warnings)
		if err != nil {
			return err
		}
		_, err = io.WriteString(s.Out, text)
		return err
	}
	return cmd
}
