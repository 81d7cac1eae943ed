package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/paint"
)

// Report is the effect of a change on components.
type Report struct {
	// Command is the command that made the report, to reproduce it in full.
	Command string
	// Compared is the number of compared components.
	Compared int
	All      List
	// Unknown lists components that failed to render on either side.
	Unknown []string
}

// JSON returns the JSON form of the report.
func (r Report) JSON() any {
	all := []Comparison{}
	for _, c := range r.All {
		all = append(all, c.Comparison)
	}
	return map[string]any{"components": all, "unknown": append([]string{}, r.Unknown...)}
}

// Text formats the report for a terminal.
func (r Report) Text(p paint.Paint) string {
	return Text(p, r.parts(), r.Compared, "component", r.Unknown)
}

// Markdown formats the report as a comment with a size limit in bytes.
func (r Report) Markdown(limit int) string {
	return Markdown(r.parts(), r.Compared, "component", r.Command, limit, r.Unknown)
}

func (r Report) parts() []Part {
	var all []Part
	for _, c := range r.All {
		all = append(all, Part{Name: c.Name, Head: headOf(c.Comparison), Sections: sectionsOf(c.Comparison)})
	}
	return all
}

// Part is the comparison of a component, or of a fleet.
type Part struct {
	Name string
	// Head summarizes the comparison in a line or two.
	Head     []string
	Sections []Section
}

// Section is a list of differences. Open means that it is initially expanded.
type Section struct {
	Title string
	Open  bool
	Lines []Line
}

// Line is a line of a diff: its mark is "+", "-", "~" for a change, or a blank for
// an explanation of the previous line.
type Line struct{ Mark, Text string }

// String returns the line with its mark.
func (l Line) String() string { return strings.TrimRight(l.Mark+" "+l.Text, " ") }

// Named is the comparison of a component with the user's name for it.
type Named struct {
	Name string
	Comparison
}

// List is the comparison of several components.
type List []Named

// Names returns the names of the components.
func (all List) Names() []string {
	var names []string
	for _, c := range all {
		names = append(names, c.Name)
	}
	return names
}

// AddsError reports whether a change adds an error.
func (all List) AddsError() bool {
	return slices.ContainsFunc(all, func(c Named) bool { return AnyError(c.New) })
}

// UnknownText says that nothing could be compared.
func UnknownText(names string) string {
	return "not known, because it renders neither before nor after: " + names
}

// Text formats parts for a terminal, with the components that could not be
// compared.
func Text(p paint.Paint, parts []Part, looked int, what string, unknown []string) string {
	rest := ""
	if len(unknown) > 0 {
		rest = UnknownText(finding.Sanitize(strings.Join(unknown, ", "))) + "\n"
	}
	if len(parts) == 0 && looked == 0 {
		return rest
	}
	if len(parts) == 0 {
		return "no difference in " + finding.Counted(looked, what) + "\n" + rest
	}
	colours := map[string]string{"+": paint.Green, "-": paint.Red, "~": paint.Cyan, "@@": paint.Cyan}
	var b strings.Builder
	for i, part := range parts {
		if i > 0 {
			b.WriteByte('\n')
		}
		for j, head := range part.Head {
			if j == 0 {
				head = p.In(paint.Bold, head)
			}
			b.WriteString(head + "\n")
		}
		for _, s := range part.Sections {
			fmt.Fprintf(&b, "\n%s\n", p.In(paint.Bold, s.Title))
			for _, l := range s.Lines {
				b.WriteString("  " + p.In(colours[l.Mark], l.String()) + "\n")
			}
		}
	}
	if same := looked - len(parts); same > 0 {
		fmt.Fprintf(&b, "\nno difference in %s\n", finding.Counted(same, "other "+what))
	}
	if rest != "" {
		b.WriteString("\n" + rest)
	}
	return b.String()
}

// headOf summarizes a comparison.
func headOf(c Comparison) []string {
	head := finding.Sanitize(c.Before.Name) + " -> " + finding.Sanitize(c.After.Name)
	switch {
	case c.Before.State == Missing:
		head = finding.Sanitize(c.After.Name) + " is new"
	case c.After.State == Missing:
		head = finding.Sanitize(c.Before.Name) + " is gone"
	}
	var states []string
	if c.Before.State == Failed {
		states = append(states, "before, it could not be rendered")
	}
	if c.After.State == Failed {
		states = append(states, "it cannot be rendered")
	}
	counts := Counts([]Count{{len(c.Added), "object", "added"}, {len(c.Removed), "object", "removed"},
		{len(c.Changed), "object", "changed"}, {len(c.Moved), "object", "moved"},
		{len(c.Gates.Gained), "gate", "gained"}, {len(c.Gates.Lost), "gate", "lost"}, {len(c.Risks.Gained), "risk", "gained"},
		{len(c.Risks.Lost), "risk", "lost"},
		{len(c.New), "finding", "new"}, {len(c.Fixed), "finding", "fixed"}})
	return []string{head, strings.Join(append(states, counts...), "; ")}
}

// Count counts one kind of change.
type Count struct {
	N          int
	What, Verb string
}

// Counts formats the non-zero counts, grouped by subject.
func Counts(all []Count) []string {
	var parts []string
	last := ""
	for _, c := range all {
		switch {
		case c.N == 0:
			continue
		case c.What == last:
			parts[len(parts)-1] += fmt.Sprintf(", %d %s", c.N, c.Verb)
		default:
			parts = append(parts, finding.Counted(c.N, c.What)+" "+c.Verb)
		}
		last = c.What
	}
	return parts
}

// NonEmpty removes empty sections.
func NonEmpty(all []Section) []Section {
	var some []Section
	for _, s := range all {
		if len(s.Lines) > 0 {
			some = append(some, s)
		}
	}
	return some
}

// AnyError reports whether there is a finding of severity error.
func AnyError(all []finding.Finding) bool {
	return slices.ContainsFunc(all, func(f finding.Finding) bool { return f.Severity == finding.Error })
}
