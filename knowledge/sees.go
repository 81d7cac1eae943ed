package knowledge

import (
	"maps"
	"slices"
	"strings"
)

// Sees says how the status of an object tells whether it is healthy, for a kind
// that Argo CD has no health check for. A health check of Argo CD's can be made
// of it (package health), so that a wave waits for such objects after all.
//
// What is written here has to err on the side of waiting: Degraded fails a sync
// for good, even when the object recovers in the next second. Degraded holds
// only what the operator gives up on, or what needs a person.
type Sees struct {
	// Generation says which generation of the object the status is about: a
	// path such as "status.observedGeneration", or "condition" where each
	// condition has its own. A status about an older generation says nothing.
	// Empty if the kind does not tell.
	Generation string `yaml:"generation"`
	// Under is the path of a list whose entries hold the conditions, such as
	// "status.parents"; all entries must be well. Empty for "status".
	Under string `yaml:"under"`

	// The first list counts that has a sign which shows, in the order
	// Progressing, Degraded, Suspended. If none has, the object is healthy when
	// all signs of Healthy show.
	Progressing []Sign `yaml:"progressing"`
	Degraded    []Sign `yaml:"degraded"`
	Suspended   []Sign `yaml:"suspended"`
	Healthy     []Sign `yaml:"healthy"`

	// Note becomes a comment in the check.
	Note string `yaml:"note"`
	// Source is where it is known from.
	Source string `yaml:"source"`
}

// OfCondition is the Generation of kinds whose conditions each have their own.
const OfCondition = "condition"

// Sign is a test of a status: of a condition or of a value.
type Sign struct {
	// Condition is the type of a condition.
	Condition string `yaml:"condition"`
	// Reason restricts it to conditions with one of these reasons.
	Reason []string `yaml:"reason"`
	// At is the path of a value, such as "status.phase".
	At string `yaml:"at"`
	// Is lists the values that show it; "True" if empty.
	Is []string `yaml:"is"`
}

// Values are the values of the condition, or at the path, that show the sign.
func (s Sign) Values() []string {
	if len(s.Is) == 0 {
		return []string{"True"}
	}
	return s.Is
}

// Signs returns the signs in the order in which they count.
func (s *Sees) Signs() []Sign {
	var all []Sign
	for _, list := range [][]Sign{s.Progressing, s.Degraded, s.Suspended, s.Healthy} {
		all = append(all, list...)
	}
	return all
}

// Seen returns the kinds of which it is known how their status tells health,
// without those that stand for many. It reads every file.
func (b *Base) Seen() []Kind {
	var all []Kind
	for _, name := range slices.Sorted(maps.Keys(b.groups)) {
		if strings.HasPrefix(name, anything) {
			continue
		}
		for _, k := range b.file(name).Kinds {
			if k.Sees != nil && k.Kind != anything {
				all = append(all, k)
			}
		}
	}
	return all
}
