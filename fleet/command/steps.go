package command

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/lint"
	"github.com/ladder-cmp/ladder/fleet/rollout"
	"github.com/ladder-cmp/ladder/fleet/steps"
	"github.com/ladder-cmp/ladder/internal/cli"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/paint"
	"github.com/ladder-cmp/ladder/internal/wholefile"
	"github.com/ladder-cmp/ladder/plugin"
)

// stepsFlags are the flags of cmp fleet steps.
type stepsFlags struct {
	set                                      *pflag.FlagSet
	diff, write, check, onlyMissing, compact *bool
	durations, format                        *string
}

func newFleetSteps(s cli.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "steps DIR|FILE|-...",
		Short: "Compute the rollout steps of a fleet",
		Long: `Compute the earliest possible step of each component, with the reason why it is not
earlier: the bands of its domain, the kinds of its objects, or what it depends on. If
dependencies form a cycle, Ladder ignores the one that is easiest to remove, and the error
names it. --diff shows the steps in the files beside the computed ones.

--write writes the steps to the component.yaml files (rolloutPhase), each with the reason
in a comment, but keeps a later step that works.

For Applications that exist already, it prints their waves and steps beside those that
work, with as few changes as possible. --write changes the waves of Applications, the
steps of ApplicationSets and the labels that they select, and nothing else.

Exits with 1 if a component has errors, fits no step, or is part of a cycle.`,
		Example: `  cmp fleet steps ./components
  cmp fleet steps ./components --diff
  cmp fleet steps ./components --write --only-missing
  cmp fleet steps ./components --compact --durations durations.yaml
  cmp fleet steps ./argocd --check`,
	}
	in := addFleetFlags(cmd)
	flags := cmd.Flags()
	f := stepsFlags{set: flags, format: cli.Format(cmd, "Format", cli.Text, cli.JSON)}
	f.diff = flags.Bool("diff", false, "Compare the steps in the files with the computed steps")
	f.write = flags.Bool("write", false, "Write the computed steps to the files")
	f.check = flags.Bool("check", false, "Print what --write would change, and exit with 1 if that is anything")
	f.onlyMissing = flags.Bool("only-missing", false, "Keep the steps in the files, and compute only missing ones")
	f.compact = flags.Bool("compact", false,
		"Show the fewest steps in which each component still comes after everything that must be healthy before it")
	f.durations = DurationsFlag(flags)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := f.validate(); err != nil {
			return err
		}
		times, err := rollout.DurationsIn(*f.durations)
		if err != nil {
			return err
		}
		all, err := loadFleet(cmd.Context(), s, in, args, Load)
		if err != nil {
			return err
		}
		if all.Fleet.InPlace() {
			return f.runInPlace(s, all.Fleet, args)
		}
		return f.run(s, all, times)
	}
	return cmd
}

// run computes the steps of components.
func (f stepsFlags) run(s cli.Streams, all Loaded, times rollout.Durations) error {
	writes := *f.write || *f.check
	r := newStepList(all.Fleet, steps.Options{OnlyMissing: *f.onlyMissing, KeepLater: writes}, *f.diff || writes, times)
	switch {
	case *f.write, *f.check:
		return writeSteps(s, r, all.Root, *f.check)
	case *f.diff:
		r.diff()
	case *f.compact:
		if err := rollout.CheckDurations(times, all.Fleet); err != nil {
			return err
		}
		r.compact(times)
	default:
		r.table()
	}
	text, err := r.Render(*f.format, cli.PaintFor(s.Out))
	return printSteps(s, text, err, r.Findings)
}

// printSteps prints an order, which contains findings.
func printSteps(s cli.Streams, text string, err error, found []finding.Finding) error {
	if err := s.Print(text, err); err != nil {
		return err
	}
	if finding.Err(found) != nil {
		return cli.ErrReported
	}
	return nil
}

// validate rejects combinations of mutually exclusive flags.
func (f stepsFlags) validate() error {
	if *f.durations != "" && !*f.compact {
		return finding.Usage("--durations needs --compact; add it, or use cmp fleet simulate")
	}
	return cmp.Or(cli.Alone(f.set, "diff", "write", "check", "compact"), cli.Alone(f.set, "compact", "only-missing"))
}

