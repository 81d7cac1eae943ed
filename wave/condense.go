package wave

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/finding"
	"github.com/ladder-cmp/ladder/knowledge"
)

// unit is a set of objects that stand in one wave: those of a cycle, or a single
// object.
type unit struct {
	nodes []int
	// needs lead to units that come before it, and users to those that come after.
	needs, users []edge
	// gated means that one of the users comes only when the unit is healthy.
	gated bool
}

// edge is a constraint between two units, seen from one of them.
type edge struct {
	constraint
	unit int // the other one
}

// isBound reports whether the unit stands in the wave of what it needs.
func (u *unit) isBound() bool {
	return slices.ContainsFunc(u.needs, func(e edge) bool { return e.ref.Meaning == knowledge.With })
}

// condense finds the cycles among the constraints on some nodes. In a cycle no
// constraint can demand a gap: the weakest yield until none does, and when the
// API server demands it there is no order. The units come out so that what one
// needs has a lower index.
func condense(p *Plan, nodes []int, rules []constraint) ([]unit, error) {
	for {
		comp := components(len(p.Graph.Nodes), rules)
		gaps := map[int][]int{} // by component, the rules with a gap
		for i, c := range rules {
			if c.gap > 0 && comp[c.from] == comp[c.to] {
				gaps[comp[c.from]] = append(gaps[comp[c.from]], i)
			}
		}
		if len(gaps) == 0 {
			return unitsOf(nodes, rules, comp), nil
		}
		var faults []finding.Finding
		dropped := map[int]bool{}
		for _, id := range slices.Sorted(maps.Keys(gaps)) {
			y := yield(p, cycle{rules, comp, id}, gaps[id])
			if y.fault != nil {
				faults = append(faults, *y.fault)
			}
			if y.warning != nil {
				p.Findings = append(p.Findings, *y.warning)
			}
			for _, i := range y.drop {
				dropped[i] = true
				if !rules[i].companion {
					p.yielded[*rules[i].ref] = "dropped because of a cycle"
				}
			}
			for _, i := range y.weaken {
				rules[i].gap, rules[i].need = 0, ""
				p.yielded[*rules[i].ref] = "not awaited because of a cycle"
			}
		}
		if len(faults) > 0 {
			finding.Sort(faults)
			return nil, finding.Err(faults)
		}
		rules = withoutRules(rules, dropped)
	}
}

func withoutRules(rules []constraint, dropped map[int]bool) []constraint {
	left := make([]constraint, 0, len(rules))
	for i, c := range rules {
		if !dropped[i] {
			left = append(left, c)
		}
	}
	return left
}

// strength ranks constraints by what yields first in a cycle: what no manifest
// shows, what is only inferred, what Kubernetes heals by itself, what a person
// wrote, and never what the API server demands.
type strength int

const (
	shown strength = iota // by nothing
	inferred
	soft
	explicit
	hard
)

func (c constraint) strength() strength {
	switch {
	case c.companion:
		return shown
	case c.ref.Inferred:
		return inferred
	case c.ref.Explicit:
		return explicit
	case c.ref.Hard:
		return hard
	}
	return soft
}

// cycle is a strongly connected component of the constraints.
type cycle struct {
	rules []constraint
	comp  []int
	id    int
}

