package flags

import (
	"slices"

	"github.com/ladder-cmp/ladder/fleet/appset"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/plugin"
)

// Options are the values of the flags that determine how components are rendered. Files that
// they name are read for each request, so that their faults are those of the request.
type Options struct {
	inputs
	Settings plugin.Settings
	// Command is the name of the command, and Flags the names of the flags that are set.
	Command string
	Flags   []string
}

// inputs are what determines a rendering beside its parameters.
type inputs struct {
	// Ladder is the file of --ladder.
	Ladder *string
	// ArgoCD is the Argo CD of a cluster; zero if none was read.
	ArgoCD knowledge.ArgoCD
	// Remote are the flags about fetching; nil fetches nothing.
	Remote *Fetching

	seed *seedFlags
	// generators reads the parameters of generators of ApplicationSets; nil for commands
	// that do not expand ApplicationSets.
	generators func() (appset.Values, error)
}

// IsSet reports whether a flag is set.
func (o Options) IsSet(flag string) bool { return slices.Contains(o.Flags, flag) }

// Base returns the knowledge with the file of --ladder, about the Argo CD.
func (in inputs) Base() (*knowledge.Base, error) {
	base, err := KnowledgeOf(*in.Ladder)
	if err != nil {
		return nil, err
	}
	return base.For(in.ArgoCD), nil
}
