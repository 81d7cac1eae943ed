package rollout

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/lint"
	"github.com/ladder-cmp/ladder/fleet/steps"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/plugin"
)

// CheckDurations reports names in a durations file that none of the fleets contains.
func CheckDurations(d Durations, fleets ...*fleet.Fleet) error {
	var faults []error
	for _, name := range d.unknown(fleets[0]) {
		if slices.ContainsFunc(fleets, func(f *fleet.Fleet) bool { return !slices.Contains(d.unknown(f), name) }) {
			continue
		}
		faults = append(faults, finding.Finding{Severity: finding.Error, Rule: finding.BadSettings, File: d.File, Line: d.Lines[name],
			Field:   name,
			Message: "Application not found in the fleet",
			Remedy:  "remove the line, or use a name from cmp fleet steps"}.Asking(nearestApplication(fleets[0], name).String()))
	}
	return errors.Join(faults...)
}

func nearestApplication(f *fleet.Fleet, name string) *finding.Nearest {
	near := finding.NearestTo(name)
	for _, app := range f.Applications {
		near.Add(app.Name, app.Name)
	}
	return near
}

// FindApplications returns the indices of the named Applications. It fails if one is unknown or
// disabled.
func FindApplications(f *fleet.Fleet, names []string) (all []int, err error) {
	for _, name := range names {
		i, wrong := findApplication(f, name)
		all, err = append(all, i), errors.Join(err, wrong)
	}
	return all, err
}

func findApplication(f *fleet.Fleet, name string) (int, error) {
	i := slices.IndexFunc(f.Applications, func(a *fleet.Application) bool { return a.Name == name })
	switch {
	case i < 0:
		return 0, finding.Usagef("--fail: Application %q not found in the fleet; %s", name,
			nearestApplication(f, name).Or("use a name from cmp fleet steps"))
	case !f.Applications[i].IsEnabled():
		return 0, finding.Usagef("--fail: %s is disabled, so no rollout contains it; use an enabled Application", name)
	}
	return i, nil
}

// Options of a simulation.
type Options struct {
	// Layout names the steps.
	Layout string
	Times  Durations
	// Failing are the indices of Applications that never become healthy.
	Failing []int
}

// Simulate simulates a rollout.
func (o Options) Simulate(f *fleet.Fleet) (*Run, error) {
	l, err := layoutByName(f, o.Layout)
	return Simulate(f, l, o.Times, o.Failing), err
}

// Findings returns the findings about the order of a layout: those of lint.BlockingFindings for
// LayoutSet, otherwise the warnings and notes about the computed steps. With errors, there is no
// layout to simulate.
func Findings(f *fleet.Fleet, layout, environment string) []finding.Finding {
	if layout == LayoutSet {
		return lint.BlockingFindings(f, environment)
	}
	return slices.DeleteFunc(steps.Compute(f, steps.Options{}).Findings,
		func(found finding.Finding) bool { return found.Severity == finding.Error })
}

// layoutByName returns the layout of a fleet that name selects, such as LayoutSet.
func layoutByName(f *fleet.Fleet, name string) (Layout, error) {
	if name == LayoutSet {
		return NewLayout(f, name, func(i int) component.Step { return f.Applications[i].Step }), nil
	}
	p := steps.Compute(f, steps.Options{})
	if err := finding.Err(p.Findings); err != nil {
		return Layout{}, err
	}
	if name == LayoutComputed {
		return NewLayout(f, name, func(i int) component.Step { return p.Steps[i].Computed }), nil
	}
	return CompactLayout(f, p.Compact()), nil
}

// IsPlaced reports whether any Application is in a step that the profile defines.
func IsPlaced(l Layout) bool {
	return slices.ContainsFunc(l.Sets, func(set Set) bool {
		return slices.ContainsFunc(set.Steps, func(s Step) bool { return s.Number != "" })
	})
}

// FindComponent returns the Applications of a component, or with a name: several if the
// component is split.
func FindComponent(f *fleet.Fleet, name string) ([]int, error) {
	var found []int
	for i, app := range f.Applications {
		if app.Name == name || app.Component.Name == name {
			found = append(found, i)
		}
	}
	if found != nil {
		return found, nil
	}
	return nil, finding.Finding{Severity: finding.Error, Rule: finding.NotFound, Object: name,
		Message: "component not found in the fleet",
		Remedy:  "use a name that cmp fleet inventory lists"}.Asking(nearestApplication(f, name).String())
}

// Names of layouts.
const (
	LayoutSet      = "set"
	LayoutComputed = "computed"
	LayoutCompact  = "compact"
)

// CheckEnvironment fails if no component of these fleets is deployed to an
// environment. An empty environment is always valid.
func CheckEnvironment(f *fleet.Fleet, environment string, others ...*fleet.Fleet) error {
	known := f.Environments()
	for _, other := range others {
		known = append(known, other.Environments()...)
	}
	slices.Sort(known)
	known = slices.Compact(known)
	switch {
	case environment == "" || slices.Contains(known, environment):
		return nil
	case len(known) == 0:
		return finding.Usagef("no component is deployed to environment %q; remove --environment, because the fleet has no environments",
			environment)
	}
	return finding.Usagef("no component is deployed to environment %q; use %s", environment, strings.Join(known, ", "))
}

// DurationsIn reads a durations file; without a file it returns AssumedDurations.
func DurationsIn(file string) (Durations, error) {
	if file == "" {
		return AssumedDurations(), nil
	}
	text, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		return Durations{}, fmt.Errorf("%s: no such file; fix: correct --durations", file)
	}
	if err != nil {
		return Durations{}, plugin.Unreadable(file, err)
	}
	return ReadDurations(file, text)
}
