package main

import (
	gocmp "cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/internal/checkout"
	"github.com/ladder-cmp/ladder/internal/cli"
	"github.com/ladder-cmp/ladder/internal/cli/flags"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/paint"
	"github.com/ladder-cmp/ladder/internal/wholefile"
	"github.com/ladder-cmp/ladder/plugin"
)

func newCRDs(s cli.Streams) *cobra.Command {
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
if the update breaks anything.

With --out, write the CRDs (--crds only) to OUT/crds and the other manifests (--crds skip)
to OUT/rest, one file per manifest. Both are directories of plain YAML that any tool can
apply, and components for Ladder. OUT must be empty or missing.`,
		Example: `  cmp crds ./component
  cmp crds ./component --against ../main/component
  cmp crds ./component --out ./rendered --name cert-manager --namespace cert-manager`,
		Args: cli.Args(1, 1),
	}
	in := flags.AddRendering(cmd)
	format := cli.Format(cmd, "Format", cli.Text, cli.JSON)
	against := cmd.Flags().String("against", "", "Directory with the old version of the component")
	_ = cmd.RegisterFlagCompletionFunc("against", completeDirectories)
	out := cmd.Flags().String("out", "", "Directory to write the CRDs and the other manifests to")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := gocmp.Or(cli.Alone(cmd.Flags(), "against", "out"), cli.Alone(cmd.Flags(), "output", "out")); err != nil {
			return err
		}
		opt, err := in.Options()
		if err != nil {
			return err
		}
		if in.IsSet("out") {
			return splitCRDs(cmd.Context(), s, opt, args[0], *out)
		}
		now, err := opt.FindCRDs(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		if !cmd.Flags().Changed("against") {
			s.Warn(now.Findings...)
			if *format == cli.JSON {
				return s.JSON(map[string]any{"definitions": now.CRDs})
			}
			if len(now.CRDs) == 0 {
				s.Note("%s: the component has no CRDs", finding.Sanitize(args[0]))
				return nil
			}
			return s.Emit(crds.Table(now.CRDs), nil)
		}
		return compareCRDs(cmd.Context(), s, opt, *against, now, *format)
	}
	return cmd
}

// compareCRDs prints what an update of a component breaks. It fails if that is anything.
func compareCRDs(ctx context.Context, s cli.Streams, opt flags.Options, against string, now plugin.CRDSurvey, format string) error {
	before, err := opt.FindCRDs(ctx, against)
	if err != nil {
		return err
	}
	removed := crds.Compare(before.Objects, now.Objects)
	text := crds.RemovedText(cli.PaintFor(s.Out), removed, len(before.CRDs))
	if format == cli.JSON {
		if text, err = (cli.Report{Findings: removed}).Render(cli.JSON, paint.Paint{}); err != nil {
			return err
		}
	}
	if err := s.Emit(text, nil); err != nil {
		return err
	}
	if len(removed) > 0 {
		return cli.ErrReported
	}
	return nil
}

// splitCRDs writes the CRDs of a component and the rest of it into two directories.
func splitCRDs(ctx context.Context, s cli.Streams, opt flags.Options, dir, out string) error {
	if out == "" {
		return finding.Usage("--out is empty; write --out DIR")
	}
	if opt.IsSet("crds") {
		return finding.Usage("--out writes both parts; remove --crds")
	}
	if err := wholefile.EmptyDir(out, "remove it, or name another"); err != nil {
		return err
	}
	parts, found, err := opt.Split(ctx, dir)
	s.Warn(found...)
	if err != nil {
		return err
	}
	if err := checkout.WriteManifests(out, parts...); err != nil {
		return err
	}
	var text strings.Builder
	for _, h := range parts {
		fmt.Fprintf(&text, "%s: %s\n", filepath.ToSlash(filepath.Join(out, h.Dir)), finding.Counted(len(h.Objects), "manifest"))
	}
	return s.Emit(text.String(), nil)
}
