package wave

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/finding"
	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/knowledge"
)

// ladder is the work on a plan. Objects that refer to each other in a circle
// must stand in one wave; such a circle, or a single object, is a unit, and
// waves are computed for units.
type ladder struct {
	plan  *Plan
	base  *knowledge.Base
	opt   Options
	rules []constraint
	units []*unit
	of    []*unit // by node; nil outside of the Sync phase
	// stands marks the nodes that stand with another one.
	stands map[int]bool
	// controller is the controller that starts first, once it is known.
	controller *int
}

// constraint demands that wave(from) >= wave(to) + gap.
type constraint struct {
	from, to int // nodes
	gap      int
	ref      *graph.Reference
	dropped  bool // because of a circle
}

// unit is a set of objects that stand in one wave.
type unit struct {
	nodes []int
	needs []constraint // whose from is in the unit and whose to is not
	users []constraint // the other way round
	// passive units cost nothing early: they have no health.
	passive bool
	// floor is the wave of the highest rung in the unit.
	floor int
	// low is the lowest wave that the unit's needs allow.
	low  int
	wave int
	last bool // stands in the last wave, because its health is in doubt
	why  Reason
}

// bound reports whether the unit must stand with another one.
func (u *unit) bound() bool {
	return slices.ContainsFunc(u.needs, func(c constraint) bool { return c.ref.Meaning == knowledge.With })
}

// constrain turns references into constraints.
func (l *ladder) constrain() {
	g := l.plan.Graph
	for i := range g.References {
		r := &g.References[i]
		from, to := &g.Nodes[r.From], &g.Nodes[r.To]
		if !from.InSync() || !to.InSync() || !l.plan.Orders(*r) {
			continue
		}
		c := constraint{from: r.From, to: r.To, ref: r}
		// An object of Kubernetes' own without health is all it will be as soon
		// as it is there.
		if r.Meaning == knowledge.Healthy && (to.HasHealth || !l.base.Builtin(to.Key.Group) || r.Explicit) ||
			r.Hard && !l.appliedBefore(to, from) && r.Meaning != knowledge.With {
			c.gap = 1
		}
		l.rules = append(l.rules, c)
	}
}

// spare drops the waits for what is in doubt of those that are in doubt
// themselves and that nobody waits for: an Ingress does without its certificate
// until that comes. All of them then stand in the last wave.
func (l *ladder) spare() {
	nodes := l.plan.Graph.Nodes
	users := map[int][]int{} // rules by their target
	for r, c := range l.rules {
		users[c.to] = append(users[c.to], r)
	}
	awaited := func(r int) bool { return l.rules[r].gap > 0 || l.rules[r].ref.Meaning == knowledge.With }
	sparing := func(r int) bool {
		c := l.rules[r]
		return c.gap == 0 || !c.ref.Hard && !c.ref.Explicit && nodes[c.from].Uncertain() != "" && !slices.ContainsFunc(users[c.from], awaited)
	}
	for i, n := range nodes {
		if n.Uncertain() == "" || slices.ContainsFunc(users[i], func(r int) bool { return !sparing(r) }) {
			continue
		}
		for _, r := range users[i] {
			if c := &l.rules[r]; c.gap > 0 {
				c.gap = 0
				l.plan.yielded[*c.ref] = "not awaited, since nothing waits for either"
			}
		}
	}
}

// Orders reports whether a reference demands an order of two objects that Argo
// CD applies. In the Sync phase waves keep it; otherwise the phases must.
func (p *Plan) Orders(r graph.Reference) bool {
	from, to := &p.Graph.Nodes[r.From], &p.Graph.Nodes[r.To]
	if len(from.Phases()) == 0 || len(to.Phases()) == 0 || runsLater(from, &r) {
		return false
	}
	return r.Meaning == knowledge.Exists || r.Meaning == knowledge.Healthy || r.Meaning == knowledge.With
}

// runsLater reports whether a reference is about Pods that come some day, and
// not within this sync.
func runsLater(n *graph.Node, r *graph.Reference) bool {
	return (n.Kind.Runs == "later" || n.Idle) && strings.HasPrefix(r.Field, n.Kind.Pod.String())
}

