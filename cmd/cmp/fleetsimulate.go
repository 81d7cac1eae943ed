package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/finding"
	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/nearest"
	"github.com/ladder-cmp/ladder/plugin"
	"github.com/ladder-cmp/ladder/profile"
	"github.com/ladder-cmp/ladder/report"
)

// The layouts that can be played.
const (
	layoutSet      = "set"
	layoutComputed = "computed"
	layoutCompact  = "compact"
)

func newFleetSimulate(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "simulate DIR...",
		Short: "Play the rollout of a fleet",
		Long: `Play the rollout as Argo CD does it: a step begins when all Applications of the
one before are synced and healthy; within a step, maxUpdate of them are synced at
once. It prints when each begins and is healthy, the critical path, and how long
all of it takes.

How long an Application takes is assumed from what it is for, unless --durations
says so: a line such as "vault: 2m30s" for each, and those by rung below the key
defaults. With --fail, an Application never gets healthy, and the report says
what it holds back.

Where a fleet names several environments, --environment says whose rollout it is.

Exits with 1 if, without --fail, the rollout never ends.`,
		Example: `  cmp fleet simulate ./components
  cmp fleet simulate ./components --fail vault
  cmp fleet simulate ./components --compare ./components-before
  cmp fleet simulate ./components -o svg > rollout.svg`,
	}
	in := addFleetInputs(cmd)
	in.source.Partial = true
	flags := cmd.Flags()
	format := formatFlag(cmd, "Format", reportText, reportJSON, "mermaid", "svg")
	layout := flags.String("layout", layoutSet, "Phases to play: set, as the files have them, computed, or compact for the fewest steps")
	choices(cmd, "layout", layoutSet, layoutComputed, layoutCompact)
	fail := flags.StringSlice("fail", nil, "An Application that never gets healthy")
	compare := flags.String("compare", "", "Another folder of components to play beside")
	against := flags.String("against", "", "Another profile to play the same components with: a built-in one, or a ladder.yaml")
	_ = cmd.RegisterFlagCompletionFunc("against", profilesOrFiles)
	noRest := flags.Bool("no-catch-all", false, "Leave out the last step, which has what no other selects")
	durations := durationsFlag(flags)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := errors.Join(knownFormat(*format, reportText, reportJSON, "mermaid", "svg"), oneOf("layout", *layout, layoutSet, layoutComputed, layoutCompact)); err != nil {
			return usageError{err}
		}
		if err := alone(flags, "compare", "against"); err != nil {
			return err
		}
		both := *compare != "" || *against != ""
		if both && *format != reportText && *format != reportJSON {
			return usageError{errors.New("two rollouts are compared as text or json; choose one of them, or draw each by itself")}
		}
		if both && len(*fail) > 0 {
			return usageError{errors.New("--fail is for one rollout; play each by itself")}
		}
		times, err := readDurations(*durations)
		if err != nil {
			return err
		}
		f, err := in.loadOne(cmd, s, args)
		if err != nil {
			return err
		}
		var unknown []error
		if !both || *against != "" {
			unknown = append(unknown, checkDurations(times, f))
		}
		var failing []int
		for _, name := range *fail {
			i, err := applicationNamed(f, name)
			unknown = append(unknown, err)
			failing = append(failing, i)
		}
		if err := errors.Join(unknown...); err != nil {
			return err
		}
		warn(s, failures(f.Findings))
		play := func(f *fleet.Fleet) (*fleet.Run, error) {
			l, err := layoutOf(f, *layout)
			if *noRest {
				l = l.WithoutRest()
			}
			return f.Simulate(l, times, failing), err
		}
		run, err := play(f)
		if err != nil {
			return err
		}
		if both {
			other, title, err := in.other(cmd, s, f, *compare, *against)
			if err != nil {
				return err
			}
			if *compare != "" {
				if err := checkDurations(times, f, other); err != nil {
					return err
				}
			}
			beside, err := play(other)
			if err != nil {
				return err
			}
			if *against != "" && !placed(beside.Layout) {
				return finding.Finding{Severity: finding.Error, Rule: "no-place", Field: "--against", Message: "no component stands at a place of " + title + ", so that all would come at once",
					Remedy: "add --layout computed, or name a profile for the phases that the components have"}
			}
			text, err := comparison{[2]string{strings.Join(args, " "), title}, [2]*fleet.Fleet{f, other}, [2]*fleet.Run{run, beside}}.render(*format)
			if err != nil {
				return err
			}
			_, err = io.WriteString(s.Out, text)
			return err
		}
		text, err := rolloutReport{f, run, failing}.render(*format)
		if err != nil {
			return err
		}
		if _, err := io.WriteString(s.Out, text); err != nil {
			return err
		}
		if !run.Done() && len(*fail) == 0 {
			return errReported
		}
		return nil
	}
	return cmd
}

