// Package change compares components and fleets before and after a change.
package change

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/internal/checkout"
	"github.com/ladder-cmp/ladder/internal/compare"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/inputs"
	"github.com/ladder-cmp/ladder/internal/locate"
	"github.com/ladder-cmp/ladder/internal/verdict"
	"github.com/ladder-cmp/ladder/plugin"
	"github.com/ladder-cmp/ladder/render"
)

// Components compares the components of a change. The report contains command, which
// reproduces it. The findings are those of components that fail on both sides.
func Components(ctx context.Context, opt inputs.Options, ch checkout.Change, command string) (compare.Report, []finding.Finding, error) {
	opt, err := opt.WithTemporarySeed() // no random difference
	if err != nil {
		return compare.Report{}, nil, err
	}
	r := compare.Report{Command: command}
	var found []finding.Finding
	for i := range ch.Before {
		before, after, err := sides(ctx, opt, ch, i)
		if err != nil {
			return r, found, err
		}
		if before.Failed && after.Failed {
			r.Unknown = append(r.Unknown, ch.After[i])
		}
		c := compare.Components(before, after)
		if c.Different() {
			r.All = append(r.All, compare.Named{Name: ch.After[i], Comparison: c})
		} else if after.Failed {
			found = append(found, after.Findings...)
			continue // and it did before
		}
		r.Compared++
	}
	return r, found, nil
}

// sides renders the component at an index of a change before and after it.
func sides(ctx context.Context, opt inputs.Options, ch checkout.Change, i int) (before, after compare.Side, err error) {
	// Two directories have different names, but the Application has only one: use that
	// of the second directory for both.
	name := ""
	if !ch.Revisions {
		name = filepath.Base(checkout.NearestExisting(ch.After[i]))
	}
	before, errBefore := side(ctx, opt, ch.Before[i], ch.From, name)
	if errBefore != nil && !before.Missing {
		return before, after, errBefore
	}
	after, errAfter := side(ctx, opt, ch.After[i], ch.To, name)
	if errAfter != nil && (!after.Missing || before.Missing) {
		return before, after, errAfter
	}
	if before.Failed && after.Failed && after.Findings[0].Rule == locate.ComponentsRule {
		return before, after, after.Findings[0]
	}
	if before.Failed && after.Failed && slices.ContainsFunc(after.Findings, func(f finding.Finding) bool { return isCausedByFlags(opt, f) }) {
		return before, after, finding.Err(after.Findings)
	}
	for i, side := range []compare.Side{before, after} {
		if undeployed := []error{errBefore, errAfter}[i]; undeployed != nil {
			continue
		}
		if side.Missing && (!ch.Revisions || before.Missing && after.Missing) {
			return before, after, finding.Finding{Severity: finding.Error, Rule: "no-directory", File: side.Name, Message: "no such directory", Remedy: "check the path"}
		}
	}
	return before, after, nil
}

// side renders a component as it is on disk, or at a commit. name replaces the name of the
// directory, unless it is empty. A component that is not deployed in the environment is
// missing, and the error says so.
func side(ctx context.Context, opt inputs.Options, dir string, at *checkout.Commit, name string) (compare.Side, error) {
	c, err := checkout.Open(dir)
	if err != nil {
		return compare.Side{}, fmt.Errorf("%s: %w", dir, err)
	}
	defer c.Close()
	c = c.At(at)
	if name != "" {
		c.Name = name
	}
	s := compare.Side{Name: c.DisplayName(), Dir: c.Show(c.Dir)}
	req, base, err := opt.Request(c)
	if err != nil {
		return s, err
	}
	if info, err := fs.Stat(c.Repo, c.Dir); err != nil {
		s.Missing = true
		return s, nil
	} else if !info.IsDir() {
		return s, finding.Finding{Severity: finding.Error, Rule: "no-directory", File: s.Name, Message: "not a directory", Remedy: "name the directory of the component"}
	}
	res, err := plugin.Generate(ctx, req, base)
	if s.Missing = plugin.IsNotDeployed(err); s.Missing {
		return s, err
	}
	if err = opt.Fault(req, err); err != nil {
		if !verdict.Reportable(err) {
			return s, err
		}
		s.Failed, s.Findings = true, append(finding.Of(err), res.Findings...)
		return s, nil
	}
	s.Plan, s.Objects, s.Gates, s.Findings, s.Generated = res.Plan, res.Objects, res.Plan.Audit(res.Base), res.Findings, res.Applications()
	return s, nil
}

// isCausedByFlags reports whether an error is caused by a flag: a values file that is
// missing or invalid, or values for a component that accepts none.
func isCausedByFlags(opt inputs.Options, f finding.Finding) bool {
	own := opt.Settings.Values
	return f.Rule == render.UnexpectedValues && !own.Empty() || f.File != "" && (slices.Contains(own.Files, f.File) ||
		slices.ContainsFunc(own.SetFile, func(expr string) bool { return strings.HasSuffix(expr, "="+f.File) }))
}
