// Package report turns what was computed into a page that people look at in a
// browser: the ladder of a component, or that of a fleet with the ladders of its
// components and its simulated rollout.
//
// The page is one file that needs nothing else and asks for nothing. Its data
// stand in it as JSON; the program on the page (folder page) shows them. Of
// manifests only the identities are told, with waves and reasons, so no page
// holds what a Secret holds.
//
// The package is pure: the same input makes the same page.
package report

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/internal/draw"
	"github.com/ladder-cmp/ladder/internal/finding"
)

// Component is a page about one component.
type Component struct {
	Ladder *Ladder
}

// HTML writes the page.
func (c Component) HTML() (string, error) {
	return page{Title: c.Ladder.Name, Ladders: []*Ladder{c.Ladder}}.html()
}

// Fleet is a page about a fleet.
type Fleet struct {
	// Rollouts is the only one, or that of all environments, which nobody plays,
	// and then those of each. The reader chooses among them.
	Rollouts []Rollout
}

// Rollout is a fleet, or what of it is deployed in an environment.
type Rollout struct {
	// Environment is where; empty means everywhere.
	Environment string
	// Graph is what stands where, and what needs what.
	Graph draw.Rollout
	// Applications say more of each of Graph.Apps.
	Applications []Application
	// Findings are those about the fleet.
	Findings []finding.Finding
	Timeline *Timeline
}

// Application is a component of a fleet, or a part of one.
type Application struct {
	Namespace, Domain, Rung string
	// File is what findings call its description by.
	File string
	// Ladder is nil if nothing was rendered. Rollouts share it.
	Ladder *Ladder
}

// HTML writes the page.
func (f Fleet) HTML() (string, error) {
	p := page{Title: finding.Harmless(f.Rollouts[0].Graph.Label), Fleet: true, Ladders: []*Ladder{}}
	numbers := map[*Ladder]int{nil: -1}
	for _, r := range f.Rollouts {
		p.Rollouts = append(p.Rollouts, r.on(&p, numbers))
	}
	return p.html()
}

// on is the rollout as it stands in a page, to which it adds its ladders unless
// they are there. numbers are those of the ladders that are.
func (r Rollout) on(in *page, numbers map[*Ladder]int) rollout {
	p := rollout{Environment: finding.Harmless(r.Environment), Timeline: r.Timeline}
	for _, s := range r.Graph.Steps {
		p.Phases = append(p.Phases, phase{finding.Harmless(s.Title), finding.Harmless(s.About)})
	}
	for i, a := range r.Graph.Apps {
		more := r.Applications[i]
		if _, known := numbers[more.Ladder]; !known {
			numbers[more.Ladder] = len(in.Ladders)
			in.Ladders = append(in.Ladders, more.Ladder)
		}
		p.Components = append(p.Components, component{Name: finding.Harmless(a.Name), Kind: finding.Harmless(a.Kind), Phase: a.Step, About: finding.Harmless(a.Tip), Off: a.Off,
			Namespace: finding.Harmless(more.Namespace), Domain: finding.Harmless(more.Domain), Rung: finding.Harmless(more.Rung), Ladder: numbers[more.Ladder]})
	}
	for _, n := range r.Graph.Needs {
		need := need{From: n.From, To: n.To, Why: finding.Harmless(n.Why), Gate: n.Gate, Inferred: n.Inferred, Loose: n.Loose, Against: n.Against, Quiet: n.Hidden}
		for _, r := range n.Reasons {
			need.Reasons = append(need.Reasons, finding.Harmless(r))
		}
		p.Needs = append(p.Needs, need)
	}
	slices.SortStableFunc(p.Needs, func(a, b need) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To)) })
	for _, found := range r.Findings {
		p.Findings = append(p.Findings, Finding{found.Told(), r.about(found)})
	}
	return p
}

// about is the component that a finding names, or in whose directory it is; -1 if
// there is none.
func (r Rollout) about(found finding.Finding) int {
	if named := slices.IndexFunc(r.Graph.Apps, func(a draw.App) bool { return a.Name == found.Object }); named >= 0 {
		return named
	}
	nearest, length := -1, 0
	for i, a := range r.Applications {
		dir := path.Dir(a.File) + "/"
		if a.File == found.File {
			return i
		}
		if strings.HasPrefix(found.File, dir) && len(dir) > length {
			nearest, length = i, len(dir)
		}
	}
	return nearest
}

// page is what stands in a page as JSON.
type page struct {
	Title string `json:"title"`
	Fleet bool   `json:"fleet"`
	// Ladders is that of the component, or those of the components of a fleet.
	Ladders []*Ladder `json:"ladders"`
	// Rollouts are those of a fleet.
	Rollouts []rollout `json:"rollouts,omitempty"`
}

type rollout struct {
	Environment string      `json:"environment,omitempty"`
	Components  []component `json:"components"`
	Phases      []phase     `json:"phases,omitempty"`
	Needs       []need      `json:"needs,omitempty"`
	// Findings are about components, by their indices.
	Findings []Finding `json:"findings,omitempty"`
	Timeline *Timeline `json:"timeline,omitempty"`
}

type component struct {
	Name      string `json:"name"`
	Kind      string `json:"kind,omitempty"`
	Phase     int    `json:"phase"`
	About     string `json:"about,omitempty"`
	Off       bool   `json:"off,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Domain    string `json:"domain,omitempty"`
	Rung      string `json:"rung,omitempty"`
	// Ladder is an index of page.Ladders, -1 if nothing was rendered.
	Ladder int `json:"ladder"`
}

type phase struct {
	Title string `json:"title"`
	About string `json:"about"`
}

// need is what one component needs of another, by their indices.
type need struct {
	From     int      `json:"from"`
	To       int      `json:"to"`
	Why      string   `json:"why"`
	Reasons  []string `json:"reasons"`
	Gate     bool     `json:"gate,omitempty"`
	Inferred bool     `json:"inferred,omitempty"`
	Loose    bool     `json:"loose,omitempty"`
	Against  bool     `json:"against,omitempty"`
	Quiet    bool     `json:"quiet,omitempty"`
}
