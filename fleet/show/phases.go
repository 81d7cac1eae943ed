package show

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/rollout"
	"github.com/ladder-cmp/ladder/fleet/steps"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/table"
	"github.com/ladder-cmp/ladder/internal/wholefile"
	"github.com/ladder-cmp/ladder/plugin"
)

// Phases prints computed steps.
type Phases struct {
	Fleet    *fleet.Fleet
	Phases   *steps.Plan
	Findings []finding.Finding

	rows     []phaseRow
	head     []string
	summary  []string
	rollouts []rolloutTime
}

func (r *Phases) row(p steps.Placed) phaseRow {
	return phaseRow{Phase: p.Computed.Text, Set: r.Fleet.Write(p.Phase), Name: p.Name, Rung: p.Rung, Band: p.Band, Verdict: p.Verdict(), Why: p.Why, Enabled: p.IsEnabled()}
}

// Table lists the computed steps.
func (r *Phases) Table() {
	r.head = []string{"STEP", "NAME", "RUNG", "WHY"}
	for _, p := range r.Phases.Sorted() {
		row := r.row(p)
		row.cells = []string{cmp.Or(row.Phase, "-"), shownName(p), cmp.Or(row.Rung, "-"), row.Why}
		r.rows = append(r.rows, row)
	}
	text := fmt.Sprintf("%s in %s", finding.Counted(len(r.rows), "Application"), finding.Counted(r.Phases.Count(func(p steps.Placed) component.Step { return p.Computed }), "step"))
	homeless := 0
	for _, row := range r.rows {
		if row.Verdict == steps.Homeless {
			homeless++
		}
	}
	if homeless > 0 {
		text = fmt.Sprintf("%s, %d without a place", finding.Counted(len(r.rows), "Application"), homeless)
	}
	r.summary = append(r.summary, text)
}

func (r *Phases) computed(i int) component.Step { return r.Phases.Places[i].Computed }

func (r *Phases) set(i int) component.Step { return r.Phases.Places[i].Phase }

// Diff lists the steps that are set next to the computed ones.
func (r *Phases) Diff() {
	r.head = []string{"SET", "EARLIEST", "NAME", "VERDICT", "WHY"}
	count := map[string]int{}
	for _, p := range r.Phases.Sorted() {
		row := r.row(p)
		count[row.Verdict]++
		if row.Verdict == steps.TooLate {
			row.Why = p.Late
		}
		row.cells = []string{cmp.Or(row.Set, "-"), cmp.Or(p.Earliest.Text, row.Phase, "-"), shownName(p), shownVerdict(row.Verdict), row.Why}
		if row.Verdict != steps.Equal {
			r.rows = append(r.rows, row)
		}
	}
	text := fmt.Sprintf("%s: %d equal, %d could be earlier, %d must be later", finding.Counted(len(r.Phases.Places), "Application"), count[steps.Equal], count[steps.Earlier], count[steps.Later])
	for _, more := range []struct{ verdict, text string }{
		{steps.TooLate, "must be earlier"}, {steps.Intent, shownVerdict(steps.Intent)}, {steps.Missing, "not set"}, {steps.Homeless, "without a reserved step"},
	} {
		if n := count[more.verdict]; n > 0 {
			text += fmt.Sprintf(", %d %s", n, more.text)
		}
	}
	r.summary = append(r.summary, text)
}

// shownVerdict returns a verdict in words. The JSON keeps the verdicts themselves.
func shownVerdict(verdict string) string {
	switch verdict {
	case steps.Earlier:
		return "could be earlier"
	case steps.Intent:
		return "intentionally later"
	case steps.Homeless:
		return "no step reserved"
	}
	return verdict
}

// Compact lists the fewest steps, and how long each layout takes.
func (r *Phases) Compact(times rollout.Durations) {
	c := r.Phases.Compact()
	if c == nil {
		r.Table() // the findings say why there is no more
		return
	}
	r.head = []string{"COMPACT", "STEP", "NAME", "WHY"}
	for _, i := range rollout.Order(c, r.Fleet) {
		row := r.row(r.Phases.Places[i])
		row.Step, row.Why = c.Steps[i], c.Why[i]
		row.cells = []string{fmt.Sprint(row.Step), row.Phase, shownName(r.Phases.Places[i]), row.Why}
		r.rows = append(r.rows, row)
	}
	r.summary = append(r.summary, fmt.Sprintf("%s in %s", finding.Counted(len(r.rows), "Application"), finding.Counted(c.Count, "step")), "")
	for _, l := range []rollout.Layout{rollout.NewLayout(r.Fleet, "as set", r.set), rollout.NewLayout(r.Fleet, "computed", r.computed), rollout.CompactLayout(r.Fleet, c)} {
		run := rollout.Simulate(r.Fleet, l, times, nil)
		t := rolloutTime{Layout: l.Name, Steps: run.StepCount(), Seconds: run.Total.Seconds(), Done: run.Done()}
		r.rollouts = append(r.rollouts, t)
		text := "in " + run.Total.String()
		if !t.Done {
			text = "which never ends; cmp fleet simulate says why"
		}
		r.summary = append(r.summary, fmt.Sprintf("%-9s %s, a rollout %s", l.Name+":", finding.Counted(t.Steps, "step"), text))
	}
	r.summary = append(r.summary, "maxUpdate is the profile's for the set and the computed layout; the compact layout has none.")
}