// loadOne loads what is deployed in one environment: each has a rollout of its
// own, and those of all in one would be that of none.
func (in *fleetInputs) loadOne(cmd *cobra.Command, s streams, dirs []string) (*fleet.Fleet, error) {
	f, err := in.load(cmd, s, dirs)
	if err != nil {
		return nil, err
	}
	if all := f.Environments(); len(all) > 1 && in.source.Environment == "" {
		return nil, usageError{fmt.Errorf("%s: each environment has a rollout of its own; give --environment %s", strings.Join(dirs, " "), strings.Join(all, " or "))}
	}
	return f, nil
}

// durationsFlag names a file with the times that Applications take.
func durationsFlag(flags *pflag.FlagSet) *string {
	return flags.String("durations", "", "A file with the time that each Application takes, such as \"vault: 2m30s\" (default: assumed)")
}

func readDurations(file string) (fleet.Durations, error) {
	if file == "" {
		return fleet.AssumedDurations(), nil
	}
	text, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		return fleet.Durations{}, fmt.Errorf("%s: no such file; correct --durations", file)
	}
	if err != nil {
		return fleet.Durations{}, plugin.Unreadable(file, err)
	}
	return fleet.ReadDurations(file, text)
}

// checkDurations finds times of what none of the fleets has.
func checkDurations(d fleet.Durations, fleets ...*fleet.Fleet) error {
	var faults []error
	for _, name := range d.Unknown(fleets[0]) {
		if slices.ContainsFunc(fleets, func(f *fleet.Fleet) bool { return !slices.Contains(d.Unknown(f), name) }) {
			continue
		}
		faults = append(faults, finding.Finding{Severity: finding.Error, Rule: "durations", File: d.File, Line: d.Lines[name], Field: name,
			Message: "the fleet has no such Application", Remedy: nearestApplication(fleets[0], name) + "name one of cmp fleet phases, or drop the line"})
	}
	return errors.Join(faults...)
}

func nearestApplication(f *fleet.Fleet, name string) string {
	near := nearest.New(name)
	for _, app := range f.Applications {
		near.Add(app.Name, app.Name)
	}
	return near.String()
}

// applicationNamed is the index of an Application that is rolled out.
func applicationNamed(f *fleet.Fleet, name string) (int, error) {
	i := slices.IndexFunc(f.Applications, func(a *fleet.Application) bool { return a.Name == name })
	switch {
	case i < 0:
		return 0, usageError{fmt.Errorf("--fail: the fleet has no Application %q; %sname one of cmp fleet phases", name, nearestApplication(f, name))}
	case !f.Applications[i].On():
		return 0, usageError{fmt.Errorf("--fail: %s is disabled, so it is in no rollout; name one that is deployed", name)}
	}
	return i, nil
}

// layoutOf is a layout of a fleet.
func layoutOf(f *fleet.Fleet, name string) (fleet.Layout, error) {
	if name == layoutSet {
		return f.Layout(name, func(i int) component.Phase { return f.Applications[i].Phase }), nil
	}
	p := f.Phases(fleet.PhaseOptions{})
	if err := finding.Err(p.Findings); err != nil {
		return fleet.Layout{}, err
	}
	if name == layoutComputed {
		return f.Layout(name, func(i int) component.Phase { return p.Places[i].Computed }), nil
	}
	return f.CompactLayout(p.Compact()), nil
}

