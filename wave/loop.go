package wave

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/graph/facts"
	"github.com/ladder-cmp/ladder/internal/digraph"
	"github.com/ladder-cmp/ladder/internal/finding"
)

// strength ranks constraints by which yields first in a cycle: waits of the order in which Helm
// runs hooks, since what shares a wave can try again, dependencies that no manifest shows,
// inferred ones, those that Kubernetes retries, those that a user wrote, and never those that
// the API server enforces.
type strength int

const (
	byHelm   strength = iota // a wait for no other reason than Helm's order of hooks
	possible                 // nothing points to it, or a word
	guessed                  // no manifest shows it
	inferred
	soft
	explicit
	hard
)

func (c constraint) strength() strength {
	switch {
	case c.ref.Sign == graph.HelmOrder && c.gap > 0:
		return byHelm
	case c.companion && c.ref.Sign <= graph.Word, c.ref.Sign == graph.HelmOrder:
		return possible
	case c.companion:
		return guessed
	case c.ref.Inferred():
		return inferred
	case c.ref.Explicit():
		return explicit
	case c.ref.IsHard() && c.ref.IsCertain():
		return hard
	}
	return soft
}

// loop is a cycle that cannot share a wave, since some of its constraints demand a
// gap.
type loop struct {
	rules []constraint // all constraints
	// within are the indices of all constraints in the cycle.
	within []int
	// gaps are the indices of those that demand a gap.
	gaps []int
}

// loopsOf finds the loops, given the component number of each node.
func loopsOf(rules []constraint, comp []int) map[int]*loop {
	loops := map[int]*loop{}
	inside := func(c constraint) bool { return !c.dropped && comp[c.dependent] == comp[c.dependency] }
	for i, c := range rules {
		if !inside(c) || c.gap == 0 {
			continue
		}
		id := comp[c.dependent]
		if loops[id] == nil {
			loops[id] = &loop{rules: rules}
		}
		loops[id].gaps = append(loops[id].gaps, i)
	}
	if len(loops) == 0 {
		return nil
	}
	for i, c := range rules {
		if l := loops[comp[c.dependent]]; l != nil && inside(c) {
			l.within = append(l.within, i)
		}
	}
	return loops
}

// weakest returns the weakest constraints of the loop, if they are weaker than the
// given strength.
func (l loop) weakest(limit strength) (least strength, all []int) {
	least = limit
	for _, i := range l.within {
		if s := l.rules[i].strength(); s < least {
			least, all = s, []int{i}
		} else if s == least && s < limit {
			all = append(all, i)
		}
	}
	return least, all
}

// surplus returns those of some constraints without a gap that cannot hold: with them, a
// cycle would demand a gap. They are tried one after the other, in order.
func (l loop) surplus(weak []int) (drop []int) {
	next := map[int][]constraint{} // by dependent
	isWeak := map[int]bool{}
	for _, i := range weak {
		isWeak[i] = true
	}
	for _, i := range l.within {
		if c := l.rules[i]; !isWeak[i] {
			next[c.dependent] = append(next[c.dependent], c)
		}
	}
	for _, i := range weak {
		c := l.rules[i]
		if reachesOverGap(next, c.dependency, c.dependent) {
			drop = append(drop, i)
		} else {
			next[c.dependent] = append(next[c.dependent], c)
		}
	}
	if len(drop) == 0 { // the others form a cycle by themselves
		return weak
	}
	return drop
}

// reachesOverGap reports whether one node needs another over constraints of which at least
// one demands a gap.
func reachesOverGap(next map[int][]constraint, from, to int) bool {
	type place struct {
		node int
		gap  bool
	}
	seen := map[place]bool{{from, false}: true}
	for work := []place{{from, false}}; len(work) > 0; {
		at := work[len(work)-1]
		work = work[:len(work)-1]
		if at.gap && at.node == to {
			return true
		}
		for _, c := range next[at.node] {
			then := place{c.dependency, at.gap || c.gap > 0}
			if !seen[then] {
				seen[then] = true
				work = append(work, then)
			}
		}
	}
	return false
}

// resolution describes how a cycle is resolved: the constraints to drop, the gaps to
// give up, and what to tell the user.
type resolution struct {
	drop, weaken   []int
	warning, fault *finding.Finding
}