// Render prints the selected list as text or JSON.
func (r *Phases) Render(format string) (string, error) {
	if format == "json" {
		out := struct {
			Applications []phaseRow        `json:"applications"`
			Rollouts     []rolloutTime     `json:"rollouts,omitempty"`
			Findings     []finding.Finding `json:"findings"`
		}{append([]phaseRow{}, r.rows...), r.rollouts, append([]finding.Finding{}, r.Findings...)}
		text, err := json.MarshalIndent(out, "", "  ")
		return string(text) + "\n", err
	}
	var b strings.Builder
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "%s: %s\n", f.Severity, f.Error())
	}
	if len(r.Findings) > 0 {
		b.WriteByte('\n')
	}
	if len(r.rows) > 0 {
		var cells [][]string
		for _, row := range r.rows {
			cells = append(cells, row.cells)
		}
		b.WriteString(table.Rows(r.head, cells) + "\n")
	}
	b.WriteString(strings.Join(r.summary, "\n") + "\n")
	return b.String(), nil
}

// Write writes the steps into the files below the directory of the repository, and lists the
// changes. Components with errors keep their steps.
func (r *Phases) Write(base string) (text string, faults []finding.Finding, err error) {
	edits, faults := r.Phases.Edits()
	faults = append(slices.Clone(r.Findings), faults...)
	var texts []wholefile.File
	var b strings.Builder
	for _, r := range r.Phases.Renewals() {
		if i := slices.IndexFunc(edits, func(e steps.Edit) bool { return e.Component == r.Component }); i >= 0 {
			edits[i].Changes = append(edits[i].Changes, r.Changes...)
		} else {
			edits = append(edits, r)
		}
	}
	for _, e := range edits {
		file := filepath.Join(base, filepath.FromSlash(e.Dir), component.File)
		text, changed, err := newText(e, file)
		if err != nil {
			faults = append(faults, finding.Of(err)...)
			continue
		}
		if !changed {
			continue
		}
		texts = append(texts, wholefile.File{Name: file, Shown: e.File, Data: text})
		for _, c := range e.Changes {
			if c.Stays() {
				continue
			}
			fmt.Fprintf(&b, "%s: %s %s -> %s\n", finding.Sanitize(e.File), c.Key, cmp.Or(c.Before, "(none)"), c.After)
		}
	}
	if err := wholefile.WriteAll(texts); err != nil {
		return "", faults, err
	}
	fmt.Fprintf(&b, "%s written\n", finding.Counted(len(texts), "file"))
	return b.String(), faults, nil
}

// phaseRow is an Application in JSON output.
type phaseRow struct {
	Phase   string `json:"phase"`
	Set     string `json:"set,omitempty"`
	Step    int    `json:"step,omitempty"`
	Name    string `json:"name"`
	Rung    string `json:"rung"`
	Band    string `json:"band,omitempty"`
	Verdict string `json:"verdict"`
	Why     string `json:"why"`
	Enabled bool   `json:"enabled"`

	cells []string
}

// rolloutTime is the duration of a layout.
type rolloutTime struct {
	Layout  string  `json:"layout"`
	Steps   int     `json:"steps"`
	Seconds float64 `json:"seconds"`
	// Done is false if it never completes.
	Done bool `json:"done"`
}

func shownName(p steps.Placed) string {
	if !p.IsEnabled() {
		return p.Name + " (disabled)"
	}
	return p.Name
}

// newText is the new content of a file, and whether it differs from the current one.
func newText(e steps.Edit, file string) (text []byte, changed bool, err error) {
	stays := !slices.ContainsFunc(e.Changes, func(c steps.Change) bool { return !c.Stays() })
	if info, err := os.Lstat(file); err == nil && !info.Mode().IsRegular() {
		if stays {
			return nil, false, nil
		}
		return nil, false, finding.Finding{Severity: finding.Error, Rule: "not-written", File: e.File, Message: "is a symlink, not a regular file", Remedy: "set the step in its target"}
	}
	before, err := os.ReadFile(file)
	if err != nil {
		return nil, false, plugin.Unreadable(e.File, err)
	}
	text, err = e.Apply(before)
	return text, !bytes.Equal(before, text), err
}
