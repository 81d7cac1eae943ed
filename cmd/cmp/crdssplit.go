package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/inputs"
	"github.com/ladder-cmp/ladder/internal/manifests"
	"github.com/ladder-cmp/ladder/internal/option"
	"github.com/ladder-cmp/ladder/internal/usage"
	"github.com/ladder-cmp/ladder/internal/wholefile"
)

func newCRDsSplit(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "split DIR --out OUT",
		Short: "Write the CRDs of a component and the rest of it into two directories",
		Long: `Write the CRDs of a component (--crds only) to OUT/crds and its other manifests
(--crds skip) to OUT/rest, one file per manifest. Both are directories of plain YAML that
any tool can apply, and components for Ladder. OUT must be empty or missing.`,
		Example: `  cmp crds split ./component --out ./rendered --name cert-manager --namespace cert-manager`,
		Args:    option.Args(1, 1),
	}
	in := inputs.Add(cmd)
	out := cmd.Flags().StringP("out", "o", "", "Directory to write to")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *out == "" {
			return usage.New("--out is missing; write --out DIR")
		}
		if in.IsSet("crds") {
			return usage.New("cmp crds split always writes both parts; remove --crds")
		}
		if err := wholefile.EmptyDir(*out, "remove it, or name another"); err != nil {
			return err
		}
		opt, err := in.Options()
		if err != nil {
			return err
		}
		parts, found, err := opt.Split(cmd.Context(), args[0])
		s.warn(found...)
		if err != nil {
			return err
		}
		if err := manifests.Write(*out, parts...); err != nil {
			return err
		}
		var text strings.Builder
		for _, h := range parts {
			fmt.Fprintf(&text, "%s: %s\n", filepath.ToSlash(filepath.Join(*out, h.Dir)), finding.Counted(len(h.Objects), "manifest"))
		}
		return s.emit(text.String(), nil)
	}
	return cmd
}
