package check

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/fleet/lint"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/fleets"
	"github.com/ladder-cmp/ladder/internal/verdict"
)

// Fleet checks every component of a fleet separately, and the settings of the fleet.
func Fleet(ctx context.Context, opt fleets.Options, dirs []string) (r verdict.Verdict, err error) {
	all, err := fleets.LoadAll(ctx, opt, dirs)
	if err != nil {
		return faulty(err)
	}
	r.Waves = verdict.Computed
	f, environment := all.Fleet, opt.Source.Environment
	objects, unchecked := 0, 0
	for _, app := range f.At(environment).Applications {
		if app.IsIn(environment) {
			r.Applications = append(r.Applications, verdict.Summarize(app))
			objects += len(app.Objects)
			if app.IsChartMissing {
				unchecked++
			}
		}
	}
	r.Findings = slices.Concat(lint.Rendering(f, environment, nil), lint.Overreach(f, environment), all.Omissions)
	finding.Sort(r.Findings)
	r.Scope = finding.Counted(objects, "object") + " of " + finding.Counted(len(r.Applications)-unchecked, "Application")
	if unchecked > 0 {
		r.Scope += "; not checked: " + finding.Counted(unchecked, "Application")
	}
	slices.SortFunc(r.Applications, func(x, y verdict.Application) int { return strings.Compare(x.Name, y.Name) })
	return r, nil
}

// Rollout checks the rollout of a fleet: its steps, its dependencies and shared objects.
func Rollout(ctx context.Context, opt fleets.Options, dirs []string) (verdict.Verdict, error) {
	all, err := fleets.LoadAll(ctx, opt, dirs)
	if err != nil {
		return faulty(err)
	}
	found := append(lint.Findings(all.Fleet, opt.Source.Environment), all.Omissions...)
	finding.Sort(found)
	return verdict.Verdict{Findings: found, Scope: finding.Counted(len(all.Fleet.Components), "component") + " and " + dependencies(len(all.Fleet.Links))}, nil
}

// faulty returns the verdict on an input that could not be read, or the error of the command if
// the input did not cause it.
func faulty(err error) (verdict.Verdict, error) {
	if !verdict.Reportable(err) {
		return verdict.Verdict{}, err
	}
	return verdict.Verdict{Findings: finding.Of(err)}, nil
}

func dependencies(n int) string {
	if n == 1 {
		return "1 dependency"
	}
	return fmt.Sprintf("%d dependencies", n)
}
