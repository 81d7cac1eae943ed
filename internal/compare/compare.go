// Package compare shows the effect of a change on a component: added, removed and
// changed objects, moved waves with the reasons, gates, and new findings.
//
// A diff of manifests does not show why the order changed. The reasons are in the
// plans, so plans are compared, not texts. Changes of Secret data are reported
// without the data.
//
// The package is pure: two results in, a Comparison out.
package compare

import (
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/wave"
)

// Side is a component before or after the change.
type Side struct {
	// Name is its name for users, such as "main:apps/shop".
	Name string
	// Dir is its directory as in findings, which is removed to compare findings of
	// two directories.
	Dir string
	// Missing means that the component does not exist on this side.
	Missing bool
	// Failed means that rendering failed; Findings say why.
	Failed bool
	// Plan is its order, and Objects are the annotated objects, one for each entry
	// of Plan.Order. Both are empty if the component is missing or failed.
	Plan     *wave.Plan
	Objects  []object.Object
	Gates    []wave.Gate
	Findings []finding.Finding
	// Generated are the Applications of ApplicationSets, which have no place in Plan.
	Generated []object.Object
}

// Comparison is the effect of a change on a component.
type Comparison struct {
	Before Summary `json:"before"`
	After  Summary `json:"after"`
	// Objects are compared only if both sides were rendered, or one of them is
	// missing.
	Objects
	// Moved lists objects of both sides whose phase or wave changed, in the order
	// of the later side.
	Moved []Move      `json:"moved"`
	Gates Delta[Gate] `json:"gates"`
	Risks Delta[Risk] `json:"risks"`
	// New are added findings, and Fixed removed ones.
	New   []finding.Finding `json:"newFindings"`
	Fixed []finding.Finding `json:"fixedFindings"`
}

// Summary summarizes a side.
type Summary struct {
	Name    string `json:"name"`
	State   State  `json:"state"`
	Objects int    `json:"objects"`
	Waves   int    `json:"waves"`
}

// State is the state of a side.
type State string

// The states of a side.
const (
	Rendered State = "rendered"
	Missing  State = "missing"
	Failed   State = "failed"
)

// Different reports whether the sides differ in any compared aspect.
func (c Comparison) Different() bool {
	return c.Before.State != c.After.State || !c.Objects.Same() || len(c.Moved)+len(c.New)+len(c.Fixed) > 0 || c.Gates.any() ||
		c.Risks.any()
}

// Components compares a component before and after a change.
func Components(before, after Side) Comparison {
	c := Comparison{
		Before: before.summary(), After: after.summary(),
		Objects: Objects{Added: []Object{}, Removed: []Object{}, Changed: []Changed{}},
		Moved:   []Move{}, Gates: Delta[Gate]{Gained: []Gate{}, Lost: []Gate{}}, Risks: Delta[Risk]{Gained: []Risk{}, Lost: []Risk{}},
	}
	c.New, c.Fixed = Findings(before.Findings, before.Dir, after.Findings, after.Dir)
	if before.Failed || after.Failed {
		return c
	}
	old, now := read(before), read(after)
	pairs := match(old.ids(), now.ids())
	c.Objects = compareObjects(old.all, now.all, pairs)
	c.Objects.add(generatedObjects(before.Generated, after.Generated))
	if before.Missing || after.Missing {
		return c // one side is empty
	}
	c.Moved = moves(old, now, pairs)
	c.Gates = gates(old, now, pairs)
	c.Risks = delta(risky(before.Gates), risky(after.Gates))
	return c
}

func (s Side) summary() Summary {
	sum := Summary{Name: s.Name, State: Rendered, Objects: len(s.Objects)}
	switch {
	case s.Missing:
		sum.State = Missing
	case s.Failed:
		sum.State = Failed
	default:
		sum.Waves = s.Plan.Waves()
	}
	return sum
}

// side is a rendered Side prepared for comparison: its objects in plan order.
type side struct {
	plan *wave.Plan
	all  []placed
	// at maps nodes of the plan to indexes of all.
	at map[int]int
}

// placed is an object with its placement.
type placed struct {
	object.Object
	// key is its identity with the namespace that Argo CD sets.
	key object.ID
	// node is its number in the plan's graph.
	node int
	row  wave.Row
}

func read(s Side) side {
	r := side{plan: s.Plan, at: map[int]int{}}
	if s.Plan == nil {
		return r
	}
	for at, row := range s.Plan.Table() {
		node := s.Plan.Order[at]
		r.at[node] = at
		r.all = append(r.all, placed{Object: s.Objects[at], key: row.Object, node: node, row: row})
	}
	return r
}

func (s side) ids() []object.ID {
	ids := make([]object.ID, len(s.all))
	for i, p := range s.all {
		ids[i] = p.key
	}
	return ids
}
