package main

import (
	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/internal/complete"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/inputs"
	"github.com/ladder-cmp/ladder/internal/option"
	"github.com/ladder-cmp/ladder/internal/paint"
	"github.com/ladder-cmp/ladder/internal/screen"
	"github.com/ladder-cmp/ladder/internal/verdict"
)

func newCRDs(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "crds DIR",
		Short: "List the CRDs of a component, or write them to a separate directory",
		Long: `List the CRDs of the component in DIR, including those that its values disable: their
versions, the size of their manifests in bytes, the values that enable them, their
conversion webhooks, the objects of the component that use them, and their files. A CRD
that is available only with a value that also enables other objects is not listed; a
note names the CRD and the value.

With --against, which names a directory with the old version of the component, list what
the update breaks: CRDs and versions that DIR removes or no longer serves, and changed
scopes. For each, print the objects of DIR that still use the CRD or version. Exits with 1
if the update breaks anything.`,
		Example: `  cmp crds ./component
  cmp crds ./component --against ../main/component`,
		Args: option.Args(1, 1),
	}
	cmd.AddCommand(newCRDsSplit(s))
	in := inputs.Add(cmd)
	format := option.Format(cmd, "Format", reportText, reportJSON)
	against := cmd.Flags().String("against", "", "Directory with the old version of the component")
	_ = cmd.RegisterFlagCompletionFunc("against", complete.Directories)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		opt, err := in.Options()
		if err != nil {
			return err
		}
		now, err := opt.FindCRDs(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		if !cmd.Flags().Changed("against") {
			s.warn(now.Findings...)
			if *format == reportJSON {
				return writeJSON(s, map[string]any{"definitions": now.CRDs})
			}
			if len(now.CRDs) == 0 {
				s.note("%s: the component has no CRDs", finding.Sanitize(args[0]))
				return nil
			}
			return s.emit(crds.Table(now.CRDs), nil)
		}
		before, err := opt.FindCRDs(cmd.Context(), *against)
		if err != nil {
			return err
		}
		removed := crds.Compare(before.Objects, now.Objects)
		text := crds.RemovedText(screen.PaintFor(s.Out), removed, len(before.CRDs))
		if *format == reportJSON {
			if text, err = (verdict.Verdict{Findings: removed}).Render(reportJSON, paint.Paint{}); err != nil {
				return err
			}
		}
		if err := s.emit(text, nil); err != nil {
			return err
		}
		if len(removed) > 0 {
			return errReported
		}
		return nil
	}
	return cmd
}
