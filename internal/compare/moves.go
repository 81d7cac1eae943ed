package compare

import (
	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/wave"
)

// Move is an object whose wave or phase changed.
type Move struct {
	Object string `json:"object"`
	// From and To are waves, or phases and weights of hooks.
	From string `json:"from"`
	To   string `json:"to"`
	// OldWhy and Why are the reasons before and after.
	OldWhy string `json:"was"`
	Why    string `json:"why"`
	// Since says what the change did to the deciding object, if that is new or
	// moved itself; empty otherwise.
	Since string `json:"since,omitempty"`
}

// moves lists the objects of both sides whose placement changed.
func moves(old, now side, pairs pairing) []Move {
	all := []Move{}
	for i, n := range now.all {
		at := pairs.toOld[i]
		if at < 0 || old.all[at].row.Wave == n.row.Wave {
			continue
		}
		o := old.all[at]
		m := Move{Object: finding.Sanitize(n.key.String()), From: o.row.Wave, To: n.row.Wave, OldWhy: finding.Sanitize(o.row.Why),
			Why: finding.Sanitize(n.row.Why)}
		if m.Since = since(old, now, pairs, n); m.Since == "" {
			m.Since = gone(old, pairs, o)
		}
		all = append(all, m)
	}
	return all
}

// since says what happened to the object that decides the placement of another.
func since(old, now side, pairs pairing, n placed) string {
	i, decides := now.decider(n)
	if !decides {
		return ""
	}
	other := now.all[i]
	name := finding.Sanitize(other.key.String())
	switch at := pairs.toOld[i]; {
	case at < 0:
		return name + " is new"
	case old.all[at].row.Wave != other.row.Wave:
		return name + " moved, too"
	}
	return ""
}

// gone says that the object that decided a placement was removed.
func gone(old side, pairs pairing, o placed) string {
	if i, decided := old.decider(o); decided && pairs.toNow[i] < 0 {
		return finding.Sanitize(old.all[i].key.String()) + " is gone"
	}
	return ""
}

// decider returns the other object that decides a placement, if any.
func (s side) decider(p placed) (int, bool) {
	other, decides := s.plan.Decider(p.node)
	i, there := s.at[other]
	return i, there && decides
}

// Delta lists additions and removals.
type Delta[T any] struct {
	Gained []T `json:"gained"`
	Lost   []T `json:"lost"`
}

func (d Delta[T]) any() bool { return len(d.Gained)+len(d.Lost) > 0 }

// keyed is a value with a key that is comparable between both sides.
type keyed[K comparable, T any] struct {
	key   K
	thing T
}

func delta[K comparable, T any](before, after []keyed[K, T]) Delta[T] {
	return Delta[T]{Gained: without(after, before), Lost: without(before, after)}
}

// without returns the values whose keys are not among others.
func without[K comparable, T any](all, others []keyed[K, T]) []T {
	there := map[K]bool{}
	for _, o := range others {
		there[o.key] = true
	}
	left := []T{}
	for _, x := range all {
		if !there[x.key] {
			left = append(left, x.thing)
		}
	}
	return left
}

// Gate says that an object waits until another one is healthy.
type Gate struct {
	Object string `json:"object"`
	On     string `json:"on"`
	// Why is the verb of a sentence: Object, why, On.
	Why      string `json:"why"`
	Inferred bool   `json:"inferred,omitempty"`
	// Blind means that Argo CD does not wait nevertheless, since it has no health check.
	Blind bool `json:"blind,omitempty"`
}

// pair is a dependency, with the numbers of the later side; removed objects are -1.
type pair struct{ from, to int }

// gates returns the references that are gates: their target is in an earlier wave,
// and so is awaited. There is one for each pair of objects. References to the CRD
// of a kind are excluded. number maps objects to numbers that are comparable
// between both sides.
func (s side) gates(number func(i int) int) []keyed[pair, Gate] {
	var all []keyed[pair, Gate]
	var last graph.Reference
	for _, r := range s.plan.Graph.References { // sorted by pair
		from, there := s.at[r.From]
		to, both := s.at[r.To]
		if r.Need == graph.NeedsNot || r.Until != graph.Healthy || !there || !both || !s.plan.Orders(r) ||
			s.plan.Compare(r.From, r.To) <= 0 {
			continue
		}
		if r.IsAboutKind() && s.plan.Graph.Nodes[r.To].Kind.Defines != nil || len(all) > 0 && last.From == r.From && last.To == r.To {
			continue
		}
		all, last = append(all, keyed[pair, Gate]{pair{number(from), number(to)}, s.written(r)}), r
	}
	return all
}

// gates compares the gates of both sides.
func gates(old, now side, pairs pairing) Delta[Gate] {
	later := func(i int) int { return i }
	return delta(old.gates(func(i int) int { return pairs.toNow[i] }), now.gates(later))
}

func (s side) written(r graph.Reference) Gate {
	name := func(node int) string { return finding.Sanitize(s.plan.Graph.Nodes[node].Key.String()) }
	return Gate{Object: name(r.From), On: name(r.To), Why: finding.Sanitize(r.Why + r.Detail()), Inferred: r.Inferred(),
		Blind: s.plan.IsBlind(r.To)}
}

// Risk is an object at a gate that may defeat or block the gate.
type Risk struct {
	// Risk is the kind: "blind", "can hang" or "can fail", as in the audit of
	// package wave.
	Risk   string `json:"risk"`
	At     string `json:"at"`
	Object string `json:"object"`
	Why    string `json:"why"`
}

// risky lists the risks at awaited gates. Their waves are ignored.
func risky(gates []wave.Gate) []keyed[Risk, Risk] {
	var all []keyed[Risk, Risk]
	for _, g := range gates {
		if !g.Awaited {
			continue
		}
		for _, list := range []struct {
			risk string
			all  []wave.Gated
		}{{"blind", g.WithoutHealthCheck}, {"can hang", g.Hangs}, {"can fail", g.Degrades}} {
			for _, o := range list.all {
				r := Risk{list.risk, g.Moment(), finding.Sanitize(o.Object), finding.Sanitize(o.Why)}
				all = append(all, keyed[Risk, Risk]{Risk{Risk: r.Risk, Object: r.Object}, r})
			}
		}
	}
	return all
}