// other is the fleet to compare with, and what to call it.
func (in *fleetInputs) other(cmd *cobra.Command, s streams, f *fleet.Fleet, dir, against string) (*fleet.Fleet, string, error) {
	if dir != "" {
		other, err := in.loadOne(cmd, s, []string{dir})
		if err == nil {
			warn(s, failures(other.Findings))
		}
		return other, dir, err
	}
	settings := profile.Fleet{Profile: against}
	if !slices.Contains(profile.Names(), against) {
		if _, err := os.Stat(against); err != nil {
			return nil, "", usageError{fmt.Errorf("--against: %q is neither a file nor a profile; use one of %s, or name a ladder.yaml", against, strings.Join(profile.Names(), ", "))}
		}
		base, err := knowledgeBase(against)
		if err != nil {
			return nil, "", err
		}
		settings = base.Fleet()
	}
	p, err := profile.Of(settings)
	other := *f
	other.Profile = p
	return &other, against, err
}

// placed reports whether anything stands at a place of the profile.
func placed(l fleet.Layout) bool {
	return slices.ContainsFunc(l.Sets, func(set fleet.Set) bool {
		return slices.ContainsFunc(set.Steps, func(s fleet.Step) bool { return s.Phase != "" })
	})
}

// rolloutReport is what is shown of a rollout.
type rolloutReport struct {
	fleet *fleet.Fleet
	run   *fleet.Run
	fail  []int
}

func (r rolloutReport) name(i int) string { return r.fleet.Applications[i].Name }

func (r rolloutReport) render(format string) (string, error) {
	switch format {
	case "mermaid":
		return r.run.Mermaid(), nil
	case "svg":
		return r.run.SVG(), nil
	case reportJSON:
		text, err := json.MarshalIndent(r.json(), "", "  ")
		return string(text) + "\n", err
	}
	return r.text(), nil
}

func (r rolloutReport) step(set, step int) string {
	s := r.run.Layout.Sets[set]
	if s.Name != "" && s.Steps[step].Phase == "" {
		return s.Name + ": " + s.Steps[step].String()
	}
	return s.Steps[step].String()
}

func (r rolloutReport) text() string {
	run := r.run
	var b strings.Builder
	var rows [][]string
	for _, s := range run.Spans {
		end := "never"
		if s.Healthy {
			end = fleet.When(s.End)
		}
		rows = append(rows, []string{fleet.When(s.Start), end, r.step(s.Set, s.Step), r.name(s.Application), s.Takes})
	}
	if len(rows) > 0 {
		b.WriteString(tabled([]string{"START", "HEALTHY", "STEP", "NAME", "TAKES"}, rows) + "\n")
	}
	if len(r.fail) > 0 || !run.Done() {
		b.WriteString(r.heldBack())
	}
	if len(run.Critical) > 0 {
		b.WriteString("Critical path\n")
		for _, i := range run.Critical {
			s := run.Spans[i]
			fmt.Fprintf(&b, "  %s  %s  %s\n", fleet.When(s.Start), finding.Harmless(r.name(s.Application)), finding.Harmless(s.Why))
		}
		b.WriteString("\n")
	}
	rows = nil
	for _, s := range run.Steps {
		end, takes := "never", "-"
		if s.Done {
			end, takes = fleet.When(s.End), (s.End - s.Start).String()
		}
		step := run.Layout.Sets[s.Set].Steps[s.Step]
		atOnce := "all"
		switch {
		case step.Manual:
			atOnce = "none"
		case step.MaxUpdate > 0:
			atOnce = fmt.Sprint(step.MaxUpdate)
		}
		rows = append(rows, []string{r.step(s.Set, s.Step), fmt.Sprint(len(step.Applications)), atOnce, fleet.When(s.Start), end, takes})
	}
	if len(rows) > 0 {
		b.WriteString(tabled([]string{"STEP", "MEMBERS", "AT ONCE", "START", "END", "TIME"}, rows) + "\n")
	}
	if len(run.Layout.Sets) > 1 || len(run.Unordered) > 0 {
		b.WriteString(r.sets())
	}
	fmt.Fprintf(&b, "%s, %s", r.total(), counted(run.StepCount(), "step"))
	if n := len(run.Layout.Sets); n > 1 {
		fmt.Fprintf(&b, " in %d independent sets", n)
	}
	fmt.Fprintf(&b, ", at most %d at once\n", run.AtOnce())
	return b.String()
}

