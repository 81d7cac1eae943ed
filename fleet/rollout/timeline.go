package rollout

import (
	"encoding/xml"
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

// The dimensions of an SVG drawing, in pixels.
const (
	svgNames = 330 // the column of names
	svgTimes = 820 // the width of the time
	svgRow   = 20
	svgTop   = 40
)

const svgHead = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]d %[2]d" width="%[1]d" height="%[2]d" role="img" aria-label="%[3]s">
<style>
text { font: 12px system-ui, sans-serif; fill: #1f2328; }
.page { fill: #ffffff; }
.step { font-weight: 600; }
.line { stroke: #d0d7de; }
.bar { fill: #6e7781; }
.critical { fill: #bc4c00; }
.never { fill: none; stroke: #cf222e; stroke-dasharray: 6 4; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; }
  .page { fill: #0d1117; }
  .line { stroke: #30363d; }
  .bar { fill: #8b949e; }
  .critical { fill: #f0883e; }
  .never { stroke: #ff7b72; }
}
</style>
<rect class="page" width="%[1]d" height="%[2]d"/>
`

// SVG draws the rollout as a self-contained picture. The critical path is highlighted;
// bars of Applications that never become healthy are dashed. Each bar has its reason as
// a tooltip.
func (r *Run) SVG() string {
	order := r.inSteps()
	rows, section := 0, ""
	for _, i := range order {
		if now := r.section(i); now != section {
			section = now
			rows++
		}
		rows++
	}
	width, height := svgNames+svgTimes+20, svgTop+svgRow*(rows+1)
	var b strings.Builder
	fmt.Fprintf(&b, svgHead, width, height, xmlText("rollout in "+When(r.Total)))
	horizon := r.horizon()
	x := func(d time.Duration) int { return svgNames + int(int64(d)*svgTimes/int64(horizon)) }
	const ticks = 8
	for n := range ticks + 1 {
		d := horizon / ticks * time.Duration(n)
		fmt.Fprintf(&b, "<line class=\"line\" x1=\"%[1]d\" y1=\"%[2]d\" x2=\"%[1]d\" y2=\"%[3]d\"/><text x=\"%[1]d\" y=\"20\" text-anchor=\"middle\">%[4]s</text>\n", x(d), svgTop-10, height-10, When(d))
	}
	critical, y := r.critical(), svgTop
	section = ""
	for _, i := range order {
		s := r.Spans[i]
		if now := r.section(i); now != section {
			section = now
			fmt.Fprintf(&b, "<text class=\"step\" x=\"10\" y=\"%d\">%s</text>\n", y+14, xmlText(section))
			y += svgRow
		}
		class, end := "bar", s.End
		switch {
		case !s.Healthy:
			class, end = "never", horizon
		case critical[i]:
			class = "critical"
		}
		name := r.fleet.Applications[s.Application].Name
		fmt.Fprintf(&b, "<g><title>%s</title><text x=\"24\" y=\"%d\">%s</text><rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"3\"/></g>\n",
			xmlText(fmt.Sprintf("%s: %s to %s; %s (%s)", name, When(s.Start), whenHealthy(s), s.Why, s.Takes)), y+14, xmlText(name), class, x(s.Start), y+3, max(x(end)-x(s.Start), 1), svgRow-6)
		y += svgRow
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func whenHealthy(s Span) string {
	if !s.Healthy {
		return "never"
	}
	return When(s.End)
}

func xmlText(s string) string {
	var b strings.Builder
	xml.EscapeText(&b, []byte(s)) // into memory
	return b.String()
}
