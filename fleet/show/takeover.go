package show

import (
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/deployment"
	"github.com/ladder-cmp/ladder/fleet/importer"
	"github.com/ladder-cmp/ladder/internal/compare"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/paint"
	"github.com/ladder-cmp/ladder/object"
)

// Replacement describes how the objects of existing Applications change when a fleet takes them
// over.
type Replacement struct {
	Command string
	All     []ReplacedApplication
}

// ReplacedApplication is an Application with the components that replace it.
type ReplacedApplication struct {
	Name       string   `json:"name"`
	Components []string `json:"components"`
	// Manifests compares the manifests of both; it is nil if the Application cannot be
	// rendered here, and Unrendered says why.
	Manifests  *compare.Objects `json:"manifests,omitempty"`
	Unrendered string           `json:"unrendered,omitempty"`
	// Recorded compares the names of the objects with those in the status of the Application;
	// it is nil if there is no status.
	Recorded *compare.Objects `json:"recorded,omitempty"`
	// Missing means that the fleet has no component for it.
	Missing bool `json:"missing,omitempty"`
	// Failed means that a component cannot be rendered.
	Failed bool `json:"failed,omitempty"`
}

// NewTakeover compares a fleet with existing Applications.
func NewTakeover(f *fleet.Fleet, environment, command string, existing []importer.ExistingApplication) Replacement {
	t := Replacement{Command: command, All: []ReplacedApplication{}}
	names := deployment.Names(f, environment)
	for _, former := range existing {
		row := ReplacedApplication{Name: former.Name, Components: []string{}, Unrendered: finding.Sanitize(former.Unrendered)}
		var after []object.Object
		var ids []object.ID
		for i, app := range f.Applications {
			if !app.IsEnabled() || !slices.Contains(former.Components, app.Component.Name) && names[app] != former.Name {
				continue
			}
			row.Components = append(row.Components, app.Name)
			row.Failed = row.Failed || app.Failed || app.MissingSources != nil
			after = append(after, app.Objects...)
			for _, n := range f.Objects.Nodes {
				if n.Part == i && !n.IsHook() {
					ids = append(ids, n.Key)
				}
			}
		}
		row.Missing = len(row.Components) == 0
		if former.Unrendered == "" && !row.Missing && !row.Failed {
			objects, _ := compare.Manifests(former.Objects, after)
			row.Manifests = &objects
		}
		if former.Recorded != nil && !row.Missing && !row.Failed {
			objects := compare.Names(former.Recorded, ids)
			row.Recorded = &objects
		}
		t.All = append(t.All, row)
	}
	return t
}

// Differs reports whether any change is known.
func (r ReplacedApplication) Differs() bool {
	return r.Missing || r.Manifests != nil && !r.Manifests.Same() || r.Recorded != nil && !r.Recorded.Same()
}

// unknown reports whether nothing could be compared.
func (r ReplacedApplication) unknown() bool {
	return !r.Missing && r.Manifests == nil && r.Recorded == nil
}

// Names returns the names of the Applications that differ.
func (t Replacement) Names() []string {
	return t.named(ReplacedApplication.Differs)
}

// Unknown returns the names of the Applications that could not be compared.
func (t Replacement) Unknown() []string { return t.named(ReplacedApplication.unknown) }

func (t Replacement) named(is func(ReplacedApplication) bool) []string {
	var all []string
	for _, r := range t.All {
		if is(r) {
			all = append(all, r.Name)
		}
	}
	return all
}

// JSON returns the comparison for other programs.
func (t Replacement) JSON() any {
	return struct {
		Applications []ReplacedApplication `json:"applications"`
	}{t.All}
}

// Text returns the comparison for a terminal.
func (t Replacement) Text(p paint.Paint) string {
	return compare.Text(p, t.parts(), len(t.All)-len(t.Unknown()), "Application", t.Unknown())
}

// Markdown returns the comparison for a comment of at most limit bytes.
func (t Replacement) Markdown(limit int) string {
	return compare.Markdown(t.parts(), len(t.All)-len(t.Unknown()), "Application", t.Command, limit, t.Unknown())
}

func (t Replacement) parts() []compare.Part {
	var all []compare.Part
	for _, r := range t.All {
		switch {
		case r.Missing:
			all = append(all, compare.Part{Name: r.Name, Head: []string{"Application " + finding.Sanitize(r.Name) + ": no component replaces it, so its objects stay without an Application"}})
		case r.Differs():
			head := "Application " + finding.Sanitize(r.Name) + " -> " + finding.Sanitize(strings.Join(r.Components, ", "))
			all = append(all, compare.Part{Name: r.Name, Head: []string{head}, Sections: compare.NonEmpty([]compare.Section{
				{Title: "manifests", Open: true, Lines: differences(r.Manifests)},
				{Title: "objects in the cluster", Open: true, Lines: differences(r.Recorded)},
			})})
		}
	}
	return all
}

// differences returns a line for each object, and for each field that changed.
func differences(o *compare.Objects) []compare.Line {
	if o == nil {
		return nil
	}
	return compare.ObjectLines(*o)
}