// writeSteps writes the computed steps to the component.yaml files below the root of the
// repository, or checks whether that changes any.
func writeSteps(s cli.Streams, r stepList, root string, check bool) error {
	text, changed, faults, err := r.write(root, check)
	s.Warn(faults...)
	if err := s.Print(text, err); err != nil {
		return err
	}
	switch {
	case finding.Err(faults) != nil:
		return errors.New("some steps are missing or invalid; fix the errors above and run the command again")
	case check && changed:
		return errDiffers
	}
	return nil
}

// errDiffers is the result of a check that finds differences.
var errDiffers = errors.New("the computed order differs; run the command with --write instead of --check")

// stepList shows computed steps.
type stepList struct {
	Fleet    *fleet.Fleet
	Plan     *steps.Plan
	Findings []finding.Finding

	rows     []stepRow
	head     []string
	summary  []string
	rollouts []rolloutTime
}

// newStepList computes the steps of a fleet. intended also decides where a later step in the files
// is intentional, which depends on the durations.
func newStepList(f *fleet.Fleet, opt steps.Options, intended bool, times rollout.Durations) stepList {
	var p *steps.Plan
	if intended {
		p = rollout.ComputeSteps(f, opt, times)
	} else {
		p = steps.Compute(f, opt)
	}
	return stepList{Fleet: f, Plan: p, Findings: append(lint.Rendering(f, "", (*fleet.Application).HasFailed), p.Findings...)}
}

func (r *stepList) row(p steps.ComputedStep) stepRow {
	return stepRow{Phase: p.Computed.Text, Set: r.Fleet.FormatStep(p.Step), Name: p.Name, Rung: p.Rung, Band: p.Band,
		Verdict: p.Verdict(), Why: p.Why, Enabled: p.IsEnabled()}
}

// table lists the computed steps.
func (r *stepList) table() {
	r.head = []string{"STEP", "NAME", "RUNG", "WHY"}
	for _, p := range r.Plan.Sorted() {
		row := r.row(p)
		row.cells = []string{cmp.Or(row.Phase, "-"), displayName(p), cmp.Or(row.Rung, "-"), row.Why}
		r.rows = append(r.rows, row)
	}
	text := fmt.Sprintf("%s in %s", finding.Counted(len(r.rows), "Application"),
		finding.Counted(r.Plan.Count(func(p steps.ComputedStep) component.Step { return p.Computed }), "step"))
	withoutPlace := 0
	for _, row := range r.rows {
		if row.Verdict == steps.NoPlace {
			withoutPlace++
		}
	}
	if withoutPlace > 0 {
		text = fmt.Sprintf("%s, %d without a place", finding.Counted(len(r.rows), "Application"), withoutPlace)
	}
	r.summary = append(r.summary, text)
}

func (r *stepList) computed(i int) component.Step { return r.Plan.Steps[i].Computed }

func (r *stepList) set(i int) component.Step { return r.Plan.Steps[i].Step }

// diff lists the steps that are set next to the computed ones.
func (r *stepList) diff() {
	r.head = []string{"SET", "EARLIEST", "NAME", "VERDICT", "WHY"}
	count := map[string]int{}
	for _, p := range r.Plan.Sorted() {
		row := r.row(p)
		count[row.Verdict]++
		if row.Verdict == steps.TooLate {
			row.Why = p.EarlierDependent
		}
		row.cells = []string{cmp.Or(row.Set, "-"), cmp.Or(p.Earliest.Text, row.Phase, "-"), displayName(p), verdictText(row.Verdict), row.Why}
		if row.Verdict != steps.Equal {
			r.rows = append(r.rows, row)
		}
	}
	text := fmt.Sprintf("%s: %d equal, %d could be earlier, %d must be later", finding.Counted(len(r.Plan.Steps), "Application"),
		count[steps.Equal], count[steps.Earlier], count[steps.Later])
	for _, more := range []struct{ verdict, text string }{
		{steps.TooLate, "must be earlier"}, {steps.Intent, verdictText(steps.Intent)}, {steps.Missing, "not set"},
		{steps.NoPlace, "without a reserved step"},
	} {
		if n := count[more.verdict]; n > 0 {
			text += fmt.Sprintf(", %d %s", n, more.text)
		}
	}
	r.summary = append(r.summary, text)
}

// verdictText returns a verdict in words. The JSON keeps the verdicts themselves.
func verdictText(verdict string) string {
	switch verdict {
	case steps.Earlier:
		return "could be earlier"
	case steps.Intent:
		return "intentionally later"
	case steps.NoPlace:
		return "no step reserved"
	}
	return verdict
}

