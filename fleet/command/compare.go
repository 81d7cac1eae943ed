package command

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/inventory"
	"github.com/ladder-cmp/ladder/fleet/rollout"
	"github.com/ladder-cmp/ladder/internal/checkout"
	"github.com/ladder-cmp/ladder/internal/cli/flags"
	"github.com/ladder-cmp/ladder/internal/compare"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/paint"
	"github.com/ladder-cmp/ladder/internal/report"
)

// CompareFleets compares a fleet before and after a change, with the components of all environments.
// The findings are those of components that fail on both sides.
func CompareFleets(ctx context.Context, opt LoadOptions, ch checkout.Change,
	commandLine string) (r Change, found []finding.Finding, err error) {
	environment := opt.Source.Environment
	opt.Source.Environment = ""
	if opt.Source.Random, err = flags.TemporaryRandom(); err != nil {
		return r, nil, err
	}
	if err := ch.CheckDirs(); err != nil {
		return r, nil, err
	}
	opt.Source.AllowMissingDirs = ch.Revisions
	r.Command = commandLine
	var sides [2]*fleet.Fleet
	var dirs [2]string
	for i, side := range []struct {
		dirs []string
		at   *checkout.Commit
	}{{ch.Before, ch.From}, {ch.After, ch.To}} {
		opt.At = side.at
		all, err := Load(ctx, opt, side.dirs)
		if err != nil {
			return r, nil, checkout.AtRevision(err, side.at)
		}
		sides[i], dirs[i] = all.Fleet, strings.Join(side.dirs, ", ")
		r.Names[i] = checkout.Called(all.Root, side.dirs)
		if side.at != nil {
			r.Names[i] = side.at.Name + ":" + r.Names[i]
		}
	}
	if err := rollout.CheckEnvironment(sides[0], environment, sides[1]); err != nil {
		return r, nil, err
	}
	r.Comparison = inventory.Compare(sides[0], dirs[0], sides[1], dirs[1], environment)
	return r, inventory.FaultsOf(sides[1], r.Unknown), nil
}

// rollouts shows two rollouts side by side.
type rollouts struct {
	Titles [2]string
	Fleets [2]*fleet.Fleet
	Runs   [2]*rollout.Run
}

// ratio returns the duration of the first rollout divided by that of the second; 0 if one of
// them never completes.
func (c rollouts) ratio() float64 {
	if !c.Runs[0].Done() || !c.Runs[1].Done() || c.Runs[1].Total == 0 {
		return 0
	}
	return c.Runs[0].Total.Seconds() / c.Runs[1].Total.Seconds()
}

// Render returns both as text or JSON.
func (c rollouts) Render(format string) (string, error) {
	if format == "json" {
		type side struct {
			Title string `json:"title"`
			report.Timeline
		}
		out := struct {
			Ratio    float64 `json:"ratio"`
			Rollouts [2]side `json:"rollouts"`
		}{Ratio: c.ratio()}
		for i := range c.Runs {
			out.Rollouts[i] = side{c.Titles[i], shownRollout{Fleet: c.Fleets[i], Run: c.Runs[i]}.timeline()}
		}
		return paint.JSON(out)
	}
	var b strings.Builder
	var rows [][]string
	row := func(what string, of func(i int) string) { rows = append(rows, []string{what, of(0), of(1)}) }
	row("independent sets", func(i int) string { return fmt.Sprint(len(c.Runs[i].Layout.Sets)) })
	row("steps", func(i int) string { return fmt.Sprint(c.Runs[i].StepCount()) })
	row("Applications", func(i int) string { return fmt.Sprint(len(c.Fleets[i].Enabled())) })
	row("at once, at most", func(i int) string { return fmt.Sprint(c.Runs[i].AtOnce()) })
	row("dependencies not kept", func(i int) string { return fmt.Sprint(len(c.Runs[i].Unordered)) })
	row("never healthy", func(i int) string { return fmt.Sprint(len(c.Runs[i].Stuck)) })
	row("total", func(i int) string {
		if !c.Runs[i].Done() {
			return "never ends"
		}
		return c.Runs[i].Total.String()
	})
	b.WriteString(paint.Rows([]string{"", c.Titles[0], c.Titles[1]}, rows) + "\n")
	rows = nil
	for _, name := range c.names() {
		rows = append(rows, []string{name, c.when(0, name), c.when(1, name)})
	}
	if len(rows) > 0 {
		b.WriteString(paint.Rows([]string{"NAME", c.Titles[0], c.Titles[1]}, rows) + "\n")
	}
	switch {
	case c.ratio() > 0:
		fmt.Fprintf(&b, "%s takes %.2f times as long as %s\n", c.Titles[0], c.ratio(), c.Titles[1])
	default:
		b.WriteString("One of the two never ends or takes no time, so they have no ratio; simulate it alone\n")
	}
	return b.String(), nil
}