// appliedBefore reports whether Argo CD applies a before b when both are in one
// wave. Objects of one kind are applied at the same time.
func (l *ladder) appliedBefore(a, b *graph.Node) bool {
	x, y := l.base.KindOrder(a.Key.Kind), l.base.KindOrder(b.Key.Kind)
	if x != y {
		return x < y
	}
	return a.Key.Kind != b.Key.Kind && a.Key.Name < b.Key.Name
}

// contract finds the circles among the constraints. Within a circle no
// constraint can demand a gap; gaps yield in the order inferred, soft, and
// when hard ones remain there is no right order.
func (l *ladder) contract() error {
	n := len(l.plan.Graph.Nodes)
	for {
		comp := components(n, l.rules)
		strict := map[int][]int{} // component: indices of the rules with a gap
		for i, c := range l.rules {
			if c.gap > 0 && comp[c.from] == comp[c.to] {
				strict[comp[c.from]] = append(strict[comp[c.from]], i)
			}
		}
		if len(strict) == 0 {
			l.makeUnits(comp)
			return nil
		}
		var faults []finding.Finding
		for _, id := range slices.Sorted(maps.Keys(strict)) {
			if f, failed := l.yield(strict[id], comp, id); failed {
				faults = append(faults, f)
			}
		}
		l.rules = slices.DeleteFunc(l.rules, func(c constraint) bool { return c.dropped })
		if len(faults) > 0 {
			finding.Sort(faults)
			return finding.Err(faults)
		}
	}
}

// strength ranks constraints by what yields first in a circle: what is only
// inferred, what Kubernetes heals by itself, what a person wrote, and never
// what the API server demands.
func (c constraint) strength() strength {
	switch {
	case c.ref.Inferred:
		return inferred
	case c.ref.Explicit:
		return explicit
	case c.ref.Hard:
		return hard
	}
	return soft
}

type strength int

const (
	inferred strength = iota
	soft
	explicit
	hard
)

// yield weakens a circle that cannot stand in one wave, or returns the fault
// that nothing in it is weak. Objects in a circle of soft demands stand in one
// wave, where all of them come up in time. A stronger demand for a gap stands,
// and the weaker ones around it are dropped.
func (l *ladder) yield(gaps []int, comp []int, id int) (finding.Finding, bool) {
	weakest, strongest := hard, inferred
	for _, i := range gaps {
		weakest = min(weakest, l.rules[i].strength())
		strongest = max(strongest, l.rules[i].strength())
	}
	if weakest == strongest && strongest > inferred {
		for i, c := range l.rules {
			if c.strength() < weakest && comp[c.from] == id && comp[c.to] == id {
				weakest = c.strength()
				gaps = []int{i}
			}
		}
		switch {
		case weakest == strongest && strongest >= explicit:
			return l.circleFault(finding.Error, gaps[0], comp, id, "these objects wait for each other: ",
				"remove one of these references, or move one of the objects to another component"), true
		case weakest == strongest:
			l.plan.Findings = append(l.plan.Findings, l.circleFault(finding.Warning, gaps[0], comp, id,
				"these objects wait for each other, and so stand in one wave: ", "check that they can start together"))
			for _, i := range gaps {
				l.weaken(i)
			}
			return finding.Finding{}, false
		case weakest > inferred:
			l.plan.Findings = append(l.plan.Findings, l.circleFault(finding.Warning, gaps[0], comp, id,
				"these objects wait for each other, and the weakest demand is dropped: ", "remove one of these references"))
		}
		for i := range l.rules {
			if c := &l.rules[i]; c.strength() == weakest && comp[c.from] == id && comp[c.to] == id {
				c.dropped = true
				l.plan.yielded[*c.ref] = "dropped because of a circle"
			}
		}
		return finding.Finding{}, false
	}
	for _, i := range gaps {
		if l.rules[i].strength() == weakest {
			l.weaken(i)
		}
	}
	return finding.Finding{}, false
}

