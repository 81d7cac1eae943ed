package command

import (
	"fmt"
	"strings"

	"github.com/ladder-cmp/ladder/fleet/inventory"
	"github.com/ladder-cmp/ladder/internal/compare"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/paint"
)

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
	counts := compare.Counts([]compare.Count{count(len(r.Added), "component", "added"), count(len(r.Removed), "component", "removed"), count(len(r.Moved), "component", "in another step"), count(len(r.Changed), "component", "with other objects"),
		count(len(r.Steps), "step", "changed"), count(len(r.AddedDependencies), "need", "gained"), count(len(r.RemovedDependencies), "need", "lost"), count(len(r.New), "finding", "new"), count(len(r.Fixed), "finding", "fixed")})
	return []compare.Part{{Name: r.Names[1], Head: []string{finding.Sanitize(r.Names[0]) + " -> " + finding.Sanitize(r.Names[1]), strings.Join(counts, "; ")}, Sections: compare.NonEmpty([]compare.Section{
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
		counts := strings.Join(compare.Counts([]compare.Count{count(c.Added, "object", "added"), count(c.Removed, "object", "removed"), count(c.Changed, "object", "changed"), count(c.Moved, "object", "in another wave")}), "; ")
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
