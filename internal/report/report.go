// Package report renders a web page: the ladder of a component, or a fleet with the
// ladders of its components and its simulated rollout.
//
// The page is a single file without external requests. Its data is embedded as
// JSON, which the script (directory page) displays. It contains the identities, waves
// and reasons of manifests but not their content, so that no page contains the content
// of a Secret.
//
// The package is pure: the same input produces the same page.
package report

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/internal/draw"
	"github.com/ladder-cmp/ladder/internal/finding"
)

// Component is the page of a component.
type Component struct {
	Ladder *Ladder
}

// HTML returns the page.
func (c Component) HTML() (string, error) {
	return page{Title: c.Ladder.Name, Ladders: []*Ladder{c.Ladder}}.html()
}

// Fleet is the page of a fleet.
type Fleet struct {
	// Rollouts contains a single rollout if the fleet has at most one environment, or
	// if the page is about one of them. Otherwise the first is for all environments and
	// not simulated, and one for each environment follows; the reader of the page
	// selects one.
	Rollouts []Rollout
}

// Rollout is a fleet, or the part of it that is deployed to an environment.
type Rollout struct {
	// Environment is the environment; empty means all.
	Environment string
	// Graph contains the Applications and their dependencies.
	Graph draw.Rollout
	// Applications describes each of Graph.Apps.
	Applications []Row
	// Findings are findings about the fleet.
	Findings []finding.Finding
	Timeline *Timeline
}

// Row is a component of a fleet, or a part of one.
type Row struct {
	Namespace, Domain, Rung string
	// File is the path of its component.yaml, as in findings.
	File string
	// Ladder is nil if nothing was rendered. Rollouts share it.
	Ladder *Ladder
}

// HTML returns the page.
func (f Fleet) HTML() (string, error) {
	p := page{Title: finding.Sanitize(f.Rollouts[0].Graph.Label), Fleet: true, Ladders: []*Ladder{}}
	numbers := map[*Ladder]int{nil: -1}
	for _, r := range f.Rollouts {
		p.Rollouts = append(p.Rollouts, r.toJSON(&p, numbers))
	}
	return p.html()
}

// toJSON returns the rollout for the page p, and adds missing ladders to p. numbers maps
// ladders to their indexes.
func (r Rollout) toJSON(p *page, numbers map[*Ladder]int) rollout {
	out := rollout{Environment: finding.Sanitize(r.Environment), Timeline: r.Timeline}
	for _, s := range r.Graph.Steps {
		out.Steps = append(out.Steps, draw.Step{Title: finding.Sanitize(s.Title), About: finding.Sanitize(s.About)})
	}
	for i, a := range r.Graph.Apps {
		more := r.Applications[i]
		if _, known := numbers[more.Ladder]; !known {
			numbers[more.Ladder] = len(p.Ladders)
			p.Ladders = append(p.Ladders, more.Ladder)
		}
		out.Components = append(out.Components, component{Name: finding.Sanitize(a.Name), Kind: finding.Sanitize(a.Kind),
			Step: a.Step, About: finding.Sanitize(a.Tip), NotDeployed: a.IsDisabled,
			Namespace: finding.Sanitize(more.Namespace), Domain: finding.Sanitize(more.Domain), Rung: finding.Sanitize(more.Rung),
			Ladder: numbers[more.Ladder]})
	}
	for _, n := range r.Graph.Dependencies {
		out.Dependencies = append(out.Dependencies, n.Sanitized())
	}
	slices.SortStableFunc(out.Dependencies, func(a, b draw.Dependency) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	for _, found := range r.Findings {
		out.Findings = append(out.Findings, Finding{found.Redacted(), r.about(found)})
	}
	return out
}

// about returns the component that a finding names, or whose directory contains its
// file; -1 if there is none.
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

// page is the JSON data of a page.
type page struct {
	Title string `json:"title"`
	Fleet bool   `json:"fleet"`
	// Ladders contains the ladder of the component, or the ladders of the components of
	// a fleet.
	Ladders []*Ladder `json:"ladders"`
	// Rollouts are the rollouts of a fleet.
	Rollouts []rollout `json:"rollouts,omitempty"`
}

type rollout struct {
	Environment string      `json:"environment,omitempty"`
	Components  []component `json:"components"`
	Steps       []draw.Step `json:"steps,omitempty"`
	// Dependencies are between two components, by index.
	Dependencies []draw.Dependency `json:"needs,omitempty"`
	// Findings are about components, by index.
	Findings []Finding `json:"findings,omitempty"`
	Timeline *Timeline `json:"timeline,omitempty"`
}

type component struct {
	Name        string `json:"name"`
	Kind        string `json:"kind,omitempty"`
	Step        int    `json:"step"`
	About       string `json:"about,omitempty"`
	NotDeployed bool   `json:"off,omitempty"`
	Namespace   string `json:"namespace,omitempty"`
	Domain      string `json:"domain,omitempty"`
	Rung        string `json:"rung,omitempty"`
	// Ladder is an index into page.Ladders, -1 if nothing was rendered.
	Ladder int `json:"ladder"`
}
