package rollout

import (
	"fmt"
	"strings"
	"time"
	"unicode"
)

// When formats a time of a rollout.
func When(d time.Duration) string {
	d = d.Round(time.Second)
	if d < time.Hour {
		return fmt.Sprintf("%d:%02d", d/time.Minute, d%time.Minute/time.Second)
	}
	return fmt.Sprintf("%d:%02d:%02d", d/time.Hour, d%time.Hour/time.Minute, d%time.Minute/time.Second)
}

// horizon returns the time at which a drawing ends.
func (r *Run) horizon() time.Duration {
	end := r.Total
	for _, s := range r.Spans {
		end = max(end, s.Start)
	}
	if !r.Done() || end == 0 { // what never ends is drawn a bit longer
		end += max(end/20, time.Second)
	}
	return end
}

func (r *Run) section(i int) string {
	s := r.Spans[i]
	name := r.Layout.Sets[s.Set].Steps[s.Step].String()
	if set := r.Layout.Sets[s.Set].Name; set != "" {
		name = set + ", " + name
	}
	return name
}

func (r *Run) critical() map[int]bool {
	is := map[int]bool{}
	for _, i := range r.Critical {
		is[i] = true
	}
	return is
}

// inSteps lists the spans set by set and step by step.
func (r *Run) inSteps() []int {
	var all []int
	for set := range r.Layout.Sets {
		for step := range r.Layout.Sets[set].Steps {
			for i, s := range r.Spans {
				if s.Set == set && s.Step == step {
					all = append(all, i)
				}
			}
		}
	}
	return all
}

// Mermaid draws the rollout as a Gantt chart, in milliseconds. It marks the critical
// path, and the Applications that never become healthy.
func (r *Run) Mermaid() string {
	var b strings.Builder
	fmt.Fprintf(&b, "gantt\n  title %s\n  dateFormat x\n  axisFormat %%M:%%S\n", mermaidName("rollout in "+When(r.Total)))
	critical, section := r.critical(), ""
	for _, i := range r.inSteps() {
		s := r.Spans[i]
		if now := r.section(i); now != section {
			section = now
			fmt.Fprintf(&b, "  section %s\n", mermaidName(section))
		}
		name, mark, end := r.fleet.Applications[s.Application].Name, "", s.End
		switch {
		case !s.Healthy:
			name, mark, end = name+" never healthy", "active, ", r.horizon()
		case critical[i]:
			mark = "crit, "
		}
		fmt.Fprintf(&b, "    %s :%s%d, %d\n", mermaidName(name), mark, s.Start.Milliseconds(), max(end, s.Start).Milliseconds())
	}
	return b.String()
}

// mermaidName removes characters that have a meaning in a Gantt chart.
func mermaidName(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(" -._/,", r) {
			return r
		}
		return ' '
	}, s)
}
