package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ladder-cmp/ladder/compare"
	"github.com/ladder-cmp/ladder/finding"
)

// diffReport is what a change does to components.
type diffReport struct {
	// command is what made it, for those who want to see all of it.
	command string
	// looked is how many components were compared.
	looked int
	all    comparisons
	// unknown are those that cannot be rendered on either side.
	unknown []string
}

func (r diffReport) json() any {
	all := []compare.Comparison{}
	for _, c := range r.all {
		all = append(all, c.Comparison)
	}
	return map[string]any{"components": all, "unknown": append([]string{}, r.unknown...)}
}

func (r diffReport) text(p paint) string {
	return textOf(p, r.parts(), r.looked, "component", r.unknown)
}

func (r diffReport) markdown(limit int) string {
	return markdownOf(r.parts(), r.looked, "component", r.command, limit, r.unknown)
}

func (r diffReport) parts() []part {
	var all []part
	for _, c := range r.all {
		all = append(all, part{name: c.name, head: headOf(c.Comparison), sections: sectionsOf(c.Comparison)})
	}
	return all
}

// part is what a comparison says of one component, or of a fleet.
type part struct {
	name string
	// head says in a line or two what is compared and how much differs.
	head     []string
	sections []section
}

// section is a list of what differs. open means that it is to be seen at once.
type section struct {
	title string
	open  bool
	lines []line
}

// line is one of a diff: its mark is "+", "-", "~" for what is both, or a blank
// for what explains the line before.
type line struct{ mark, text string }

func (l line) String() string { return strings.TrimRight(l.mark+" "+l.text, " ") }

// unknownText says that there is nothing to compare.
func unknownText(names string) string {
	return "not known, since it cannot be rendered before or after: " + names
}

// textOf writes parts for a terminal, and what nothing is known of.
func textOf(p paint, parts []part, looked int, what string, unknown []string) string {
	rest := ""
	if len(unknown) > 0 {
		rest = unknownText(finding.Harmless(strings.Join(unknown, ", "))) + "\n"
	}
	if len(parts) == 0 && looked == 0 {
		return rest
	}
	if len(parts) == 0 {
		return "no difference in " + counted(looked, what) + "\n" + rest
	}
	colours := map[string]string{"+": green, "-": red, "~": cyan, "@@": cyan}
	var b strings.Builder
	for i, part := range parts {
		if i > 0 {
			b.WriteByte('\n')
		}
		for j, head := range part.head {
			if j == 0 {
				head = p.in(bold, head)
			}
			b.WriteString(head + "\n")
		}
		for _, s := range part.sections {
			fmt.Fprintf(&b, "\n%s\n", p.in(bold, s.title))
			for _, l := range s.lines {
				b.WriteString("  " + p.in(colours[l.mark], l.String()) + "\n")
			}
		}
	}
	if same := looked - len(parts); same > 0 {
		fmt.Fprintf(&b, "\nno difference in %s\n", counted(same, "other "+what))
	}
	if rest != "" {
		b.WriteString("\n" + rest)
	}
	return b.String()
}

// headOf says what is compared, and how much differs.
func headOf(c compare.Comparison) []string {
	head := finding.Harmless(c.Before.Name) + " -> " + finding.Harmless(c.After.Name)
	switch {
	case c.Before.State == compare.Missing:
		head = finding.Harmless(c.After.Name) + " is new"
	case c.After.State == compare.Missing:
		head = finding.Harmless(c.Before.Name) + " is gone"
	}
	var states []string
	if c.Before.State == compare.Failed {
		states = append(states, "before, it could not be rendered")
	}
	if c.After.State == compare.Failed {
		states = append(states, "it cannot be rendered")
	}
	counts := countsOf([]count{{len(c.Added), "object", "added"}, {len(c.Removed), "object", "removed"}, {len(c.Changed), "object", "changed"}, {len(c.Moved), "object", "moved"},
		{len(c.Gates.Gained), "gate", "gained"}, {len(c.Gates.Lost), "gate", "lost"}, {len(c.Risks.Gained), "risk", "gained"}, {len(c.Risks.Lost), "risk", "lost"},
		{len(c.New), "finding", "new"}, {len(c.Fixed), "finding", "fixed"}})
	return []string{head, strings.Join(append(states, counts...), "; ")}
}

// count is how many of a thing something happened to.
type count struct {
	n          int
	what, verb string
}

// countsOf writes the counts that are not 0, those of one thing together.
func countsOf(all []count) []string {
	var parts []string
	last := ""
	for _, c := range all {
		switch {
		case c.n == 0:
			continue
		case c.what == last:
			parts[len(parts)-1] += fmt.Sprintf(", %d %s", c.n, c.verb)
		default:
			parts = append(parts, counted(c.n, c.what)+" "+c.verb)
		}
		last = c.what
	}
	return parts
}

// sectionsOf lists what differs, the gravest first.
func sectionsOf(c compare.Comparison) []section {
	all := []section{
		{"findings", true, findingLines(c.New, c.Fixed)},
		{"moved", true, moveLines(c.Moved)},
		{"gates", false, gateLines(c.Gates)},
		{"risks", false, riskLines(c.Risks)},
		{"added and removed", false, objectLines(c.Objects)},
		{"changed", false, changedLines(c.Changed)},
	}
	return filled(all)
}

