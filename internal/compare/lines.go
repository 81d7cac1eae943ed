package compare

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/paint"
)

// sectionsOf lists the differences, most severe first.
func sectionsOf(c Comparison) []Section {
	all := []Section{
		{"findings", true, FindingLines(c.New, c.Fixed)},
		{"moved", true, moveLines(c.Moved)},
		{"gates", false, deltaLines(c.Gates.Gained, c.Gates.Lost, Gate.String)},
		{"risks", false, deltaLines(c.Risks.Gained, c.Risks.Lost, Risk.String)},
		{"added and removed", false, deltaLines(c.Added, c.Removed, inWave)},
		{"changed", false, changedLines(c.Changed)},
	}
	return NonEmpty(all)
}

// FindingLines formats new and fixed findings.
func FindingLines(appeared, fixed []finding.Finding) []Line {
	var all []Line
	for _, f := range appeared {
		all = append(all, Line{"+", paint.Paint{}.Finding(f)})
	}
	for _, f := range fixed {
		f.Remedy = "" // no longer relevant
		all = append(all, Line{"-", paint.Paint{}.Finding(f)})
	}
	return all
}

func moveLines(moved []Move) []Line {
	var all []Line
	for _, m := range moved {
		text := fmt.Sprintf("%s: %s -> %s", m.Object, moment(m.From), moment(m.To))
		if m.Since != "" {
			text += ", since " + m.Since
		}
		all = append(all, Line{"~", text})
		if m.OldWhy == m.Why {
			all = append(all, Line{" ", "  " + m.Why})
			continue
		}
		all = append(all, Line{" ", "  now: " + m.Why}, Line{" ", "  before: " + m.OldWhy})
	}
	return all
}

// deltaLines lists additions, then removals.
func deltaLines[T any](gained, lost []T, text func(T) string) []Line {
	var all []Line
	for _, x := range gained {
		all = append(all, Line{"+", text(x)})
	}
	for _, x := range lost {
		all = append(all, Line{"-", text(x)})
	}
	return all
}

func (g Gate) String() string {
	inferred := ""
	if g.Inferred {
		inferred = " (inferred)"
	}
	if g.Blind {
		return fmt.Sprintf("%s depends on %s, for which Argo CD does not wait: %s it%s", g.Object, g.On, g.Why, inferred)
	}
	return fmt.Sprintf("%s waits for %s: %s it%s", g.Object, g.On, g.Why, inferred)
}

func (r Risk) String() string { return fmt.Sprintf("%s, %s: %s: %s", r.At, r.Risk, r.Object, r.Why) }

func inWave(o Object) string {
	if o.Wave == "" {
		return o.Object
	}
	return o.Object + "  (" + moment(o.Wave) + ")"
}

// moment formats a wave, or a phase and weight.
func moment(when string) string {
	if _, err := strconv.Atoi(when); err == nil {
		return "wave " + when
	}
	if when == "-" {
		return "never applied"
	}
	return when
}

func changedLines(changed []Changed) []Line {
	var all []Line
	for _, c := range changed {
		name := inWave(c.Object)
		if c.OldName != "" {
			name += ", was " + c.OldName
		}
		all = append(all, Line{"~", name})
		for _, f := range c.Fields {
			all = append(all, fieldLines(f)...)
		}
	}
	return all
}

// fieldLines formats a changed field like a diff.
func fieldLines(f Field) []Line {
	switch {
	case f.Secret:
		return []Line{{Marks[f.Change], "  " + f.Path + ": " + string(f.Change) + ", not shown"}}
	case f.Lines != "":
		all := []Line{{"~", "  " + f.Path + ":"}}
		for text := range strings.Lines(f.Lines) {
			text = strings.TrimSuffix(text, "\n")
			if where, found := strings.CutPrefix(text, "@@ "); found {
				all = append(all, Line{"@@", where})
				continue
			}
			mark := " "
			if text != "" && strings.ContainsAny(text[:1], "+-") {
				mark = text[:1]
			}
			all = append(all, Line{mark, "     " + strings.TrimPrefix(strings.TrimPrefix(text, mark), " ")})
		}
		return all
	case f.Change == Reordered:
		return []Line{{"~", "  " + f.Path + ": " + f.Before + " -> " + f.After + " (order)"}}
	}
	var all []Line
	if f.Change != Added {
		all = append(all, valueLines("-", f.Path, f.Before)...)
	}
	if f.Change != Removed {
		all = append(all, valueLines("+", f.Path, f.After)...)
	}
	return all
}

func valueLines(mark, path, value string) []Line {
	if !strings.Contains(value, "\n") {
		return []Line{{mark, "  " + path + ": " + value}}
	}
	all := []Line{{mark, "  " + path + ":"}}
	for _, text := range strings.Split(strings.TrimSuffix(value, "\n"), "\n") {
		all = append(all, Line{mark, "    " + text})
	}
	return all
}

// Marks are the diff marks of changes.
var Marks = map[Change]string{Added: "+", Removed: "-", Replaced: "~", Reordered: "~"}
