package compare

import (
	"cmp"

	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/wave"
)

// Move is an object that comes in another wave or phase than before.
type Move struct {
	Object string `json:"object"`
	// From and To are waves, or phases and weights of hooks.
	From string `json:"from"`
	To   string `json:"to"`
	// Was and Why are what decided the place then and now.
	Was string `json:"was"`
	Why string `json:"why"`
	// Since says what the change did to the object that decides, where that is
	// another one which is new or moved itself; empty otherwise.
	Since string `json:"since,omitempty"`
}

// moves lists the objects of both sides that have another place.
func moves(old, now side, pairs pairing) []Move {
	all := []Move{}
	for i, n := range now.all {
		at := pairs.toOld[i]
		if at < 0 || old.all[at].row.Wave == n.row.Wave {
			continue
		}
		o := old.all[at]
		m := Move{Object: finding.Harmless(n.key.String()), From: o.row.Wave, To: n.row.Wave, Was: finding.Harmless(o.row.Why), Why: finding.Harmless(n.row.Why)}
		if m.Since = since(old, now, pairs, n); m.Since == "" {
			m.Since = gone(old, now, pairs, o)
		}
		all = append(all, m)
	}
	return all
}

// since says what became of the object that decides the place of another.
func since(old, now side, pairs pairing, n placed) string {
	i, decides := now.decider(n)
	if !decides {
		return ""
	}
	other := now.all[i]
	name := finding.Harmless(other.key.String())
	switch at := pairs.toOld[i]; {
	case at < 0:
		return name + " is new"
	case old.all[at].row.Wave != other.row.Wave:
		return name + " moved, too"
	}
	return ""
}

// gone says that the object that decided a place is there no more.
func gone(old, now side, pairs pairing, o placed) string {
	if i, decided := old.decider(o); decided && pairs.toNow[i] < 0 {
		return finding.Harmless(old.all[i].key.String()) + " is gone"
	}
	return ""
}

// decider is the other object that decides the place of one, if there is one.
func (s side) decider(p placed) (int, bool) {
	place := s.plan.Places[p.node]
	switch place.Because.Cause {
	case wave.ByReference, wave.ByConsumer, wave.ByCompany, wave.ByController, wave.ByDoubt:
		i, there := s.at[place.Because.Other]
		return i, there && place.Because.Other != p.node
	}
	return 0, false
}

// Gates are those that a change brings and takes away.
type Gates struct {
	Gained []Gate `json:"gained"`
	Lost   []Gate `json:"lost"`
}

func (g Gates) any() bool { return len(g.Gained)+len(g.Lost) > 0 }

// Gate says that an object is applied only once another is healthy.
type Gate struct {
	Object string `json:"object"`
	On     string `json:"on"`
	// Why is the verb of a sentence: Object, why, On.
	Why      string `json:"why"`
	Inferred bool   `json:"inferred,omitempty"`
}

// gates compares what waits for what. It leaves out that every object waits for
// the definition of its kind.
func gates(old, now side, pairs pairing) Gates {
	g := Gates{Gained: []Gate{}, Lost: []Gate{}}
	type pair struct{ from, to int } // as the later side counts
	before, after := map[pair]bool{}, map[pair]bool{}
	for _, r := range old.gates() {
		before[pair{pairs.toNow[old.at[r.From]], pairs.toNow[old.at[r.To]]}] = true
	}
	for _, r := range now.gates() {
		p := pair{now.at[r.From], now.at[r.To]}
		after[p] = true
		if !before[p] {
			g.Gained = append(g.Gained, now.written(r))
		}
	}
	for _, r := range old.gates() {
		if !after[pair{pairs.toNow[old.at[r.From]], pairs.toNow[old.at[r.To]]}] {
			g.Lost = append(g.Lost, old.written(r))
		}
	}
	return g
}

// gates are the references that the order keeps: their target comes in an earlier
// wave, and so is awaited. Of several between two objects there is one.
func (s side) gates() []graph.Reference {
	var all []graph.Reference
	for _, r := range s.plan.Graph.References { // sorted by pair
		from, there := s.at[r.From]
		to, both := s.at[r.To]
		if r.Meaning != knowledge.Healthy || !there || !both || !s.plan.Orders(r) || s.compare(from, to) <= 0 {
			continue
		}
		if r.IsAboutKind() && s.plan.Graph.Nodes[r.To].Kind.Defines != nil {
			continue
		}
		if n := len(all); n > 0 && all[n-1].From == r.From && all[n-1].To == r.To {
			continue
		}
		all = append(all, r)
	}
	return all
}

// compare orders objects by their phases and waves.
func (s side) compare(x, y int) int {
	return cmp.Or(cmp.Compare(s.phase(x), s.phase(y)), cmp.Compare(s.plan.Places[s.all[x].node].Wave, s.plan.Places[s.all[y].node].Wave))
}

func (s side) phase(i int) int {
	if phases := s.plan.Graph.Nodes[s.all[i].node].Phases(); len(phases) > 0 {
		return phases[0].Order()
	}
	return object.PostDelete.Order() + 1
}

func (s side) written(r graph.Reference) Gate {
	name := func(node int) string { return finding.Harmless(s.plan.Graph.Nodes[node].Key.String()) }
	return Gate{Object: name(r.From), On: name(r.To), Why: finding.Harmless(r.Why + r.Explained()), Inferred: r.Inferred}
}

// Risks are those that a change brings and takes away.
type Risks struct {
	Gained []Risk `json:"gained"`
	Lost   []Risk `json:"lost"`
}

func (r Risks) any() bool { return len(r.Gained)+len(r.Lost) > 0 }

// Risk is an object at a gate between two waves that may not be what the gate
// takes it for.
type Risk struct {
	// Risk is what may happen: "blind", "can hang" or "can fail", as the audit of
	// package wave has it.
	Risk   string `json:"risk"`
	At     string `json:"at"`
	Object string `json:"object"`
	Why    string `json:"why"`
}

func risks(before, after []wave.Gate) Risks {
	old, now := risky(before), risky(after)
	return Risks{Gained: without(now, old), Lost: without(old, now)}
}

// risky lists the risks at gates that Argo CD waits at.
func risky(gates []wave.Gate) []Risk {
	var all []Risk
	for _, g := range gates {
		if !g.Awaited {
			continue
		}
		for _, list := range []struct {
			risk string
			all  []wave.Gated
		}{{"blind", g.Blind}, {"can hang", g.Hangs}, {"can fail", g.Degrades}} {
			for _, o := range list.all {
				all = append(all, Risk{list.risk, g.Moment(), finding.Harmless(o.Object), finding.Harmless(o.Why)})
			}
		}
	}
	return all
}

// without lists the risks that others are not: in which wave they are does not
// matter.
func without(all, others []Risk) []Risk {
	type identity struct{ risk, object string }
	there := map[identity]bool{}
	for _, r := range others {
		there[identity{r.Risk, r.Object}] = true
	}
	left := []Risk{}
	for _, r := range all {
		if !there[identity{r.Risk, r.Object}] {
			left = append(left, r)
		}
	}
	return left
}
