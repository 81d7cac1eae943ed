package command

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/rollout"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/paint"
	"github.com/ladder-cmp/ladder/internal/report"
)

// shownRollout shows a simulated rollout.
type shownRollout struct {
	Fleet *fleet.Fleet
	Run   *rollout.Run
	Fail  []int
}

func (r shownRollout) name(i int) string { return r.Fleet.Applications[i].Name }

// Render returns the rollout as text, JSON or Mermaid.
func (r shownRollout) Render(format string) (string, error) {
	switch format {
	case "mermaid":
		return r.Run.Mermaid(), nil
	case "json":
		return paint.JSON(r.timeline())
	}
	return r.text(), nil
}

func (r shownRollout) step(set, step int) string {
	s := r.Run.Layout.Sets[set]
	if s.Name != "" && s.Steps[step].Number == "" {
		return s.Name + ": " + s.Steps[step].String()
	}
	return s.Steps[step].String()
}

func (r shownRollout) text() string {
	run := r.Run
	var b strings.Builder
	var rows [][]string
	for _, s := range run.Spans {
		end := "never"
		if s.Healthy {
			end = rollout.When(s.End)
		}
		rows = append(rows, []string{rollout.When(s.Start), end, r.step(s.Set, s.Step), r.name(s.Application), s.Takes})
	}
	if len(rows) > 0 {
		b.WriteString(paint.Rows([]string{"START", "HEALTHY", "STEP", "NAME", "BASIS"}, rows) + "\n")
	}
	if len(r.Fail) > 0 || !run.Done() {
		b.WriteString(r.heldBack())
	}
	if len(run.Critical) > 0 {
		b.WriteString("Critical path\n")
		for _, i := range run.Critical {
			s := run.Spans[i]
			fmt.Fprintf(&b, "  %s  %s  %s\n", rollout.When(s.Start), finding.Sanitize(r.name(s.Application)), finding.Sanitize(s.Why))
		}
		b.WriteString("\n")
	}
	rows = nil
	for _, s := range run.Steps {
		end, takes := "never", "-"
		if s.Done {
			end, takes = rollout.When(s.End), (s.End - s.Start).String()
		}
		step := run.Layout.Sets[s.Set].Steps[s.Step]
		atOnce := "all"
		switch {
		case step.Manual:
			atOnce = "none"
		case step.MaxUpdate > 0:
			atOnce = fmt.Sprint(step.MaxUpdate)
		}
		rows = append(rows, []string{r.step(s.Set, s.Step), fmt.Sprint(len(step.Applications)), atOnce, rollout.When(s.Start), end, takes})
	}
	if len(rows) > 0 {
		b.WriteString(paint.Rows([]string{"STEP", "MEMBERS", "AT ONCE", "START", "END", "TIME"}, rows) + "\n")
	}
	if len(run.Layout.Sets) > 1 || len(run.Unordered) > 0 {
		b.WriteString(r.sets())
	}
	fmt.Fprintf(&b, "%s, %s", r.total(), finding.Counted(run.StepCount(), "step"))
	if n := len(run.Layout.Sets); n > 1 {
		fmt.Fprintf(&b, " in %d independent sets", n)
	}
	fmt.Fprintf(&b, ", at most %d at once\n", run.AtOnce())
	return b.String()
}

func (r shownRollout) total() string {
	all := finding.Counted(len(r.Run.Spans)+r.waiting(), "Application")
	if !r.Run.Done() {
		return fmt.Sprintf("The rollout never ends: %d of %s become healthy, in %s",
			len(r.Run.Spans)+r.waiting()-len(r.Run.Stuck), all, r.Run.Total)
	}
	return fmt.Sprintf("%s in %s", all, r.Run.Total)
}

// waiting counts the Applications that never start.
func (r shownRollout) waiting() int {
	n := 0
	for _, s := range r.Run.Stuck {
		if !s.Begins {
			n++
		}
	}
	return n
}

