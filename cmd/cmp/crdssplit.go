package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/inputs"
	"github.com/ladder-cmp/ladder/internal/manifests"
	"github.com/ladder-cmp/ladder/internal/option"
	"github.com/ladder-cmp/ladder/internal/usage"
	"github.com/ladder-cmp/ladder/internal/wholefile"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/plugin"
	"github.com/ladder-cmp/ladder/render"
)

// Names of the directories of a split component.
const (
	definitionsDir = "crds"
	restDir        = "rest"
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
		if in.Given("crds") {
			return usage.New("cmp crds split always writes both halves; drop --crds")
		}
		if err := wholefile.EmptyDir(*out, "remove it, or name another"); err != nil {
			return err
		}
		halves := []struct {
			dir  string
			mode crds.Mode
			objs []object.Object
		}{{dir: definitionsDir, mode: crds.Only}, {dir: restDir, mode: crds.Skip}}
		var faults []error
		for i, h := range halves {
			res, err := half(cmd.Context(), in, args[0], h.mode)
			err = nothingToSplit(err, h.mode)
			if err != nil && (len(faults) == 0 || err.Error() != faults[0].Error()) {
				faults = append(faults, err)
			}
			halves[i].objs = res.Objects
			if err == nil {
				warn(s, res.Findings)
			}
		}
		if err := errors.Join(faults...); err != nil {
			return err
		}
		for _, h := range halves {
			dir := filepath.Join(*out, h.dir)
			if err := manifests.Write(dir, h.objs); err != nil {
				return err
			}
			fmt.Fprintf(s.Out, "%s: %s\n", filepath.ToSlash(dir), finding.Counted(len(h.objs), "manifest"))
		}
		return nil
	}
	return cmd
}

// nothingToSplit returns the error for a half without manifests in terms of this command,
// since nobody set crds.
func nothingToSplit(err error, mode crds.Mode) error {
	for _, f := range finding.Of(err) {
		switch {
		case f.Rule == plugin.NoCRDs:
			f.Message, f.Remedy = "it has no CRDs, so there is nothing to split", "apply it as it is, or give the values that enable CRDs"
		case f.Rule == render.Empty && mode == crds.Skip:
			f.Message, f.Remedy = "it contains only CRDs, so there is nothing to split", "apply it as it is"
		default:
			continue
		}
		f.Field = ""
		return f
	}
	return err
}

// half renders a part of a component, whatever its component.yaml says about crds.
func half(ctx context.Context, in *inputs.Component, dir string, mode crds.Mode) (plugin.Result, error) {
	req, base, done, err := in.Request(dir)
	if err != nil {
		return plugin.Result{}, err
	}
	defer done()
	req.Settings = append(req.Settings, plugin.Settings{CRDs: mode})
	res, err := plugin.Generate(ctx, req, base)
	return res, in.Fault(req, err)
}