// weaken lets the two ends of a constraint stand in one wave.
func (l *ladder) weaken(rule int) {
	l.rules[rule].gap = 0
	l.plan.yielded[*l.rules[rule].ref] = "not awaited because of a circle"
}

func (l *ladder) circleFault(severity finding.Severity, through int, comp []int, id int, message, remedy string) finding.Finding {
	circle, first := l.circle(through, comp, id)
	n := l.plan.Graph.Nodes[first]
	return finding.Finding{Severity: severity, Rule: "cycle", File: n.File, Line: n.Line, Object: n.Key.String(), Message: message + circle, Remedy: remedy}
}

// circle spells out a circle through a constraint: "A -> B (mounts) -> A", from
// its smallest node.
func (l *ladder) circle(through int, comp []int, id int) (string, int) {
	start := l.rules[through]
	// The way back, breadth first.
	via := map[int]int{start.to: -1}
	for queue := []int{start.to}; len(queue) > 0; queue = queue[1:] {
		for i, c := range l.rules {
			if c.from != queue[0] || comp[c.to] != id {
				continue
			}
			if _, seen := via[c.to]; !seen {
				via[c.to] = i
				queue = append(queue, c.to)
			}
		}
	}
	path := []constraint{start}
	var back []constraint
	for at := start.from; via[at] >= 0; at = l.rules[via[at]].from {
		back = append(back, l.rules[via[at]])
	}
	slices.Reverse(back)
	path = append(path, back...)
	least := 0
	for i, c := range path {
		if c.from < path[least].from {
			least = i
		}
	}
	path = append(slices.Clone(path[least:]), path[:least]...)
	nodes := l.plan.Graph.Nodes
	var b strings.Builder
	b.WriteString(nodes[path[0].from].Key.String())
	for _, c := range path {
		fmt.Fprintf(&b, " %s %s", c.ref.Why, nodes[c.to].Key)
		if c.ref.Because != "" {
			fmt.Fprintf(&b, " (%s)", c.ref.Because)
		}
		if c.to != path[0].from {
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

// makeUnits groups the nodes by component. Components are numbered so that what
// a unit needs has a lower number, so the units come out in that order.
func (l *ladder) makeUnits(comp []int) {
	nodes := l.plan.Graph.Nodes
	l.of = make([]*unit, len(nodes))
	l.stands = map[int]bool{}
	for _, c := range l.rules {
		if c.ref.Meaning == knowledge.With {
			l.stands[c.from] = true
		}
	}
	byComp := map[int]*unit{}
	var order []int
	for i, n := range nodes {
		if !n.InSync() {
			continue
		}
		u := byComp[comp[i]]
		if u == nil {
			u = &unit{passive: true, floor: math.MinInt}
			byComp[comp[i]] = u
			order = append(order, comp[i])
		}
		u.nodes = append(u.nodes, i)
		l.of[i] = u
	}
	slices.Sort(order)
	for _, id := range order {
		l.units = append(l.units, byComp[id])
	}
	for _, c := range l.rules {
		if from, to := l.of[c.from], l.of[c.to]; from != to {
			from.needs = append(from.needs, c)
			to.users = append(to.users, c)
		}
	}
	for _, u := range l.units {
		for _, i := range u.nodes {
			if !l.isPassive(i) {
				u.passive = false
			}
			u.floor = max(u.floor, l.floor(i))
		}
	}
}

// isPassive reports whether nothing is waited for once an object of the kind is
// applied, so that it may stand wherever it is needed first. A Service stays
// passive when it has a load balancer to wait for.
func (l *ladder) isPassive(i int) bool {
	n := l.plan.Graph.Nodes[i]
	return (!n.Kind.Waited() || n.Kind.Place == "with-consumer") && n.Role == ""
}

// floor is the wave of an object's rung. What stands with another object, such
// as a webhook configuration with its server, has none of its own, and in the
// fewest waves nothing has.
func (l *ladder) floor(i int) int {
	if l.opt.Waves == Compact {
		return l.bottom()
	}
	if l.stands[i] {
		return l.bottom()
	}
	return l.plan.Places[i].Rung.Wave
}

// bottom is the wave of the lowest rung.
func (l *ladder) bottom() int { return l.base.Ladder()[0].Wave }

// climb gives each unit the lowest wave that its needs and, unless it is
// passive, its rung allow.
func (l *ladder) climb() {
	for _, u := range l.units {
		u.low = l.bottom()
		u.why = Reason{Cause: ByRung}
		if !u.passive {
			u.low = u.floor
		}
		for _, c := range u.needs {
			if at := l.of[c.to].low + c.gap; at > u.low || at == u.low && u.why.Cause == ByRung && c.ref.Meaning == knowledge.With {
				u.low = at
				u.why = Reason{Cause: ByReference, Reference: *c.ref, Other: c.to}
			}
		}
	}
	l.raiseSmokes()
}

// raiseSmokes puts what validates the component behind all of it.
func (l *ladder) raiseSmokes() {
	top := l.bottom()
	for _, u := range l.units {
		if !l.isSmoke(u) {
			top = max(top, u.low)
		}
	}
	for _, u := range l.units {
		if l.isSmoke(u) && u.low <= top && len(u.users) == 0 {
			u.low = top + 1
			u.why = Reason{Cause: ByRung}
		}
	}
}

func (l *ladder) isSmoke(u *unit) bool {
	return slices.ContainsFunc(u.nodes, func(i int) bool { return l.plan.Graph.Nodes[i].Role == knowledge.Smokes })
}

// putLast marks the units whose health may never come, unless somebody needs
// them earlier. What only needs them to exist goes along with them.
func (l *ladder) putLast() {
	for _, u := range slices.Backward(l.units) {
		if !l.inDoubt(u) || l.withConsumer(u) && len(l.binders(u)) > 0 {
			continue
		}
		if along, ok := l.companions(u, map[*unit]bool{}); ok {
			for v := range along {
				v.last = true
				v.why = Reason{Cause: ByDoubt, Other: l.doubtful(u)}
			}
		}
	}
}

// inDoubt reports whether the health of some object of the unit is in doubt.
func (l *ladder) inDoubt(u *unit) bool {
	return slices.ContainsFunc(u.nodes, func(i int) bool {
		n := l.plan.Graph.Nodes[i]
		return n.Uncertain() != ""
	})
}

// doubtful is the node of a unit whose health is in doubt.
func (l *ladder) doubtful(u *unit) int {
	for _, i := range u.nodes {
		if n := l.plan.Graph.Nodes[i]; n.Uncertain() != "" {
			return i
		}
	}
	return u.nodes[0]
}

// binders are the users of a claim whose Pods come within this sync and are not
// themselves in the last wave.
func (l *ladder) binders(u *unit) []constraint {
	var all []constraint
	for _, c := range u.users {
		if !l.of[c.from].last && !l.plan.Graph.Nodes[c.from].Idle {
			all = append(all, c)
		}
	}
	return all
}

// companions collects a unit and everything above it, if all of that can stand
// in one last wave: nothing in it may wait for, or stand with, the rest.
func (l *ladder) companions(u *unit, seen map[*unit]bool) (map[*unit]bool, bool) {
	seen[u] = true
	for _, c := range u.users {
		above := l.of[c.from]
		if seen[above] {
			continue
		}
		if c.gap > 0 || c.ref.Meaning == knowledge.With || l.isSmoke(above) || above.bound() {
			return nil, false
		}
		if _, ok := l.companions(above, seen); !ok {
			return nil, false
		}
	}
	return seen, true
}

// pullDown settles the waves: passive units move down from their rung to the
// first unit that needs them, and what is in doubt goes to the last wave.
func (l *ladder) pullDown() {
	last, alone := l.bottom(), true
	for _, u := range slices.Backward(l.units) {
		if u.last {
			last = max(last, u.low)
			alone = alone && u.passive
			continue
		}
		u.wave = u.low
		if u.passive {
			l.settle(u)
		}
		last, alone = max(last, u.wave), false
	}
	if alone { // nothing but passive units in doubt: then their rungs tell
		for _, u := range l.units {
			last = max(last, u.floor)
		}
	}
	if l.hooksAt(last) {
		last++ // Argo CD waits for the last wave, too, if there is a hook in it
	}
	for _, u := range l.units {
		if u.last {
			u.wave = last
		}
	}
}

// hooksAt reports whether a hook stands in a wave that nothing in doubt is in.
func (l *ladder) hooksAt(wave int) bool {
	return slices.ContainsFunc(l.units, func(u *unit) bool {
		return !u.last && u.wave == wave && slices.ContainsFunc(u.nodes, func(i int) bool {
			return l.plan.Graph.Nodes[i].IsHook() || l.plan.changesFail(i) && l.opt.Jobs == AsHooks
		})
	})
}

// settle places a passive unit between what it needs and who needs it.
func (l *ladder) settle(u *unit) {
	ceiling := u.floor
	if l.withConsumer(u) {
		ceiling = math.MaxInt
	}
	why := u.why
	if ceiling > u.low {
		why = Reason{Cause: ByRung}
	}
	for _, c := range u.users {
		if above := l.of[c.from]; !above.last && above.wave-c.gap < ceiling {
			ceiling = above.wave - c.gap
			why = Reason{Cause: ByConsumer, Reference: *c.ref, Other: c.from}
		}
	}
	if ceiling == math.MaxInt {
		ceiling = u.floor
	}
	if first := l.firstController(); first >= 0 && l.atHand(u) && l.of[first].low < ceiling {
		ceiling = l.of[first].low
		why = Reason{Cause: ByController, Other: first}
	}
	if ceiling >= u.low {
		u.wave, u.why = ceiling, why
	}
}

// firstController is the controller that starts first, or -1.
func (l *ladder) firstController() int {
	if l.controller == nil {
		first := -1
		for i, n := range l.plan.Graph.Nodes {
			if n.Role != knowledge.Controllers || l.of[i] == nil {
				continue
			}
			if first < 0 || l.of[i].low < l.of[first].low || l.of[i].low == l.of[first].low && l.plan.Graph.Nodes[first].Partner && !n.Partner {
				first = i
			}
		}
		l.controller = &first
	}
	return *l.controller
}

// atHand reports whether a passive unit should be there when the controllers
// start. They look up settings, Secrets, accounts and Services by names that
// stand in their code and in no manifest, and early such objects cost nothing.
// What changes the admission of others stays where it is.
func (l *ladder) atHand(u *unit) bool {
	return !slices.ContainsFunc(u.nodes, func(i int) bool {
		n := l.plan.Graph.Nodes[i]
		return !l.base.Builtin(n.ID.Group) || !n.Kind.Admits.IsZero() || n.Kind.Place != "" || n.HasHealth || n.Role != ""
	})
}

func (l *ladder) withConsumer(u *unit) bool {
	return slices.ContainsFunc(u.nodes, func(i int) bool { return l.plan.Graph.Nodes[i].Kind.Place == "with-consumer" })
}

// finish writes the waves of the units to the objects in them.
func (l *ladder) finish() {
	for _, u := range l.units {
		for _, i := range u.nodes {
			place := &l.plan.Places[i]
			place.Wave = u.wave
			place.Because = u.why
			if len(u.nodes) > 1 && (u.why.Cause == ByReference && u.why.Reference.From != i || u.why.Cause == ByConsumer && u.why.Reference.To != i) {
				place.Because = Reason{Cause: ByCompany, Other: l.decider(u, i)}
			}
			if u.why.Cause == ByRung && place.Rung.Wave != u.wave && len(u.nodes) > 1 {
				place.Because = Reason{Cause: ByCompany, Other: l.decider(u, i)}
			}
			if u.why.Cause == ByDoubt && u.why.Other == i {
				place.Because.Other = i
			}
		}
	}
}

// decider is the object of a unit that the unit's wave comes from.
func (l *ladder) decider(u *unit, but int) int {
	switch u.why.Cause {
	case ByReference:
		return u.why.Reference.From
	case ByConsumer:
		return u.why.Reference.To
	}
	for _, i := range u.nodes {
		if i != but && l.plan.Places[i].Rung.Wave == u.wave {
			return i
		}
	}
	return u.nodes[0]
}
