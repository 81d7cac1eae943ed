package knowledge

import (
	"maps"
	"slices"
	"strings"
)

// Status says how the status of an object shows its health, for a kind for which Argo
// CD has no health check. Package health generates a health check from it, so that
// waves wait for such objects.
//
// In case of doubt a record must lead to waiting: Degraded fails a sync
// permanently, even if the object recovers a second later. Degraded lists only
// states that the operator gives up on, or that need human action.
type Status struct {
	// Generation is the generation that the status describes: a path such as
	// "status.observedGeneration", or "condition" if each condition has its own. A
	// status of an older generation is ignored. Empty if the kind has none.
	Generation string `yaml:"generation"`
	// Under is the path of a list whose entries contain the conditions, such as
	// "status.parents"; all entries must be healthy. Empty for "status".
	Under string `yaml:"under"`

	// The first list with a matching sign applies, in the order Progressing,
	// Degraded, Suspended. If none matches, the object is healthy if all signs of
	// Healthy match.
	Progressing []Sign `yaml:"progressing"`
	Degraded    []Sign `yaml:"degraded"`
	Suspended   []Sign `yaml:"suspended"`
	Healthy     []Sign `yaml:"healthy"`

	// Script is the health check in Lua, for a kind whose status the signs cannot
	// describe; empty to generate it. It must agree with the signs.
	Script string `yaml:"script"`
	// Note becomes a comment in the health check.
	Note string `yaml:"note"`
	// Source is the source of the facts.
	Source string `yaml:"source"`
}

// OfCondition is the Generation of kinds whose conditions have their own.
const OfCondition = "condition"

// Sign is a test of a status: of a condition or of a value.
type Sign struct {
	// Condition is the type of a condition.
	Condition string `yaml:"condition"`
	// Reason restricts it to conditions with one of these reasons.
	Reason []string `yaml:"reason"`
	// At is the path of a value, such as "status.phase".
	At string `yaml:"at"`
	// Is lists the matching values; "True" if empty.
	Is []string `yaml:"is"`
}

// Values returns the matching values of the condition, or at the path.
func (s Sign) Values() []string {
	if len(s.Is) == 0 {
		return []string{"True"}
	}
	return s.Is
}

// Signs returns all signs in order of precedence.
func (s *Status) Signs() []Sign {
	var all []Sign
	for _, list := range [][]Sign{s.Progressing, s.Degraded, s.Suspended, s.Healthy} {
		all = append(all, list...)
	}
	return all
}

// KindsWithStatus returns the kinds with a record about their status, except records
// for all kinds of a group. It reads every file.
func (b *Base) KindsWithStatus() []Kind {
	var all []Kind
	for _, name := range slices.Sorted(maps.Keys(b.groups)) {
		if strings.HasPrefix(name, anything) {
			continue
		}
		for _, k := range b.file(name).Kinds {
			if k.Status != nil && k.Kind != anything {
				all = append(all, k)
			}
		}
	}
	return all
}