// compact lists the fewest steps, and how long each layout takes.
func (r *stepList) compact(times rollout.Durations) {
	c := r.Plan.Compact()
	if c == nil {
		r.table() // the findings say why there is no more
		return
	}
	r.head = []string{"COMPACT", "STEP", "NAME", "WHY"}
	for _, i := range rollout.Order(c, r.Fleet) {
		row := r.row(r.Plan.Steps[i])
		row.Step, row.Why = c.Steps[i], c.Why[i]
		row.cells = []string{fmt.Sprint(row.Step), row.Phase, displayName(r.Plan.Steps[i]), row.Why}
		r.rows = append(r.rows, row)
	}
	r.summary = append(r.summary, fmt.Sprintf("%s in %s", finding.Counted(len(r.rows), "Application"), finding.Counted(c.Count, "step")), "")
	for _, l := range []rollout.Layout{rollout.NewLayout(r.Fleet, "as set", r.set),
		rollout.NewLayout(r.Fleet, "computed", r.computed), rollout.CompactLayout(r.Fleet, c)} {
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

// Render returns the selected list as text or JSON.
func (r *stepList) Render(format string, p paint.Paint) (string, error) {
	if format == "json" {
		out := struct {
			Applications []stepRow         `json:"applications"`
			Rollouts     []rolloutTime     `json:"rollouts,omitempty"`
			Findings     []finding.Finding `json:"findings"`
		}{append([]stepRow{}, r.rows...), r.rollouts, append([]finding.Finding{}, r.Findings...)}
		return paint.JSON(out)
	}
	var b strings.Builder
	b.WriteString(p.Findings(r.Findings))
	if len(r.Findings) > 0 {
		b.WriteByte('\n')
	}
	if len(r.rows) > 0 {
		var cells [][]string
		for _, row := range r.rows {
			cells = append(cells, row.cells)
		}
		b.WriteString(paint.Rows(r.head, cells) + "\n")
	}
	b.WriteString(strings.Join(r.summary, "\n") + "\n")
	return b.String(), nil
}

// write writes the steps into the files below the directory of the repository, and lists the
// changes. Components with errors keep their steps. With check, it only lists the changes, without
// outdated reasons.
func (r *stepList) write(base string, check bool) (text string, changes bool, faults []finding.Finding, err error) {
	edits, faults := r.Plan.Edits()
	faults = append(slices.Clone(r.Findings), faults...)
	var texts []wholefile.File
	var b strings.Builder
	updates := r.Plan.ReasonUpdates()
	if check {
		updates = nil
	}
	for _, r := range updates {
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
			if c.IsUnchanged() {
				continue
			}
			fmt.Fprintf(&b, "%s: %s %s -> %s\n", finding.Sanitize(e.File), c.Key, cmp.Or(c.Before, "(none)"), c.After)
		}
	}
	if check {
		return b.String() + differing(len(texts)), len(texts) > 0, faults, nil
	}
	if err := wholefile.WriteAll(texts); err != nil {
		return "", false, faults, err
	}
	fmt.Fprintf(&b, "%s written\n", finding.Counted(len(texts), "file"))
	return b.String(), len(texts) > 0, faults, nil
}

// differing is the last line of a check.
func differing(files int) string {
	if files == 1 {
		return "1 file differs\n"
	}
	return finding.Counted(files, "file") + " differ\n"
}

// stepRow is an Application in JSON output.
type stepRow struct {
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

func displayName(p steps.ComputedStep) string {
	if !p.IsEnabled() {
		return p.Name + " (disabled)"
	}
	return p.Name
}

// newText returns the new content of a file, and whether it differs from the current one.
func newText(e steps.Edit, file string) (text []byte, changed bool, err error) {
	stays := !slices.ContainsFunc(e.Changes, func(c steps.Change) bool { return !c.IsUnchanged() })
	if info, err := os.Lstat(file); err == nil && !info.Mode().IsRegular() {
		if stays {
			return nil, false, nil
		}
		return nil, false, finding.Finding{Severity: finding.Error, Rule: finding.NotWritten, File: e.File,
			Message: "is a symlink, not a regular file", Remedy: "set the step in its target"}
	}
	before, err := os.ReadFile(file)
	if err != nil {
		return nil, false, plugin.Unreadable(e.File, err)
	}
	text, err = e.Apply(before)
	return text, !bytes.Equal(before, text), err
}