func (r rolloutReport) total() string {
	all := counted(len(r.run.Spans)+r.waiting(), "Application")
	if !r.run.Done() {
		return fmt.Sprintf("The rollout never ends: %d of %s get healthy, in %s", len(r.run.Spans)+r.waiting()-len(r.run.Stuck), all, r.run.Total)
	}
	return fmt.Sprintf("%s in %s", all, r.run.Total)
}

// waiting counts the Applications that never begin.
func (r rolloutReport) waiting() int {
	n := 0
	for _, s := range r.run.Stuck {
		if !s.Begins {
			n++
		}
	}
	return n
}

// heldBack says what never gets healthy. What waits for a step is listed by
// steps, since the reason is the same for all of it.
func (r rolloutReport) heldBack() string {
	var b strings.Builder
	held := 0
	for _, s := range r.run.Stuck {
		if !slices.Contains(r.fail, s.Application) {
			held++
		}
	}
	names := make([]string, 0, len(r.fail))
	for _, i := range r.fail {
		names = append(names, r.name(i))
	}
	if len(names) > 0 {
		verb := "holds"
		if len(names) > 1 {
			verb = "hold"
		}
		fmt.Fprintf(&b, "%s %s back %s\n", strings.Join(names, ", "), verb, counted(held, "Application"))
	} else {
		fmt.Fprintf(&b, "%s never healthy\n", counted(held, "Application"))
	}
	for at := 0; at < len(r.run.Stuck); {
		first := r.run.Stuck[at]
		var same []string
		for ; at < len(r.run.Stuck) && r.run.Stuck[at].Why == first.Why && r.run.Stuck[at].Begins == first.Begins; at++ {
			same = append(same, r.name(r.run.Stuck[at].Application))
		}
		how := "never begins"
		if first.Begins {
			how = "begins"
		} else if len(same) > 1 {
			how = "never begin"
		}
		fmt.Fprintf(&b, "  %s: %s; %s\n", finding.Harmless(strings.Join(same, ", ")), how, finding.Harmless(first.Why))
	}
	b.WriteString("\n")
	return b.String()
}

// sets says what order independent sets do not keep.
func (r rolloutReport) sets() string {
	var b strings.Builder
	if len(r.run.Unordered) == 0 {
		b.WriteString("The sets need nothing of each other.\n\n")
		return b.String()
	}
	b.WriteString("Nothing orders the sets, and there are needs between them:\n")
	for _, c := range r.run.Unordered {
		luck := "here it comes early enough, by its times alone"
		if c.Waits > 0 {
			luck = fmt.Sprintf("it is begun %s too early here", c.Waits)
		}
		fmt.Fprintf(&b, "  %s needs %s, because %s; %s\n", finding.Harmless(r.name(c.From)), finding.Harmless(r.name(c.To)), finding.Harmless(c.Why), luck)
	}
	b.WriteString("\n")
	return b.String()
}

// json is the rollout as other programs read it. Times are seconds from its start.
func (r rolloutReport) json() report.Timeline {
	run := r.run
	out := report.Timeline{Done: run.Done(), TotalSeconds: run.Total.Seconds(), Applications: []report.Span{}, Steps: []report.Step{}, CriticalPath: []report.Critical{}, Stuck: []report.Stuck{}, Unordered: []report.Crossing{}}
	for _, s := range run.Spans {
		set := run.Layout.Sets[s.Set]
		out.Applications = append(out.Applications, report.Span{Name: r.name(s.Application), Set: set.Name, Step: set.Steps[s.Step].String(),
			Start: s.Start.Seconds(), Ready: seconds(s.Ready, s.Healthy), End: seconds(s.End, s.Healthy), Takes: s.Takes, Why: s.Why})
	}
	for i, set := range run.Layout.Sets {
		for j, step := range set.Steps {
			js := report.Step{Set: set.Name, Step: step.String(), MaxUpdate: step.MaxUpdate, Manual: step.Manual}
			for _, app := range step.Applications {
				js.Applications = append(js.Applications, r.name(app))
			}
			if at := slices.IndexFunc(run.Steps, func(s fleet.StepSpan) bool { return s.Set == i && s.Step == j }); at >= 0 {
				js.Start, js.End = seconds(run.Steps[at].Start, true), seconds(run.Steps[at].End, run.Steps[at].Done)
			}
			out.Steps = append(out.Steps, js)
		}
	}
	for _, i := range run.Critical {
		s := run.Spans[i]
		out.CriticalPath = append(out.CriticalPath, report.Critical{Name: r.name(s.Application), Start: s.Start.Seconds(), End: s.End.Seconds(), Why: s.Why})
	}
	for _, s := range run.Stuck {
		out.Stuck = append(out.Stuck, report.Stuck{Name: r.name(s.Application), Begins: s.Begins, Why: s.Why})
	}
	for _, c := range run.Unordered {
		out.Unordered = append(out.Unordered, report.Crossing{From: r.name(c.From), To: r.name(c.To), Waits: c.Waits.Seconds(), Why: c.Why})
	}
	return out
}