// weakest returns the constraints of the cycle that are weaker than some
// strength, if there are any: those of the least strength.
func (c cycle) weakest(than strength) (least strength, all []int) {
	least = than
	for i, r := range c.rules {
		if c.comp[r.from] != c.id || c.comp[r.to] != c.id {
			continue
		}
		if s := r.strength(); s < least {
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
func yield(p *Plan, c cycle, gaps []int) yielding {
	if _, all := c.weakest(inferred); all != nil {
		return yielding{drop: all}
	}
	weakest, strongest := hard, shown
	for _, i := range gaps {
		weakest = min(weakest, c.rules[i].strength())
		strongest = max(strongest, c.rules[i].strength())
	}
	if weakest < strongest || strongest == inferred {
		var weak []int
		for _, i := range gaps {
			if c.rules[i].strength() == weakest {
				weak = append(weak, i)
			}
		}
		return yielding{weaken: weak}
	}
	least, all := c.weakest(strongest)
	switch {
	case all == nil && strongest >= explicit:
		return yielding{fault: c.finding(p, finding.Error, gaps[0], "these objects wait for each other: ",
			"remove one of these references, or move one of the objects to another component")}
	case all == nil:
		return yielding{weaken: gaps, warning: c.finding(p, finding.Warning, gaps[0], "these objects wait for each other, and so stand in one wave: ",
			"check that they can start together")}
	case least > inferred:
		return yielding{drop: all, warning: c.finding(p, finding.Warning, all[0], "these objects wait for each other, and the weakest demand is dropped: ",
			"remove one of these references")}
	}
	return yielding{drop: all}
}

func (c cycle) finding(p *Plan, severity finding.Severity, through int, message, remedy string) *finding.Finding {
	text, first := c.spell(p, through)
	n := p.Graph.Nodes[first]
	return &finding.Finding{Severity: severity, Rule: "cycle", File: n.File, Line: n.Line, Object: n.Key.String(), Message: message + text, Remedy: remedy}
}

// spell writes out a cycle through a constraint: "A -> B (mounts) -> A", from its
// smallest node.
func (c cycle) spell(p *Plan, through int) (string, int) {
	start := c.rules[through]
	// The way back, breadth first.
	via := map[int]int{start.to: -1}
	for queue := []int{start.to}; len(queue) > 0; queue = queue[1:] {
		for i, r := range c.rules {
			if r.from != queue[0] || c.comp[r.to] != c.id {
				continue
			}
			if _, seen := via[r.to]; !seen {
				via[r.to] = i
				queue = append(queue, r.to)
			}
		}
	}
	path := []constraint{start}
	var back []constraint
	for at := start.from; via[at] >= 0; at = c.rules[via[at]].from {
		back = append(back, c.rules[via[at]])
	}
	slices.Reverse(back)
	path = append(path, back...)
	least := 0
	for i, r := range path {
		if r.from < path[least].from {
			least = i
		}
	}
	path = append(slices.Clone(path[least:]), path[:least]...)
	nodes := p.Graph.Nodes
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

// components returns for each node the number of its strongly connected
// component (Tarjan's algorithm, with a stack of its own: graphs of
// thousands of objects in a chain exist).
func components(n int, rules []constraint) []int {
	next := make([][]int, n)
	for _, c := range rules {
		next[c.from] = append(next[c.from], c.to)
	}
	const unseen = 0
	index, low, comp := make([]int, n), make([]int, n), make([]int, n)
	onStack := make([]bool, n)
	var stack []int
	counter, found := 0, 0
	type frame struct{ node, child int }
	for root := range n {
		if index[root] != unseen {
			continue
		}
		counter++
		index[root], low[root] = counter, counter
		stack, onStack[root] = append(stack, root), true
		for work := []frame{{root, 0}}; len(work) > 0; {
			f := &work[len(work)-1]
			if f.child < len(next[f.node]) {
				child := next[f.node][f.child]
				f.child++
				if index[child] == unseen {
					counter++
					index[child], low[child] = counter, counter
					stack, onStack[child] = append(stack, child), true
					work = append(work, frame{child, 0})
				} else if onStack[child] {
					low[f.node] = min(low[f.node], index[child])
				}
				continue
			}
			node := f.node
			work = work[:len(work)-1]
			if len(work) > 0 {
				parent := work[len(work)-1].node
				low[parent] = min(low[parent], low[node])
			}
			if low[node] == index[node] {
				for {
					top := stack[len(stack)-1]
					stack, onStack[top] = stack[:len(stack)-1], false
					comp[top] = found
					if top == node {
						break
					}
				}
				found++
			}
		}
	}
	return comp
}

// unitsOf groups nodes by strongly connected component. Components are numbered
// so that what one needs has a lower number.
func unitsOf(nodes []int, rules []constraint, comp []int) []unit {
	members := map[int][]int{}
	for _, i := range nodes {
		members[comp[i]] = append(members[comp[i]], i)
	}
	units := make([]unit, 0, len(members))
	index := map[int]int{} // by component
	for _, id := range slices.Sorted(maps.Keys(members)) {
		index[id] = len(units)
		units = append(units, unit{nodes: members[id]})
	}
	for _, c := range rules {
		from, to := index[comp[c.from]], index[comp[c.to]]
		if from != to {
			units[from].needs = append(units[from].needs, edge{c, to})
			units[to].users = append(units[to].users, edge{c, from})
			units[to].gated = units[to].gated || c.gap > 0
		}
	}
	return units
}
