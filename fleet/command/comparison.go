package command

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/rollout"
	"github.com/ladder-cmp/ladder/internal/paint"
	"github.com/ladder-cmp/ladder/internal/report"
)

// Rollouts shows two rollouts side by side.
type Rollouts struct {
	Titles [2]string
	Fleets [2]*fleet.Fleet
	Runs   [2]*rollout.Run
}

// ratio returns the duration of the first rollout divided by that of the second; 0 if one of
// them never completes.
func (c Rollouts) ratio() float64 {
	if !c.Runs[0].Done() || !c.Runs[1].Done() || c.Runs[1].Total == 0 {
		return 0
	}
	return c.Runs[0].Total.Seconds() / c.Runs[1].Total.Seconds()
}

// Render returns both as text or JSON.
func (c Rollouts) Render(format string) (string, error) {
	if format == "json" {
		type side struct {
			Title string `json:"title"`
			report.Timeline
		}
		out := struct {
			Ratio    float64 `json:"ratio"`
			Rollouts [2]side `json:"rollouts"`
		}{Ratio: c.ratio()}
		for i := range c.Runs {
			out.Rollouts[i] = side{c.Titles[i], Rollout{Fleet: c.Fleets[i], Run: c.Runs[i]}.Timeline()}
		}
		text, err := json.MarshalIndent(out, "", "  ")
		return string(text) + "\n", err
	}
	var b strings.Builder
	var rows [][]string
	row := func(what string, of func(i int) string) { rows = append(rows, []string{what, of(0), of(1)}) }
	row("independent sets", func(i int) string { return fmt.Sprint(len(c.Runs[i].Layout.Sets)) })
	row("steps", func(i int) string { return fmt.Sprint(c.Runs[i].StepCount()) })
	row("Applications", func(i int) string { return fmt.Sprint(len(c.Fleets[i].Enabled())) })
	row("at once, at most", func(i int) string { return fmt.Sprint(c.Runs[i].AtOnce()) })
	row("dependencies not kept", func(i int) string { return fmt.Sprint(len(c.Runs[i].Unordered)) })
	row("never healthy", func(i int) string { return fmt.Sprint(len(c.Runs[i].Stuck)) })
	row("total", func(i int) string {
		if !c.Runs[i].Done() {
			return "never ends"
		}
		return c.Runs[i].Total.String()
	})
	b.WriteString(paint.Rows([]string{"", c.Titles[0], c.Titles[1]}, rows) + "\n")
	rows = nil
	for _, name := range c.names() {
		rows = append(rows, []string{name, c.when(0, name), c.when(1, name)})
	}
	if len(rows) > 0 {
		b.WriteString(paint.Rows([]string{"NAME", c.Titles[0], c.Titles[1]}, rows) + "\n")
	}
	switch {
	case c.ratio() > 0:
		fmt.Fprintf(&b, "%s takes %.2f times as long as %s\n", c.Titles[0], c.ratio(), c.Titles[1])
	default:
		b.WriteString("One of the two never ends or takes no time, so they have no ratio; simulate it alone\n")
	}
	return b.String(), nil
}

// names lists the Applications of both rollouts: those of the first in its order, then the
// others in the order of the second.
func (c Rollouts) names() []string {
	var all []string
	for i, run := range c.Runs {
		for _, s := range run.Spans {
			if name := c.Fleets[i].Applications[s.Application].Name; !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	return all
}

// when formats the time at which an Application of one rollout is synced.
func (c Rollouts) when(i int, name string) string {
	for _, s := range c.Runs[i].Spans {
		if c.Fleets[i].Applications[s.Application].Name != name {
			continue
		}
		end := "never"
		if s.Healthy {
			end = rollout.When(s.End)
		}
		return rollout.When(s.Start) + " to " + end
	}
	return "-"
}
