package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/compare"
	"github.com/ladder-cmp/ladder/finding"
	"github.com/ladder-cmp/ladder/fleet"
)

func newFleetDiff(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "diff DIR DIR | REV[..[.]REV] DIR...",
		Short: "Say what a change does to the rollout of a fleet",
		Long: `Load a fleet before and after a change, and say what differs: components that
come, go and move to another phase; steps of the rollout; what components need of
others; findings that are new or fixed; and how many objects of each component
change. cmp diff shows those objects for one component.

` + twoSides + `

` + exitRules,
		Example: `  cmp fleet diff main ./components
  cmp fleet diff origin/main... ./components -o markdown > comment.md`,
	}
	in := addFleetInputs(cmd)
	in.source.Partial = true
	cmd.Args = cobra.MinimumNArgs(2)
	in.asksFor(cmd, "Compare what is deployed there only")
	out := addDiffOutput(cmd, "component")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := out.check(); err != nil {
			return err
		}
		ch, err := readChange(s, args)
		if err != nil {
			return out.trouble(err)
		}
		r := fleetDiff{command: "cmp " + strings.Join(append([]string{"fleet", "diff"}, args...), " ")}
		var sides [2]*fleet.Fleet
		var dirs [2]string
		for i, side := range []struct {
			dirs []string
			at   *commit
		}{{ch.before, ch.from}, {ch.after, ch.to}} {
			in.at = side.at
			sides[i], in.base, err = in.loadSide(cmd, s, side.dirs)
			if err != nil {
				return out.trouble(atRevision(err, side.at))
			}
			dirs[i] = strings.Join(side.dirs, ", ")
			r.names[i] = called(in.base, side.dirs)
			if side.at != nil {
				r.names[i] = side.at.name + ":" + r.names[i]
			}
		}
		if err := in.isEnvironment(sides[:]...); err != nil {
			return err
		}
		r.Comparison = fleet.Compare(sides[0], dirs[0], sides[1], dirs[1], in.source.Environment)
		warn(s, sides[1].FaultsOf(r.Unknown))
		return out.write(s, r, r.components(), anyError(r.New), r.Unknown)
	}
	return cmd
}

// called names folders of a repository as the user did, or by their place in it
// where that says nothing, as "." does.
func called(base string, dirs []string) string {
	var names []string
	for _, dir := range dirs {
		name := filepath.ToSlash(filepath.Clean(dir))
		if name == "." || strings.HasSuffix(name, "..") {
			abs := existing(dir)
			if rel, err := filepath.Rel(base, abs); err == nil && rel != "." {
				name = filepath.ToSlash(rel)
			} else {
				name = filepath.Base(abs)
			}
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

// loadSide loads a fleet whole; of an environment that it does not know, there is
// nothing in it. base is its repository.
func (in *fleetInputs) loadSide(cmd *cobra.Command, s streams, dirs []string) (f *fleet.Fleet, base string, err error) {
	all := *in
	all.source.Environment = ""
	f, err = all.load(cmd, s, dirs)
	return f, all.base, err
}

// fleetDiff is what a change does to a fleet.
type fleetDiff struct {
	command string
	// names are what is compared.
	names [2]string
	fleet.Comparison
}

// components are the names of those that differ; if it is only something else
// about the fleet, that of the fleet.
func (r fleetDiff) components() []string {
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
		names = []string{r.names[1]}
	}
	return names
}

// looked is how many fleets were compared: none, if nothing is known of a part of it.
func (r fleetDiff) looked() int {
	if len(r.Unknown) > 0 {
		return 0
	}
	return 1
}

func (r fleetDiff) json() any { return r.Comparison }

func (r fleetDiff) text(p paint) string { return textOf(p, r.parts(), r.looked(), "fleet", r.Unknown) }

func (r fleetDiff) markdown(limit int) string {
	return markdownOf(r.parts(), r.looked(), "fleet", r.command, limit, r.Unknown)
}

func (r fleetDiff) parts() []part {
	if !r.Different() {
		return nil
	}
	counts := countsOf([]count{{len(r.Added), "component", "added"}, {len(r.Removed), "component", "removed"}, {len(r.Moved), "component", "in another phase"}, {len(r.Changed), "component", "with other objects"},
		{len(r.Steps), "step", "changed"}, {len(r.Gained), "need", "gained"}, {len(r.Lost), "need", "lost"}, {len(r.New), "finding", "new"}, {len(r.Fixed), "finding", "fixed"}})
	return []part{{name: r.names[1], head: []string{finding.Harmless(r.names[0]) + " -> " + finding.Harmless(r.names[1]), strings.Join(counts, "; ")}, sections: filled([]section{
		{"findings", true, findingLines(r.New, r.Fixed)},
		{"components", true, r.componentLines()},
		{"steps", true, r.stepLines()},
		{"needs", false, r.needLines()},
		{"objects", false, r.objectLines()},
	})}}
}

// phased writes a phase and what it is for.
func phased(phase, title string) string {
	switch {
	case phase == "":
		return "without a phase"
	case title == "":
		return "phase " + phase
	}
	return "phase " + phase + " (" + title + ")"
}

func (r fleetDiff) componentLines() []line {
	var all []line
	for _, a := range r.Added {
		all = append(all, line{"+", a.Name + ", " + phased(a.Phase, a.Title)})
	}
	for _, a := range r.Removed {
		all = append(all, line{"-", a.Name + ", " + phased(a.Phase, a.Title)})
	}
	for _, m := range r.Moved {
		all = append(all, line{"~", fmt.Sprintf("%s: %s -> %s", m.Name, phased(m.From, m.FromTitle), phased(m.To, m.ToTitle))})
	}
	return harmless(all)
}

func (r fleetDiff) stepLines() []line {
	var all []line
	for _, s := range r.Steps {
		text := phased(s.Phase, s.Title)
		switch s.Change {
		case compare.Added:
			text += ", at once: " + s.After
		case compare.Replaced:
			text += ", at once: " + s.Before + " -> " + s.After
		}
		all = append(all, line{marks[s.Change], text})
	}
	return harmless(all)
}

func (r fleetDiff) needLines() []line {
	var all []line
	for _, list := range []struct {
		mark string
		all  []fleet.Needed
	}{{"+", r.Gained}, {"-", r.Lost}} {
		for _, n := range list.all {
			inferred := ""
			if n.Inferred {
				inferred = ", inferred"
			}
			all = append(all, line{list.mark, fmt.Sprintf("%s needs %s (%s%s): %s", n.Name, n.Of, n.Strength, inferred, n.Why)})
		}
	}
	return harmless(all)
}

func (r fleetDiff) objectLines() []line {
	var all []line
	for _, c := range r.Changed {
		counts := strings.Join(countsOf([]count{{c.Added, "object", "added"}, {c.Removed, "object", "removed"}, {c.Changed, "object", "changed"}, {c.Moved, "object", "in another wave"}}), "; ")
		switch {
		case c.Is == compare.Failed && c.Was != compare.Failed:
			counts = "cannot be rendered any more"
		case c.Was == compare.Failed && c.Is != compare.Failed:
			counts = "can be rendered now"
		}
		all = append(all, line{"~", c.Name + ": " + counts})
	}
	return harmless(all)
}

// harmless writes out what a terminal would obey.
func harmless(all []line) []line {
	for i := range all {
		all[i].text = finding.Harmless(all[i].text)
	}
	return all
}
