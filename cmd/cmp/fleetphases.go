package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/finding"
	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/internal/wholefile"
	"github.com/ladder-cmp/ladder/plugin"
)

func newFleetPhases(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "phases DIR...",
		Short: "Compute the phases of a fleet",
		Long: `Compute for every component the earliest phase at which it can stand: the first
place of its domain's bands that is for what it is, and that comes after what it
needs of others. Each comes with the reason why it is not earlier.

--diff compares the phases in the component.yaml files with the computed ones.
--write puts the computed ones into the files, where nothing else changes. It
leaves out components with faults and those that depend on them, says which, and
exits with 1. --compact shows the fewest steps that keep every gate, and
how long the rollout takes with each layout.

Exits with 1 if a component has no place, or if components need each other in a
circle.`,
		Example: `  cmp fleet phases ./components
  cmp fleet phases ./components --diff
  cmp fleet phases ./components --write --only-missing
  cmp fleet phases ./components --compact --durations durations.yaml`,
	}
	in := addFleetInputs(cmd)
	flags := cmd.Flags()
	format := formatFlag(cmd, "Format", reportText, reportJSON)
	diff := flags.Bool("diff", false, "Compare the phases that are set with the computed ones")
	write := flags.Bool("write", false, "Put the computed phases into the component.yaml files")
	onlyMissing := flags.Bool("only-missing", false, "Keep the phases that are set, and compute the others")
	compact := flags.Bool("compact", false, "Show the fewest steps that keep every gate")
	durations := durationsFlag(flags)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := knownFormat(*format, reportText, reportJSON); err != nil {
			return err
		}
		if err := alone(flags, "diff", "write", "compact"); err != nil {
			return err
		}
		if err := alone(flags, "compact", "only-missing"); err != nil {
			return err
		}
		if *durations != "" && !*compact {
			return usageError{errors.New("--durations is for --compact; add it, or see cmp fleet simulate")}
		}
		times, err := readDurations(*durations)
		if err != nil {
			return err
		}
		f, err := in.load(cmd, s, args)
		if err != nil {
			return err
		}
		p := f.Phases(fleet.PhaseOptions{OnlyMissing: *onlyMissing})
		r := phasesReport{fleet: f, phases: p, findings: append(failures(f.Findings), p.Findings...)}
		switch {
		case *write:
			return r.write(s, in)
		case *diff:
			r.diff()
		case *compact:
			if err := checkDurations(times, f); err != nil {
				return err
			}
			r.compact(times)
		default:
			r.table()
		}
		text, err := r.render(*format)
		if err != nil {
			return err
		}
		if _, err := io.WriteString(s.Out, text); err != nil {
			return err
		}
		if finding.Err(r.findings) != nil {
			return errReported
		}
		return nil
	}
	return cmd
}

// oneOf checks the value of a flag that takes only some.
func oneOf(flag, value string, known ...string) error {
	for _, k := range known {
		if k == value {
			return nil
		}
	}
	return usageError{fmt.Errorf("--%s is %q; give it one of %s", flag, value, strings.Join(known, ", "))}
}

// alone checks that at most one of some flags is given.
func alone(flags *pflag.FlagSet, names ...string) error {
	var given []string
	for _, name := range names {
		if flags.Changed(name) {
			given = append(given, "--"+name)
		}
	}
	if len(given) > 1 {
		return usageError{fmt.Errorf("%s do not go together; give one of them", strings.Join(given, " and "))}
	}
	return nil
}

// failures are the findings without which more would be known of the needs.
func failures(all []finding.Finding) []finding.Finding {
	var failed []finding.Finding
	for _, f := range all {
		if f.Severity == finding.Error {
			failed = append(failed, f)
		}
	}
	return failed
}

// phasesReport is what is shown of computed phases.
type phasesReport struct {
	fleet    *fleet.Fleet
	phases   *fleet.Phases
	findings []finding.Finding

	rows     []phaseRow
	head     []string
	summary  []string
	rollouts []rolloutTime
}

// phaseRow is an Application as other programs read it.
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

// rolloutTime is how long a layout takes.
type rolloutTime struct {
	Layout  string  `json:"layout"`
	Steps   int     `json:"steps"`
	Seconds float64 `json:"seconds"`
	// Done is false if it never ends.
	Done bool `json:"done"`
}

func (r *phasesReport) row(p fleet.Placed) phaseRow {
	return phaseRow{Phase: p.Computed.Text, Set: r.fleet.Write(p.Phase), Name: p.Name, Rung: p.Rung, Band: p.Band, Verdict: p.Verdict(), Why: p.Why, Enabled: p.On()}
}