// names lists the Applications of both rollouts: those of the first in its order, then the
// others in the order of the second.
func (c rollouts) names() []string {
	var all []string
	for i, run := range c.Runs {
		for _, s := range run.Spans {
			if name := c.Fleets[i].Applications[s.Application].Name; !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	return all
}

// when formats the time at which an Application of one rollout is synced.
func (c rollouts) when(i int, name string) string {
	for _, s := range c.Runs[i].Spans {
		if c.Fleets[i].Applications[s.Application].Name != name {
			continue
		}
		end := "never"
		if s.Healthy {
			end = rollout.When(s.End)
		}
		return rollout.When(s.Start) + " to " + end
	}
	return "-"
}

// Change shows the effect of a change on a fleet.
type Change struct {
	Command string
	// Names are the names of both sides of the comparison.
	Names [2]string
	inventory.Comparison
}

// Components returns the names of the components that differ; if only something else differs,
// the name of the fleet.
func (r Change) Components() []string {
	var names []string
	seen := map[string]bool{}
	add := func(name string) {
		if !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	for _, a := range r.Added {
		add(a.Name)
	}
	for _, a := range r.Removed {
		add(a.Name)
	}
	for _, m := range r.Moved {
		add(m.Name)
	}
	for _, c := range r.Changed {
		add(c.Name)
	}
	if names == nil && r.Different() {
		names = []string{r.Names[1]}
	}
	return names
}

// compared returns the number of compared fleets: 0 if a part is unknown.
func (r Change) compared() int {
	if len(r.Unknown) > 0 {
		return 0
	}
	return 1
}

// JSON returns the change for other programs.
func (r Change) JSON() any { return r.Comparison }

// Text returns the change for a terminal.
func (r Change) Text(p paint.Paint) string {
	return compare.Text(p, r.parts(), r.compared(), "fleet", r.Unknown)
}

// Markdown returns the change for a comment of at most limit bytes.
func (r Change) Markdown(limit int) string {
	return compare.Markdown(r.parts(), r.compared(), "fleet", r.Command, limit, r.Unknown)
}

func (r Change) parts() []compare.Part {
	if !r.Different() {
		return nil
	}
	counts := compare.Counts([]compare.Count{count(len(r.Added), "component", "added"),
		count(len(r.Removed), "component", "removed"), count(len(r.Moved), "component", "in another step"),
		count(len(r.Changed), "component", "with other objects"),
		count(len(r.Steps), "step", "changed"), count(len(r.AddedDependencies), "need", "gained"),
		count(len(r.RemovedDependencies), "need", "lost"), count(len(r.New), "finding", "new"), count(len(r.Fixed), "finding", "fixed")})
	return []compare.Part{{Name: r.Names[1], Head: []string{finding.Sanitize(r.Names[0]) + " -> " + finding.Sanitize(r.Names[1]),
		strings.Join(counts, "; ")}, Sections: compare.NonEmpty([]compare.Section{
		{Title: "findings", Open: true, Lines: compare.FindingLines(r.New, r.Fixed)},
		{Title: "components", Open: true, Lines: r.componentLines()},
		{Title: "steps", Open: true, Lines: r.stepLines()},
		{Title: "needs", Lines: r.dependencyLines()},
		{Title: "objects", Lines: r.objectLines()},
	})}}
}

func (r Change) componentLines() []compare.Line {
	var all []compare.Line
	for _, a := range r.Added {
		all = append(all, line("+", a.Name+", "+stepWithTitle(a.Step, a.Title)))
	}
	for _, a := range r.Removed {
		all = append(all, line("-", a.Name+", "+stepWithTitle(a.Step, a.Title)))
	}
	for _, m := range r.Moved {
		all = append(all, line("~", fmt.Sprintf("%s: %s -> %s", m.Name, stepWithTitle(m.From, m.FromTitle), stepWithTitle(m.To, m.ToTitle))))
	}
	return harmless(all)
}

func (r Change) stepLines() []compare.Line {
	var all []compare.Line
	for _, s := range r.Steps {
		text := stepWithTitle(s.Step, s.Title)
		switch s.Change {
		case compare.Added:
			text += ", at once: " + s.After
		case compare.Replaced:
			text += ", at once: " + s.Before + " -> " + s.After
		}
		all = append(all, line(compare.Marks[s.Change], text))
	}
	return harmless(all)
}

func (r Change) dependencyLines() []compare.Line {
	var all []compare.Line
	for _, list := range []struct {
		mark string
		all  []inventory.DependencyChange
	}{{"+", r.AddedDependencies}, {"-", r.RemovedDependencies}} {
		for _, n := range list.all {
			inferred := ""
			if n.Inferred {
				inferred = ", inferred"
			}
			all = append(all, line(list.mark, fmt.Sprintf("%s needs %s (%s%s): %s", n.Name, n.Of, n.Strength, inferred, n.Why)))
		}
	}
	return harmless(all)
}

func (r Change) objectLines() []compare.Line {
	var all []compare.Line
	for _, c := range r.Changed {
		counts := strings.Join(compare.Counts([]compare.Count{count(c.Added, "object", "added"),
			count(c.Removed, "object", "removed"), count(c.Changed, "object", "changed"), count(c.Moved, "object", "in another wave")}), "; ")
		switch {
		case c.After == compare.Failed && c.Before != compare.Failed:
			counts = "no longer renders"
		case c.Before == compare.Failed && c.After != compare.Failed:
			counts = "renders now"
		}
		all = append(all, line("~", c.Name+": "+counts))
	}
	return harmless(all)
}

func count(n int, what, verb string) compare.Count {
	return compare.Count{N: n, What: what, Verb: verb}
}

func line(mark, text string) compare.Line { return compare.Line{Mark: mark, Text: text} }

// stepWithTitle formats a step with its title.
func stepWithTitle(step, title string) string {
	switch {
	case step == "":
		return "without a step"
	case title == "":
		return "step " + step
	}
	return "step " + step + " (" + title + ")"
}

// harmless escapes control sequences of terminals.
func harmless(all []compare.Line) []compare.Line {
	for i := range all {
		all[i].Text = finding.Sanitize(all[i].Text)
	}
	return all
}
