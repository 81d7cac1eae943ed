// Package report renders the ladder of a component as a web page, or that of a
// fleet with the ladders of its components and its simulated rollout.
//
// The page is a single file without external requests. Its data is embedded as
// JSON, which the script (directory page) displays. Of manifests it only contains
// identities, waves and reasons, so no page contains the content of Secrets.
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
	// Rollouts contains either one, or the one of all environments, which is not
	// simulated, followed by one for each environment. The reader selects one.
	Rollouts []Rollout
}

// Rollout is a fleet, or the part of it that is deployed to an environment.
type Rollout struct {
	// Environment is the environment; empty means all.
	Environment string
	// Graph contains the Applications and their dependencies.
	Graph draw.Rollout
	// Applications describes each of Graph.Apps.
	Applications []Application
	// Findings are findings about the fleet.
	Findings []finding.Finding
	Timeline *Timeline
}

// Application is a component of a fleet, or a part of one.
type Application struct {
	Namespace, Domain, Rung string
	// File is the name of its description in findings.
	File string
	// Ladder is nil if nothing was rendered. Rollouts share it.
	Ladder *Ladder
}

// HTML returns the page.
func (f Fleet) HTML() (string, error) {
	p := page{Title: finding.Sanitize(f.Rollouts[0].Graph.Label), Fleet: true, Ladders: []*Ladder{}}
	numbers := map[*Ladder]int{nil: -1}
	for _, r := range f.Rollouts {
		p.Rollouts = append(p.Rollouts, r.on(&p, numbers))
	}
	return p.html()
}

// on returns the rollout for a page, and adds missing ladders to it. numbers maps
// ladders to their indexes.
func (r Rollout) on(in *page, numbers map[*Ladder]int) rollout {
	p := rollout{Environment: finding.Sanitize(r.Environment), Timeline: r.Timeline}
	for _, s := range r.Graph.Steps {
		p.Steps = append(p.Steps, draw.Step{Title: finding.Sanitize(s.Title), About: finding.Sanitize(s.About)})
	}
	for i, a := range r.Graph.Apps {
		more := r.Applications[i]
		if _, known := numbers[more.Ladder]; !known {
			numbers[more.Ladder] = len(in.Ladders)
			in.Ladders = append(in.Ladders, more.Ladder)
		}
		p.Components = append(p.Components, component{Name: finding.Sanitize(a.Name), Kind: finding.Sanitize(a.Kind), Step: a.Step, About: finding.Sanitize(a.Tip), Off: a.Disabled,
			Namespace: finding.Sanitize(more.Namespace), Domain: finding.Sanitize(more.Domain), Rung: finding.Sanitize(more.Rung), Ladder: numbers[more.Ladder]})
	}
	for _, n := range r.Graph.Needs {
		p.Needs = append(p.Needs, n.Sanitized())
	}
	slices.SortStableFunc(p.Needs, func(a, b draw.Need) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To)) })
	for _, found := range r.Findings {
		p.Findings = append(p.Findings, Finding{found.Redacted(), r.about(found)})
	}
	return p
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
	// Ladders contains that of the component, or those of the components of a
	// fleet.
	Ladders []*Ladder `json:"ladders"`
	// Rollouts are the rollouts of a fleet.
	Rollouts []rollout `json:"rollouts,omitempty"`
}

type rollout struct {
	Environment string      `json:"environment,omitempty"`
	Components  []component `json:"components"`
	Steps       []draw.Step `json:"steps,omitempty"`
	// Needs are dependencies between two components, by index.
	Needs []draw.Need `json:"needs,omitempty"`
	// Findings are about components, by index.
	Findings []Finding `json:"findings,omitempty"`
	Timeline *Timeline `json:"timeline,omitempty"`
}

type component struct {
	Name      string `json:"name"`
	Kind      string `json:"kind,omitempty"`
	Step      int    `json:"step"`
	About     string `json:"about,omitempty"`
	Off       bool   `json:"off,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Domain    string `json:"domain,omitempty"`
	Rung      string `json:"rung,omitempty"`
	// Ladder is an index into page.Ladders, -1 if nothing was rendered.
	Ladder int `json:"ladder"`
}
