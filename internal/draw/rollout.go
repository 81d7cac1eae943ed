package draw

import (
	"cmp"
	"slices"

	"github.com/ladder-cmp/ladder/internal/finding"
)

// Rollout is a drawing of Applications that are rolled out in steps. An arrow leads
// from an Application to its dependency.
type Rollout struct {
	// Label is the title.
	Label string
	// Steps are the bands, the first at the top.
	Steps []Step
	Apps  []App
	Needs []Need
}

// Step is a step of the rollout.
type Step struct {
	Title string `json:"title"`
	// About is a comma-separated description.
	About string `json:"about"`
}

// App is an Application.
type App struct {
	// Step is the index of its step.
	Step int
	// Kind and Name are the two lines of its label, Tip its tooltip.
	Kind, Name, Tip string
	// Chosen means that the drawing is about it, and Disabled that it is not deployed.
	Chosen, Disabled bool
}

// Need is a dependency between Applications. Both are indexes into Rollout.Apps.
type Need struct {
	From int `json:"from"`
	To   int `json:"to"`
	// Why is the strongest reason in short, and Reasons are full sentences.
	Why     string   `json:"why"`
	Reasons []string `json:"reasons"`
	// Gate means that the dependency must be healthy first, Inferred that it is not
	// based on a record, Loose that it does not affect the order, and Against that
	// the order of the steps is reversed.
	Gate     bool `json:"gate,omitempty"`
	Inferred bool `json:"inferred,omitempty"`
	Loose    bool `json:"loose,omitempty"`
	Against  bool `json:"against,omitempty"`
	// Hidden means that the drawing has no arrow for it.
	Hidden bool `json:"quiet,omitempty"`
}

// Sanitized returns the need without control characters.
func (n Need) Sanitized() Need {
	n.Why, n.Reasons = finding.Sanitize(n.Why), slices.Clone(n.Reasons)
	for i, reason := range n.Reasons {
		n.Reasons[i] = finding.Sanitize(reason)
	}
	return n
}

// Draw draws a rollout.
func (r Rollout) Draw(f Format) string {
	p := &picture{label: finding.Sanitize(r.Label), legend: "An arrow points to what an Application depends on. Bold: waits until the target is healthy. Dashed: inferred. With a dot: does not affect the order. " +
		"Red: against the order. Dotted box: not deployed. Hover over an arrow or a box for the reason."}
	var steps []int // by band
	for i, s := range r.Steps {
		if slices.ContainsFunc(r.Apps, func(a App) bool { return a.Step == i }) {
			steps = append(steps, i)
			p.bands = append(p.bands, band{title: finding.Sanitize(s.Title), about: finding.Sanitize(s.About)})
		}
	}
	number := make([]int, len(r.Apps))
	for k, step := range steps {
		for i, a := range r.Apps {
			if a.Step != step {
				continue
			}
			number[i] = len(p.nodes)
			p.bands[k].nodes = append(p.bands[k].nodes, number[i])
			p.nodes = append(p.nodes, node{kind: finding.Sanitize(a.Kind), name: finding.Sanitize(a.Name), tip: finding.Sanitize(a.Tip), chosen: a.Chosen, off: a.Disabled})
		}
	}
	for _, n := range r.Needs {
		if n.Hidden {
			continue
		}
		n = n.Sanitized()
		p.edges = append(p.edges, edge{from: number[n.From], to: number[n.To], why: n.Why, reasons: n.Reasons, gate: n.Gate, inferred: n.Inferred, loose: n.Loose, against: n.Against})
	}
	slices.SortStableFunc(p.edges, func(a, b edge) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	return p.in(f)
}