// seconds are those of a moment, nil if it never comes.
func seconds(d time.Duration, comes bool) *float64 {
	if !comes {
		return nil
	}
	s := d.Seconds()
	return &s
}

// comparison is two rollouts side by side.
type comparison struct {
	titles [2]string
	fleets [2]*fleet.Fleet
	runs   [2]*fleet.Run
}

// ratio is how long the first takes of the time of the second; 0 if one of them
// never ends.
func (c comparison) ratio() float64 {
	if !c.runs[0].Done() || !c.runs[1].Done() || c.runs[1].Total == 0 {
		return 0
	}
	return c.runs[0].Total.Seconds() / c.runs[1].Total.Seconds()
}

func (c comparison) render(format string) (string, error) {
	if format == reportJSON {
		type side struct {
			Title string `json:"title"`
			report.Timeline
		}
		out := struct {
			Ratio    float64 `json:"ratio"`
			Rollouts [2]side `json:"rollouts"`
		}{Ratio: c.ratio()}
		for i := range c.runs {
			out.Rollouts[i] = side{c.titles[i], rolloutReport{c.fleets[i], c.runs[i], nil}.json()}
		}
		text, err := json.MarshalIndent(out, "", "  ")
		return string(text) + "\n", err
	}
	var b strings.Builder
	var rows [][]string
	row := func(what string, of func(i int) string) { rows = append(rows, []string{what, of(0), of(1)}) }
	row("independent sets", func(i int) string { return fmt.Sprint(len(c.runs[i].Layout.Sets)) })
	row("steps", func(i int) string { return fmt.Sprint(c.runs[i].StepCount()) })
	row("Applications", func(i int) string { return fmt.Sprint(len(c.fleets[i].Enabled())) })
	row("at once, at most", func(i int) string { return fmt.Sprint(c.runs[i].AtOnce()) })
	row("needs that no order keeps", func(i int) string { return fmt.Sprint(len(c.runs[i].Unordered)) })
	row("never healthy", func(i int) string { return fmt.Sprint(len(c.runs[i].Stuck)) })
	row("total", func(i int) string {
		if !c.runs[i].Done() {
			return "never ends"
		}
		return c.runs[i].Total.String()
	})
	b.WriteString(tabled([]string{"", c.titles[0], c.titles[1]}, rows) + "\n")
	rows = nil
	for _, name := range c.names() {
		rows = append(rows, []string{name, c.when(0, name), c.when(1, name)})
	}
	if len(rows) > 0 {
		b.WriteString(tabled([]string{"NAME", c.titles[0], c.titles[1]}, rows) + "\n")
	}
	switch {
	case c.ratio() > 0:
		fmt.Fprintf(&b, "%s takes %.2f of the time of %s\n", c.titles[0], c.ratio(), c.titles[1])
	default:
		b.WriteString("One of the two never ends or takes no time, so there is no ratio; play it by itself\n")
	}
	return b.String(), nil
}

// names lists the Applications of both, in the order of the first and then the
// second.
func (c comparison) names() []string {
	var all []string
	for i, run := range c.runs {
		for _, s := range run.Spans {
			if name := c.fleets[i].Applications[s.Application].Name; !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	return all
}

// when says when an Application of one of the two is synced.
func (c comparison) when(i int, name string) string {
	for _, s := range c.runs[i].Spans {
		if c.fleets[i].Applications[s.Application].Name != name {
			continue
		}
		end := "never"
		if s.Healthy {
			end = fleet.When(s.End)
		}
		return fleet.When(s.Start) + " to " + end
	}
	return "-"
}
