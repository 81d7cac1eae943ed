package main

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/checkout"
	"github.com/ladder-cmp/ladder/internal/compare"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/locate"
	"github.com/ladder-cmp/ladder/internal/verdict"
	"github.com/ladder-cmp/ladder/plugin"
)

// sides renders a component before and after a change.
func (in *inputs) sides(cmd *cobra.Command, ch checkout.Change, i int) (before, after compare.Side, err error) {
	// Of two directories one is called otherwise because there cannot be two of a
	// name; an Application has one.
	name := ""
	if !ch.Revisions {
		name = filepath.Base(checkout.Existing(ch.After[i]))
	}
	if before, err = in.side(cmd, ch.Before[i], ch.From, name); err != nil {
		return before, after, err
	}
	if after, err = in.side(cmd, ch.After[i], ch.To, name); err != nil {
		return before, after, err
	}
	if before.Failed && after.Failed && after.Findings[0].Rule == locate.FolderRule {
		return before, after, after.Findings[0]
	}
	if before.Failed && after.Failed && slices.ContainsFunc(after.Findings, in.asked) {
		return before, after, finding.Err(after.Findings)
	}
	for _, side := range []compare.Side{before, after} {
		if side.Missing && (!ch.Revisions || before.Missing && after.Missing) {
			return before, after, finding.Finding{Severity: finding.Error, Rule: "no-directory", File: side.Name, Message: "no such directory", Remedy: "check the path"}
		}
	}
	return before, after, nil
}

// side renders a component as it is on disk, or at a commit. name is what its
// directory is taken to be called; empty means what it is.
func (in *inputs) side(cmd *cobra.Command, dir string, at *checkout.Commit, name string) (compare.Side, error) {
	c, err := checkout.Open(dir)
	if err != nil {
		return compare.Side{}, fmt.Errorf("%s: %w", dir, err)
	}
	defer c.Close()
	c = c.At(at)
	if name != "" {
		c.Name = name
	}
	side := compare.Side{Name: c.Called(), Dir: c.Show(c.Dir)}
	req, base, err := in.requestFor(c)
	if err != nil {
		return side, err
	}
	if info, err := fs.Stat(c.Repo, c.Dir); err != nil {
		side.Missing = true
		return side, nil
	} else if !info.IsDir() {
		return side, finding.Finding{Severity: finding.Error, Rule: "no-directory", File: side.Name, Message: "this is a file", Remedy: "name the directory of the component"}
	}
	res, err := plugin.Generate(cmd.Context(), req, base)
	if err = in.blamed(in.notOne(cmd, req, err)); err != nil {
		if !verdict.Reportable(err) {
			return side, err
		}
		side.Failed, side.Findings = true, finding.Of(err)
		return side, nil
	}
	side.Plan, side.Objects, side.Gates, side.Findings, side.Generated = res.Plan, res.Objects, res.Plan.Audit(res.Base), res.Findings, res.Applications()
	return side, nil
}
