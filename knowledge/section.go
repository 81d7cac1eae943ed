package knowledge

import (
	"slices"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/settings"
)

// fleetKey is the key of the section of a ladder.yaml that is about many components. Records about
// kinds do not need it, so it is only kept here for those who read it.
const fleetKey = "fleet"

// FleetReader reads the fleet section of a ladder.yaml, and returns its content or everything that
// is wrong with it.
type FleetReader func(f settings.File, n *yaml.Node) (content any, faults []error)

// FleetSection is the fleet section of a ladder.yaml.
type FleetSection struct {
	// Node is nil if there is no such section.
	Node *yaml.Node
	// Content is what the FleetReader returned; nil if there is none.
	Content any
}

// unread is the type of a value that is read elsewhere.
type unread struct{}

// UnmarshalYAML accepts everything.
func (*unread) UnmarshalYAML(*yaml.Node) error { return nil }

// ReadingFleets returns the same knowledge, whose fleet sections a reader reads from now on.
func (b *Base) ReadingFleets(read FleetReader) *Base {
	over := *b
	over.fleetReader = read
	return &over
}

// Fleet returns the fleet section of the nearest ladder.yaml of the platform that has one.
func (b *Base) Fleet() FleetSection { return b.fleet }

// fleet reads the fleet section, which replaces the whole fleet section of files in
// parent directories.
func (r *reader) fleet(over *Base, n *yaml.Node) {
	if n == nil {
		return
	}
	section := FleetSection{Node: n}
	if read := r.base.fleetReader; read != nil {
		content, faults := read(r.File, n)
		if len(faults) > 0 {
			r.faults = append(r.faults, faults...)
			return
		}
		section.Content = content
	}
	if r.tenants {
		f := r.Fault(n.Line, fleetKey, "this section has no effect: the file is in the directory of a component, "+
			"and only the platform decides the project, cluster and repository of Applications",
			"remove it, or move it to a ladder.yaml above the component")
		f.Rule = RefusedRule
		over.refused = append(slices.Clip(over.refused), f)
		return
	}
	over.fleet = section
}

// RefusedRule is the rule about settings of a component that only the platform may set.
const RefusedRule finding.Rule = "platform-setting"

// Refused returns errors about the fleet sections in files of the owner of a component.
func (b *Base) Refused() []finding.Finding { return b.refused }
