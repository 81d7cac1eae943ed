package wave

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/internal/cycle"
	"github.com/ladder-cmp/ladder/internal/finding"
)

// strength ranks constraints by what yields first in a cycle: what no manifest
// shows, what is only inferred, what Kubernetes heals by itself, what a person
// wrote, and never what the API server demands.
type strength int

const (
	guessed strength = iota // no manifest shows it
	inferred
	soft
	explicit
	hard
)

func (c constraint) strength() strength {
	switch {
	case c.companion:
		return guessed
	case c.ref.Inferred:
		return inferred
	case c.ref.Explicit:
		return explicit
	case c.ref.Hard:
		return hard
	}
	return soft
}

// loop is a cycle that cannot stand in one wave: its constraints lead to each other,
// and some demand a gap.
type loop struct {
	rules []constraint // all there are
	// within are the indices of those in the cycle, and gaps of those with a gap.
	within, gaps []int
}

// loopsOf finds the loops among constraints by the components of their nodes.
func loopsOf(rules []constraint, comp []int) map[int]*loop {
	loops := map[int]*loop{}
	inside := func(c constraint) bool { return !c.dropped && comp[c.from] == comp[c.to] }
	for i, c := range rules {
		if !inside(c) || c.gap == 0 {
			continue
		}
		id := comp[c.from]
		if loops[id] == nil {
			loops[id] = &loop{rules: rules}
		}
		loops[id].gaps = append(loops[id].gaps, i)
	}
	if len(loops) == 0 {
		return nil
	}
	for i, c := range rules {
		if l := loops[comp[c.from]]; l != nil && inside(c) {
			l.within = append(l.within, i)
		}
	}
	return loops
}

// weakest returns the constraints of the loop that are weaker than some strength, if
// there are any: those of the least strength.
func (l loop) weakest(than strength) (least strength, all []int) {
	least = than
	for _, i := range l.within {
		if s := l.rules[i].strength(); s < least {
			least, all = s, []int{i}
		} else if s == least && s < than {
			all = append(all, i)
		}
	}
	return least, all
}

// yielding says what becomes of a cycle: constraints that are dropped, gaps that
// are given up, and what to tell the user.
type yielding struct {
	drop, weaken   []int
	warning, fault *finding.Finding
}

// yield weakens a cycle that cannot stand in one wave, or returns the fault that
// nothing in it is weak. Objects in a cycle of soft demands stand in one wave,
// where all of them come up in time. A stronger demand for a gap stands, and the
// weaker ones around it are dropped.
func (l loop) yield(g *graph.Graph) yielding {
	if _, all := l.weakest(inferred); all != nil {
		return yielding{drop: all}
	}
	weakest, strongest := hard, guessed
	for _, i := range l.gaps {
		weakest = min(weakest, l.rules[i].strength())
		strongest = max(strongest, l.rules[i].strength())
	}
	if weakest < strongest || strongest == inferred {
		var weak []int
		for _, i := range l.gaps {
			if l.rules[i].strength() == weakest {
				weak = append(weak, i)
			}
		}
		return yielding{weaken: weak}
	}
	least, all := l.weakest(strongest)
	switch {
	case all == nil && strongest >= explicit:
		return yielding{fault: l.finding(g, finding.Error, l.gaps[0], "these objects wait for each other: ",
			"remove one of these references, or move one of the objects to another component")}
	case all == nil:
		return yielding{weaken: l.gaps, warning: l.finding(g, finding.Warning, l.gaps[0], "these objects wait for each other, so they share a wave: ",
			"check that they can start together")}
	case least > inferred:
		return yielding{drop: all, warning: l.finding(g, finding.Warning, all[0], "these objects wait for each other, so Ladder ignores the weakest reference: ",
			"remove one of these references")}
	}
	return yielding{drop: all}
}

func (l loop) finding(g *graph.Graph, severity finding.Severity, through int, message, remedy string) *finding.Finding {
	text, first := l.spell(g, through)
	n := g.Nodes[first]
	return &finding.Finding{Severity: severity, Rule: "cycle", File: n.File, Line: n.Line, Object: n.Key.String(), Message: message + text, Remedy: remedy}
}

// spell writes out a cycle through a constraint: "A -> B (mounts) -> A", from its
// smallest node.
func (l loop) spell(g *graph.Graph, through int) (string, int) {
	start := l.rules[through]
	isStart := func(node int) bool { return node == start.from }
	back, _ := cycle.Path(start.to, isStart, func(node int) iter.Seq2[constraint, int] {
		return func(yield func(constraint, int) bool) {
			for _, i := range l.within {
				if r := l.rules[i]; r.from == node && !yield(r, r.to) {
					return
				}
			}
		}
	})
	path := append([]constraint{start}, back...)
	least := 0
	for i, r := range path {
		if r.from < path[least].from {
			least = i
		}
	}
	path = append(slices.Clone(path[least:]), path[:least]...)
	nodes := g.Nodes
	var b strings.Builder
	b.WriteString(nodes[path[0].from].Key.String())
	for _, r := range path {
		fmt.Fprintf(&b, " %s %s", r.ref.Why, nodes[r.to].Key)
		if r.ref.Because != "" {
			fmt.Fprintf(&b, " (%s)", r.ref.Because)
		}
		if r.to != path[0].from {
			b.WriteString(", which")
		}
	}
	return b.String(), path[0].from
}
