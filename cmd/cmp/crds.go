package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/internal/complete"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/inputs"
	"github.com/ladder-cmp/ladder/internal/option"
	"github.com/ladder-cmp/ladder/internal/paint"
	"github.com/ladder-cmp/ladder/internal/verdict"
	"github.com/ladder-cmp/ladder/plugin"
)

func newCRDs(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "crds DIR",
		Short: "List the CRDs of a component, or write them to a separate directory",
		Long: `List every CustomResourceDefinition that the component in DIR can install, whatever
its values: its versions, the size of its manifest in bytes, the values that enable
it, its conversion webhook, the objects of the component that use it, and its file.

With --against, which names a directory with the old version of the component, list what
the update breaks: CRDs and versions that DIR removes or no longer serves, and changed
scopes. For each, print the objects of DIR that still use the CRD or version. Exits with 1
if the update breaks anything.`,
		Example: `  cmp crds ./component
  cmp crds ./component --against ../main/component`,
		Args: cobra.ExactArgs(1),
	}
	split := newCRDsSplit(s)
	split.Args = asUsage(split.Args)
	cmd.AddCommand(split)
	in := inputs.Add(cmd)
	format := option.Format(cmd, "Format", reportText, reportJSON)
	against := cmd.Flags().String("against", "", "Directory with the old version of the component")
	_ = cmd.RegisterFlagCompletionFunc("against", complete.Folders)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := option.KnownFormat(*format, reportText, reportJSON); err != nil {
			return err
		}
		now, err := ship(cmd.Context(), in, args[0])
		if err != nil {
			return err
		}
		if !cmd.Flags().Changed("against") {
			warn(s, now.Findings)
			if *format == reportJSON {
				return writeJSON(s, crds.Listing(now.Definitions))
			}
			if len(now.Definitions) == 0 {
				note(s, "%s: the component has no CRDs", finding.Sanitize(args[0]))
				return nil
			}
			_, err = io.WriteString(s.Out, crds.Table(now.Definitions))
			return err
		}
		before, err := ship(cmd.Context(), in, *against)
		if err != nil {
			return err
		}
		lost := crds.Compare(before.Objects, now.Objects)
		text := crds.RemovedText(lost, len(before.Definitions))
		if *format == reportJSON {
			if text, err = (verdict.Verdict{Findings: lost}).Render(reportJSON, paint.Paint{}); err != nil {
				return err
			}
		}
		if _, err := io.WriteString(s.Out, text); err != nil {
			return err
		}
		if len(lost) > 0 {
			return errReported
		}
		return nil
	}
	return cmd
}

// ship returns the CRDs that the component in dir ships.
func ship(ctx context.Context, in *inputs.Component, dir string) (plugin.Shipment, error) {
	req, base, done, err := in.Request(dir)
	if err != nil {
		return plugin.Shipment{}, err
	}
	defer done()
	shipped, err := plugin.Ship(ctx, req, base)
	return shipped, in.Fault(req, err)
}
