// Package compare says what a change does to a component: which objects come,
// go and change, which waves move and why, what is waited for, and which
// findings are new.
//
// A diff of manifests says what changed, and nothing of the order. What a
// reviewer has to know of an order is in the explanations of both sides, so it
// is plans that are compared, and not texts. Of Secrets it is told that their
// data changed, and never what it is.
//
// The package is pure: two results in, a Comparison out.
package compare

import (
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/wave"
)

// Side is a component as it was, or as it is.
type Side struct {
	// Name is what people call it, such as "main:apps/shop".
	Name string
	// Dir is its directory as the findings name it, which tells apart what is the
	// same in two directories.
	Dir string
	// Missing means that there is no such component on this side.
	Missing bool
	// Failed means that it cannot be rendered; Findings say why.
	Failed bool
	// Plan is its order, and Objects are what that makes of its objects, one for
	// each entry of Plan.Order. Both are empty for what is missing or failed.
	Plan     *wave.Plan
	Objects  []object.Object
	Gates    []wave.Gate
	Findings []finding.Finding
}

// Comparison is what a change does to a component.
type Comparison struct {
	Before Summary `json:"before"`
	After  Summary `json:"after"`
	// Objects are compared only where both sides could be rendered, or one of
	// them is missing.
	Objects
	// Moved are objects of both sides whose phase or wave is another one, in the
	// order of the later side.
	Moved []Move      `json:"moved"`
	Gates Delta[Gate] `json:"gates"`
	Risks Delta[Risk] `json:"risks"`
	// New are findings that the change brings, and Fixed those that it takes away.
	New   []finding.Finding `json:"newFindings"`
	Fixed []finding.Finding `json:"fixedFindings"`
}

// Summary is a side in few words.
type Summary struct {
	Name    string `json:"name"`
	State   State  `json:"state"`
	Objects int    `json:"objects"`
	Waves   int    `json:"waves"`
}

// State says what there is of a side.
type State string

// The states of a side.
const (
	Rendered State = "rendered"
	Missing  State = "missing"
	Failed   State = "failed"
)

// Different reports whether the sides differ in anything that is compared.
func (c Comparison) Different() bool {
	return c.Before.State != c.After.State || !c.Objects.Same() || len(c.Moved)+len(c.New)+len(c.Fixed) > 0 || c.Gates.any() || c.Risks.any()
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
	if before.Missing || after.Missing {
		return c // all of it is new or gone, with its order
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

// side is a rendered Side as it is compared: its objects in the order of the
// plan.
type side struct {
	plan *wave.Plan
	all  []placed
	// at is the index in all, by node of the plan.
	at map[int]int
}

// placed is an object in its place.
type placed struct {
	object.Object
	// key is its identity with the namespace that Argo CD gives it.
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