// resolve returns how to weaken a cycle that cannot share a wave, or a finding if none
// of its constraints may yield. Objects in a cycle of soft demands share a wave, where
// all of them become healthy eventually. A stronger demand for a gap is kept, and
// the weaker ones around it are dropped, unless the sync would then hang.
func (l loop) resolve(g *graph.Graph) resolution {
	if _, all := l.weakest(inferred); all != nil {
		return resolution{drop: l.surplus(all)}
	}
	weakest, strongest := hard, byHelm
	for _, i := range l.gaps {
		weakest = min(weakest, l.rules[i].strength())
		strongest = max(strongest, l.rules[i].strength())
	}
	if weakest < strongest || strongest == inferred {
		var y resolution
		for _, i := range l.gaps {
			if l.rules[i].strength() != weakest {
				continue
			}
			if y.weaken = append(y.weaken, i); l.rules[i].reason == WrongData && y.warning == nil {
				user, migration := &g.Nodes[l.rules[i].dependent], g.Nodes[l.rules[i].dependency].Key
				y.warning = l.finding(g, finding.Warning, i, "it may start before "+migration.String()+", since these objects refer to each other: ",
					"annotate it with "+facts.After+": "+migration.Kind+"/"+migration.Name+" if it must come later")
				if slices.ContainsFunc(l.within, func(in int) bool {
					return l.rules[in].dependent == l.rules[i].dependency && blocks(g, l.rules[in].ref)
				}) { // a wait that a user demands would hang
					y.warning.Remedy = "remove one of these references"
				}
				y.warning.File, y.warning.Line, y.warning.Object = user.File, user.Line, user.Key.String()
			}
		}
		return y
	}
	least, all := l.weakest(strongest)
	if strongest == explicit && least == soft {
		all = slices.DeleteFunc(all, func(i int) bool { return blocks(g, l.rules[i].ref) })
	}
	switch {
	case len(all) == 0 && strongest >= explicit:
		return resolution{fault: l.finding(g, finding.Error, l.gaps[0], "these objects wait for each other: ",
			"remove one of these references, or move one of the objects to another component")}
	case len(all) == 0:
		return resolution{weaken: l.gaps, warning: l.finding(g, finding.Warning, l.gaps[0],
			"these objects wait for each other, so they share a wave: ",
			"check that they can start together")}
	case least > inferred:
		return resolution{drop: all, warning: l.finding(g, finding.Warning, all[0],
			"these objects wait for each other, so Ladder ignores the weakest reference: ",
			"remove one of these references")}
	}
	return resolution{drop: all}
}

// blocks reports whether a sync that waits for the object of a reference certainly waits
// forever unless the target is applied no later.
func blocks(g *graph.Graph, r *graph.Reference) bool {
	return r.IsCertain() && isNeeded(g, r) && !isPassive(&g.Nodes[r.From])
}

func (l loop) finding(g *graph.Graph, severity finding.Severity, through int, message, remedy string) *finding.Finding {
	path := l.path(through)
	var members []string
	for _, c := range path {
		members = append(members, g.Nodes[c.dependent].Key.String())
	}
	n, text := g.Nodes[path[0].dependent], pathText(g, path)
	return &finding.Finding{Severity: severity, Rule: "cycle", File: n.File, Line: n.Line, Object: n.Key.String(),
		About: strings.Join(members, ", "), Message: message + text, Remedy: remedy}
}

// path returns the cycle through a constraint, starting at its smallest node.
func (l loop) path(through int) []constraint {
	start := l.rules[through]
	out := map[int][]constraint{} // by dependent
	for _, i := range l.within {
		out[l.rules[i].dependent] = append(out[l.rules[i].dependent], l.rules[i])
	}
	back, _ := digraph.Path(start.dependency, func(node int) bool { return node == start.dependent },
		func(node int) []constraint { return out[node] },
		func(_ int, c constraint) int { return c.dependency })
	path := append([]constraint{start}, back...)
	least := 0
	for i, r := range path {
		if r.dependent < path[least].dependent {
			least = i
		}
	}
	return append(slices.Clone(path[least:]), path[:least]...)
}

// pathText returns a cycle as text: "A mounts B, which uses A".
func pathText(g *graph.Graph, path []constraint) string {
	nodes := g.Nodes
	var b strings.Builder
	b.WriteString(nodes[path[0].dependent].Key.String())
	for _, r := range path {
		fmt.Fprintf(&b, " %s %s", r.ref.Why, nodes[r.dependency].Key)
		if r.ref.Because != "" {
			fmt.Fprintf(&b, " (%s)", r.ref.Because)
		}
		if r.dependency != path[0].dependent {
			b.WriteString(", which")
		}
	}
	return b.String()
}