// filled leaves out the sections of which there is nothing to say.
func filled(all []section) []section {
	var some []section
	for _, s := range all {
		if len(s.lines) > 0 {
			some = append(some, s)
		}
	}
	return some
}

func findingLines(appeared, fixed []finding.Finding) []line {
	var all []line
	for _, f := range appeared {
		all = append(all, line{"+", string(f.Severity) + ": " + f.Error()})
	}
	for _, f := range fixed {
		f.Remedy = "" // it was followed
		all = append(all, line{"-", string(f.Severity) + ": " + f.Error()})
	}
	return all
}

func moveLines(moved []compare.Move) []line {
	var all []line
	for _, m := range moved {
		text := fmt.Sprintf("%s: %s -> %s", m.Object, moment(m.From), moment(m.To))
		if m.Since != "" {
			text += ", since " + m.Since
		}
		all = append(all, line{"~", text})
		if m.Was == m.Why {
			all = append(all, line{" ", "  " + m.Why})
			continue
		}
		all = append(all, line{" ", "  now: " + m.Why}, line{" ", "  before: " + m.Was})
	}
	return all
}

func gateLines(gates compare.Gates) []line {
	var all []line
	for _, list := range []struct {
		mark string
		all  []compare.Gate
	}{{"+", gates.Gained}, {"-", gates.Lost}} {
		for _, g := range list.all {
			inferred := ""
			if g.Inferred {
				inferred = " (inferred)"
			}
			all = append(all, line{list.mark, fmt.Sprintf("%s waits for %s: %s it%s", g.Object, g.On, g.Why, inferred)})
		}
	}
	return all
}

func riskLines(risks compare.Risks) []line {
	var all []line
	for _, list := range []struct {
		mark string
		all  []compare.Risk
	}{{"+", risks.Gained}, {"-", risks.Lost}} {
		for _, r := range list.all {
			all = append(all, line{list.mark, fmt.Sprintf("%s, %s: %s: %s", r.At, r.Risk, r.Object, r.Why)})
		}
	}
	return all
}

func objectLines(o compare.Objects) []line {
	var all []line
	for _, list := range []struct {
		mark string
		all  []compare.Object
	}{{"+", o.Added}, {"-", o.Removed}} {
		for _, x := range list.all {
			all = append(all, line{list.mark, inWave(x)})
		}
	}
	return all
}

func inWave(o compare.Object) string {
	if o.Wave == "" {
		return o.Object
	}
	return o.Object + "  (" + moment(o.Wave) + ")"
}

// moment says when an object is applied, whose wave or phase and weight is given.
func moment(when string) string {
	if _, err := strconv.Atoi(when); err == nil {
		return "wave " + when
	}
	if when == "-" {
		return "never applied"
	}
	return when
}

func changedLines(changed []compare.Changed) []line {
	var all []line
	for _, c := range changed {
		name := inWave(c.Object)
		if c.Was != "" {
			name += ", was " + c.Was
		}
		all = append(all, line{"~", name})
		for _, f := range c.Fields {
			all = append(all, fieldLines(f)...)
		}
	}
	return all
}

// fieldLines say what became of a field, in the manner of a diff.
func fieldLines(f compare.Field) []line {
	switch {
	case f.Secret:
		return []line{{marks[f.Change], "  " + f.Path + ": " + string(f.Change) + ", not shown"}}
	case f.Lines != "":
		all := []line{{"~", "  " + f.Path + ":"}}
		for text := range strings.Lines(f.Lines) {
			text = strings.TrimSuffix(text, "\n")
			if where, found := strings.CutPrefix(text, "@@ "); found {
				all = append(all, line{"@@", where})
				continue
			}
			mark := " "
			if text != "" && strings.ContainsAny(text[:1], "+-") {
				mark = text[:1]
			}
			all = append(all, line{mark, "     " + strings.TrimPrefix(strings.TrimPrefix(text, mark), " ")})
		}
		return all
	case f.Change == compare.Reordered:
		return []line{{"~", "  " + f.Path + ": " + f.Before + " -> " + f.After + " (order)"}}
	}
	var all []line
	if f.Change != compare.Added {
		all = append(all, valueLines("-", f.Path, f.Before)...)
	}
	if f.Change != compare.Removed {
		all = append(all, valueLines("+", f.Path, f.After)...)
	}
	return all
}

var marks = map[compare.Change]string{compare.Added: "+", compare.Removed: "-", compare.Replaced: "~", compare.Reordered: "~"}

func valueLines(mark, path, value string) []line {
	if !strings.Contains(value, "\n") {
		return []line{{mark, "  " + path + ": " + value}}
	}
	all := []line{{mark, "  " + path + ":"}}
	for _, text := range strings.Split(strings.TrimSuffix(value, "\n"), "\n") {
		all = append(all, line{mark, "    " + text})
	}
	return all
}
