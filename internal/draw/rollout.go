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
	// Steps are the sections, the first at the top.
	Steps        []Step
	Apps         []App
	Dependencies []Dependency
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
	// IsFocus means that the drawing is about it, and Disabled that it is not deployed.
	IsFocus, IsDisabled bool
}

// Dependency is a dependency between Applications. From and To are indexes into
// Rollout.Apps.
type Dependency struct {
	From int `json:"from"`
	To   int `json:"to"`
	// Why is a short form of the strongest reason, and Reasons are full sentences.
	Why     string   `json:"why"`
	Reasons []string `json:"reasons"`
	// IsGate means that To must be healthy before From is synced.
	IsGate bool `json:"gate,omitempty"`
	// Inferred means that the dependency is not based on a record.
	Inferred bool `json:"inferred,omitempty"`
	// Ignored means that it does not affect the order.
	Ignored bool `json:"loose,omitempty"`
	// Contradicted means that the steps contradict it.
	Contradicted bool `json:"against,omitempty"`
	// Hidden means that the drawing has no arrow for it.
	Hidden bool `json:"quiet,omitempty"`
}

// Sanitized returns the dependency without control characters.
func (n Dependency) Sanitized() Dependency {
	n.Why, n.Reasons = finding.Sanitize(n.Why), slices.Clone(n.Reasons)
	for i, reason := range n.Reasons {
		n.Reasons[i] = finding.Sanitize(reason)
	}
	return n
}

// Draw draws a rollout.
func (r Rollout) Draw(f Format) string {
	p := &picture{}
	var steps []int // by section
	for i, s := range r.Steps {
		if slices.ContainsFunc(r.Apps, func(a App) bool { return a.Step == i }) {
			steps = append(steps, i)
			p.sections = append(p.sections, section{title: finding.Sanitize(s.Title), about: finding.Sanitize(s.About)})
		}
	}
	number := make([]int, len(r.Apps))
	for k, step := range steps {
		for i, a := range r.Apps {
			if a.Step != step {
				continue
			}
			number[i] = len(p.nodes)
			p.sections[k].nodes = append(p.sections[k].nodes, number[i])
			p.nodes = append(p.nodes, node{kind: finding.Sanitize(a.Kind), name: finding.Sanitize(a.Name),
				tip: finding.Sanitize(a.Tip), isFocus: a.IsFocus, isDisabled: a.IsDisabled})
		}
	}
	for _, n := range r.Dependencies {
		if n.Hidden {
			continue
		}
		n = n.Sanitized()
		p.edges = append(p.edges, edge{from: number[n.From], to: number[n.To], why: n.Why, reasons: n.Reasons, gate: n.IsGate,
			inferred: n.Inferred, ignored: n.Ignored, contradicted: n.Contradicted})
	}
	slices.SortStableFunc(p.edges, func(a, b edge) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	return p.encode(f)
}
