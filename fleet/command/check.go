package command

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/fleet/lint"
	"github.com/ladder-cmp/ladder/internal/cli"
	"github.com/ladder-cmp/ladder/internal/finding"
)

// CheckFleet checks every component of a fleet separately, and the settings of the fleet.
func CheckFleet(ctx context.Context, opt LoadOptions, dirs []string) (r cli.Report, err error) {
	all, err := LoadAll(ctx, opt, dirs)
	if err != nil {
		return cli.Faulty(err)
	}
	r.Waves = cli.Computed
	f, environment := all.Fleet, opt.Source.Environment
	objects, unchecked := 0, 0
	for _, app := range f.At(environment).Applications {
		if app.IsIn(environment) {
			r.Applications = append(r.Applications, summarize(app))
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
	slices.SortFunc(r.Applications, func(x, y cli.ReportedComponent) int { return strings.Compare(x.Name, y.Name) })
	return r, nil
}

// CheckRollout checks the rollout of a fleet: its steps, its dependencies and shared objects.
func CheckRollout(ctx context.Context, opt LoadOptions, dirs []string) (cli.Report, error) {
	all, err := LoadAll(ctx, opt, dirs)
	if err != nil {
		return cli.Faulty(err)
	}
	found := append(lint.Findings(all.Fleet, opt.Source.Environment), all.Omissions...)
	finding.Sort(found)
	return cli.Report{Findings: found, Scope: finding.Counted(len(all.Fleet.Components), "component") + " and " + dependencies(len(all.Fleet.Links))}, nil
}

func dependencies(n int) string {
	if n == 1 {
		return "1 dependency"
	}
	return fmt.Sprintf("%d dependencies", n)
}