// table lists the computed phases.
func (r *phasesReport) table() {
	r.head = []string{"PHASE", "NAME", "RUNG", "WHY"}
	for _, p := range r.phases.Sorted() {
		row := r.row(p)
		row.cells = []string{or(row.Phase, "-"), shownName(p), or(row.Rung, "-"), row.Why}
		r.rows = append(r.rows, row)
	}
	text := fmt.Sprintf("%s in %s", counted(len(r.rows), "Application"), counted(r.fleet.Steps(r.computed), "step"))
	homeless := 0
	for _, row := range r.rows {
		homeless += boolean(row.Verdict == fleet.Homeless)
	}
	if homeless > 0 {
		text = fmt.Sprintf("%s, %d without a place", counted(len(r.rows), "Application"), homeless)
	}
	r.summary = append(r.summary, text)
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (r *phasesReport) computed(i int) component.Phase { return r.phases.Places[i].Computed }

func (r *phasesReport) set(i int) component.Phase { return r.phases.Places[i].Phase }

// diff lists what is set beside what is computed.
func (r *phasesReport) diff() {
	r.head = []string{"SET", "EARLIEST", "NAME", "VERDICT", "WHY"}
	count := map[string]int{}
	for _, p := range r.phases.Sorted() {
		row := r.row(p)
		count[row.Verdict]++
		if row.Verdict == fleet.TooLate {
			row.Why = p.Late
		}
		row.cells = []string{or(row.Set, "-"), or(row.Phase, "-"), shownName(p), row.Verdict, row.Why}
		if row.Verdict != fleet.Equal {
			r.rows = append(r.rows, row)
		}
	}
	text := fmt.Sprintf("%s: %d equal, %d could be earlier, %d must be later", counted(len(r.phases.Places), "Application"), count[fleet.Equal], count[fleet.Earlier], count[fleet.Later])
	for _, more := range []string{fleet.TooLate, fleet.Missing, fleet.Homeless} {
		if count[more] > 0 {
			text += fmt.Sprintf(", %d %s", count[more], map[string]string{fleet.TooLate: fleet.TooLate, fleet.Missing: "not set", fleet.Homeless: "without a place"}[more])
		}
	}
	r.summary = append(r.summary, text)
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

func shownName(p fleet.Placed) string {
	if !p.On() {
		return p.Name + " (disabled)"
	}
	return p.Name
}

// compact lists the fewest steps, and how long the layouts take.
func (r *phasesReport) compact(times fleet.Durations) {
	c := r.phases.Compact()
	if c == nil {
		r.table() // the findings say why there is no more
		return
	}
	r.head = []string{"STEP", "PHASE", "NAME", "WHY"}
	for _, i := range c.Order(r.fleet) {
		row := r.row(r.phases.Places[i])
		row.Step, row.Why = c.Steps[i], c.Why[i]
		row.cells = []string{fmt.Sprint(row.Step), row.Phase, shownName(r.phases.Places[i]), row.Why}
		r.rows = append(r.rows, row)
	}
	r.summary = append(r.summary, fmt.Sprintf("%s in %s", counted(len(r.rows), "Application"), counted(c.Count, "step")), "")
	for _, l := range []fleet.Layout{r.fleet.Layout("as set", r.set), r.fleet.Layout("computed", r.computed), r.fleet.CompactLayout(c)} {
		run := r.fleet.Simulate(l, times, nil)
		t := rolloutTime{Layout: l.Name, Steps: run.StepCount(), Seconds: run.Total.Seconds(), Done: run.Done()}
		r.rollouts = append(r.rollouts, t)
		text := "in " + run.Total.String()
		if !t.Done {
			text = "that never ends; cmp fleet simulate says why"
		}
		r.summary = append(r.summary, fmt.Sprintf("%-9s %s, a rollout %s", l.Name+":", counted(t.Steps, "step"), text))
	}
	r.summary = append(r.summary, "maxUpdate is that of the profile as set and computed, and none in the compact layout.")
}

func (r *phasesReport) render(format string) (string, error) {
	if format == reportJSON {
		out := struct {
			Applications []phaseRow        `json:"applications"`
			Rollouts     []rolloutTime     `json:"rollouts,omitempty"`
			Findings     []finding.Finding `json:"findings"`
		}{append([]phaseRow{}, r.rows...), r.rollouts, append([]finding.Finding{}, r.findings...)}
		text, err := json.MarshalIndent(out, "", "  ")
		return string(text) + "\n", err
	}
	var b strings.Builder
	for _, f := range r.findings {
		fmt.Fprintf(&b, "%s: %s\n", f.Severity, f.Error())
	}
	if len(r.findings) > 0 {
		b.WriteByte('\n')
	}
	if len(r.rows) > 0 {
		var cells [][]string
		for _, row := range r.rows {
			cells = append(cells, row.cells)
		}
		b.WriteString(tabled(r.head, cells) + "\n")
	}
	b.WriteString(strings.Join(r.summary, "\n") + "\n")
	return b.String(), nil
}

// tabled prints rows that were made before.
func tabled(head []string, rows [][]string) string {
	return columns(strings.Join(head, "\t"), func(w io.Writer) {
		for _, row := range rows {
			for i := range row {
				row[i] = finding.Harmless(row[i])
			}
			fmt.Fprintln(w, strings.Join(row, "\t"))
		}
	})
}

// write puts the phases into the files, and says what it wrote. Components with faults
// keep what they have, which is an error once the others are written.
func (r *phasesReport) write(s streams, in *fleetInputs) error {
	edits, faults := r.phases.Edits()
	faults = append(slices.Clone(r.findings), faults...)
	var texts []rewrite
	var b strings.Builder
	for _, e := range edits {
		file := filepath.Join(in.base, filepath.FromSlash(e.Dir), component.File)
		text, err := newText(e, file)
		if err != nil {
			faults = append(faults, finding.Of(err)...)
			continue
		}
		texts = append(texts, rewrite{file: file, shown: e.File, text: text})
		for _, c := range e.Changes {
			fmt.Fprintf(&b, "%s: %s %s -> %s\n", finding.Harmless(e.File), c.Key, or(c.Before, "(none)"), c.After)
		}
	}
	warn(s, faults)
	if err := rewriteAll(texts); err != nil {
		return err
	}
	fmt.Fprintf(&b, "%s written\n", counted(len(texts), "file"))
	if _, err := io.WriteString(s.Out, b.String()); err != nil {
		return err
	}
	if finding.Err(faults) != nil {
		return errors.New("some phases were not written; fix the errors above and run it again")
	}
	return nil
}

// newText is what is to be in a file.
func newText(e fleet.Edit, file string) ([]byte, error) {
	if info, err := os.Lstat(file); err == nil && !info.Mode().IsRegular() {
		return nil, finding.Finding{Severity: finding.Error, Rule: "not-written", File: e.File, Message: "it is no file but a link", Remedy: "write the phase there yourself"}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, plugin.Unreadable(e.File, err)
	}
	return e.Apply(text)
}

// rewrite is a file and what is to be in it.
type rewrite struct {
	file, shown string
	text        []byte
}

// rewriteAll writes all files or none: each has its new text beside it before
// the first is replaced, and what was replaced is put back if one fails.
func rewriteAll(all []rewrite) (err error) {
	var ready, old []string
	defer func() {
		for _, name := range append(ready, old...) {
			os.Remove(name) // what was renamed is not there any more
		}
	}()
	for _, w := range all {
		info, err := os.Stat(w.file)
		if err != nil {
			return plugin.Unreadable(w.shown, err)
		}
		name, err := writtenBeside(w.file, w.text, info.Mode())
		if err != nil {
			return fmt.Errorf("%s: %w; no file is changed", w.shown, err)
		}
		ready = append(ready, name)
		before, err := os.ReadFile(w.file)
		if err != nil {
			return plugin.Unreadable(w.shown, err)
		}
		if name, err = writtenBeside(w.file, before, info.Mode()); err != nil {
			return fmt.Errorf("%s: %w; no file is changed", w.shown, err)
		}
		old = append(old, name)
	}
	for i, w := range all {
		if err := os.Rename(ready[i], w.file); err != nil {
			faults := []error{fmt.Errorf("%s: %w; no file is changed", w.shown, err)}
			for j := range i {
				if err := os.Rename(old[j], all[j].file); err != nil {
					faults = append(faults, fmt.Errorf("%s: %w; it is changed already", all[j].shown, err))
				}
			}
			return errors.Join(faults...)
		}
	}
	return nil
}

// writtenBeside writes a text to a file of another name in the same directory.
func writtenBeside(file string, text []byte, mode os.FileMode) (name string, err error) {
	dir, err := os.OpenRoot(filepath.Dir(file))
	if err != nil {
		return "", err
	}
	defer dir.Close()
	fresh, err := wholefile.Beside(dir, filepath.Base(file), text, mode)
	if err != nil {
		return "", err
	}
	if err := dir.Chmod(fresh, mode); err != nil { // as it was, whatever new files have
		return "", errors.Join(err, dir.Remove(fresh))
	}
	return filepath.Join(filepath.Dir(file), fresh), nil
}