// heldBack lists the Applications that never become healthy. Applications that wait for a step
// are grouped by step, because they share the reason.
func (r shownRollout) heldBack() string {
	var b strings.Builder
	held := 0
	for _, s := range r.Run.Stuck {
		if !slices.Contains(r.Fail, s.Application) {
			held++
		}
	}
	names := make([]string, 0, len(r.Fail))
	for _, i := range r.Fail {
		names = append(names, r.name(i))
	}
	if len(names) > 0 {
		fmt.Fprintf(&b, "%s blocked by %s\n", finding.Counted(held, "Application"), strings.Join(names, ", "))
	} else {
		fmt.Fprintf(&b, "%s never healthy\n", finding.Counted(held, "Application"))
	}
	for at := 0; at < len(r.Run.Stuck); {
		first := r.Run.Stuck[at]
		var same []string
		for ; at < len(r.Run.Stuck) && r.Run.Stuck[at].Why == first.Why && r.Run.Stuck[at].Begins == first.Begins; at++ {
			same = append(same, r.name(r.Run.Stuck[at].Application))
		}
		how := "not started"
		if first.Begins {
			how = "started"
		}
		fmt.Fprintf(&b, "  %s: %s; %s\n", finding.Sanitize(strings.Join(same, ", ")), how, finding.Sanitize(first.Why))
	}
	b.WriteString("\n")
	return b.String()
}

// sets lists the dependencies that independent sets do not enforce.
func (r shownRollout) sets() string {
	var b strings.Builder
	if len(r.Run.Unordered) == 0 {
		b.WriteString("The sets do not depend on each other.\n\n")
		return b.String()
	}
	b.WriteString("Nothing orders the sets, although they depend on each other:\n")
	for _, c := range r.Run.Unordered {
		luck := "here it happens to be healthy early enough"
		if c.Waits > 0 {
			luck = fmt.Sprintf("here it starts %s too early", c.Waits)
		}
		fmt.Fprintf(&b, "  %s depends on %s, because %s; %s\n", finding.Sanitize(r.name(c.From)), finding.Sanitize(r.name(c.To)),
			finding.Sanitize(c.Why), luck)
	}
	b.WriteString("\n")
	return b.String()
}

// timeline returns the JSON form of a rollout. Times are seconds from its start.
func (r shownRollout) timeline() report.Timeline {
	run := r.Run
	out := report.Timeline{Done: run.Done(), TotalSeconds: run.Total.Seconds(), Applications: []report.Span{},
		Steps: []report.Step{}, CriticalPath: []report.Critical{}, Stuck: []report.Stuck{}, Unordered: []report.UnorderedDependency{}}
	for _, s := range run.Spans {
		set := run.Layout.Sets[s.Set]
		out.Applications = append(out.Applications, report.Span{Name: r.name(s.Application), Set: set.Name, Step: set.Steps[s.Step].String(),
			Start: s.Start.Seconds(), Ready: seconds(s.Ready, s.Healthy), End: seconds(s.End, s.Healthy),
			DurationReason: s.Takes, WaitReason: s.Why})
	}
	for i, set := range run.Layout.Sets {
		for j, step := range set.Steps {
			js := report.Step{Set: set.Name, Step: step.String(), MaxUpdate: step.MaxUpdate, Manual: step.Manual}
			for _, app := range step.Applications {
				js.Applications = append(js.Applications, r.name(app))
			}
			if at := slices.IndexFunc(run.Steps, func(s rollout.StepSpan) bool { return s.Set == i && s.Step == j }); at >= 0 {
				js.Start, js.End = seconds(run.Steps[at].Start, true), seconds(run.Steps[at].End, run.Steps[at].Done)
			}
			out.Steps = append(out.Steps, js)
		}
	}
	for _, i := range run.Critical {
		s := run.Spans[i]
		out.CriticalPath = append(out.CriticalPath,
			report.Critical{Name: r.name(s.Application), Start: s.Start.Seconds(), End: s.End.Seconds(), Why: s.Why})
	}
	for _, s := range run.Stuck {
		out.Stuck = append(out.Stuck, report.Stuck{Name: r.name(s.Application), Starts: s.Begins, Why: s.Why})
	}
	for _, c := range run.Unordered {
		out.Unordered = append(out.Unordered, report.UnorderedDependency{From: r.name(c.From), To: r.name(c.To),
			WaitSeconds: c.Waits.Seconds(), Why: c.Why})
	}
	return out
}

// seconds converts a time to seconds; nil if it is never reached.
func seconds(d time.Duration, comes bool) *float64 {
	if !comes {
		return nil
	}
	s := d.Seconds()
	return &s
}
