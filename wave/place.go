package wave

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/ladder-cmp/ladder/finding"
	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/knowledge"
)

// arrangement says in which order the units of a set of objects come: those on
// level 0 first. A level ends where a customer needs something healthy, so there
// are no more levels than that takes.
type arrangement struct {
	units  []unit
	traits []trait
	// awaited are the units that must be healthy before a customer comes: those
	// with a customer, and what these need.
	awaited []bool
	levels  []int
	// waves are the numbers of the levels.
	waves []int
	why   []Reason
}

// trait is what the place of a unit depends on besides its constraints.
type trait struct {
	// passive units have no health: nothing is awaited once they are applied.
	passive bool
	// builtin units hold objects of Kubernetes' own only; group is that of their
	// first object.
	builtin bool
	group   string
	// defines means that it defines kinds for the API server itself, which waits for
	// nothing: programs that look for the kinds when they start find them.
	defines bool
	// runs means that Pods run: their programs may need what no manifest shows.
	runs bool
	// starts means that a program starts with it, such as an operator that it installs.
	starts bool
	// early units hold settings that whatever runs may use.
	early bool
	// smoke units check all others.
	smoke bool
	// gates means that a person said that its rung is awaited.
	gates bool
	// admits means that it changes what the API server accepts.
	admits bool
	// placed means that a person put it on its rung.
	placed bool
	// consumed units stand with their first user exactly, unless all are idle.
	consumed bool
	// doubtful is the node whose health may never come, or -1.
	doubtful int
	// rung is the wave of the highest rung in it, and class that of the highest
	// rung among it and what it needs.
	rung, class int
}

// arrange puts the units of some nodes on levels. With the fewest levels, the
// order of the rungs does not count.
func arrange(p *Plan, nodes []int, rules []constraint, base *knowledge.Base, fewest bool) (arrangement, error) {
	units, err := condense(p, nodes, rules)
	if err != nil {
		return arrangement{}, err
	}
	a := arrangement{units: units, traits: traitsOf(p, units, base)}
	if fewest {
		for u := range a.traits {
			a.traits[u].gates = false
		}
	}
	a.awaited = a.awaitedUnits()
	a.levels = dense(a.doubtLast(p, a.latest(p.Graph, a.lowest(fewest))))
	a.waves = a.numbers(fewest)
	a.why = a.reasons(p.Graph)
	return a, nil
}

func traitsOf(p *Plan, units []unit, base *knowledge.Base) []trait {
	doubts := doubtsOf(p.Graph, base)
	traits := make([]trait, len(units))
	for u := range units {
		t := trait{passive: true, builtin: true, group: p.Graph.Nodes[units[u].nodes[0]].ID.Group, defines: true, early: true, doubtful: -1}
		for _, i := range units[u].nodes {
			n := &p.Graph.Nodes[i]
			t.passive = t.passive && isPassive(n)
			t.defines = t.defines && isDefinition(n, base)
			t.builtin = t.builtin && base.Builtin(n.ID.Group)
			t.runs = t.runs || !n.Kind.Pod.IsZero()
			t.starts = t.starts || !n.Kind.Pod.IsZero() || n.Kind.Operator.Installs()
			t.early = t.early && n.Kind.Place == knowledge.First
			t.smoke = t.smoke || n.Role == knowledge.Smokes
			t.admits = t.admits || !n.Kind.Admits.IsZero()
			t.placed = t.placed || n.Role != ""
			t.consumed = t.consumed || n.Kind.Place == knowledge.WithConsumer
			t.rung = max(t.rung, p.Places[i].Rung.Wave)
			t.gates = t.gates || p.Places[i].Rung.Gates && n.HasHealth
			if t.doubtful < 0 && (n.Uncertain() != "" || doubts[i].why != "" && !doubts[i].lacking && !doubts[i].pods) {
				t.doubtful = i
			}
		}
		t.class = t.rung
		if t.passive {
			t.class = math.MinInt
		}
		for _, e := range units[u].needs {
			t.class = max(t.class, traits[e.unit].class)
		}
		traits[u] = t
	}
	return traits
}

// isPassive reports whether nothing is waited for once an object of the kind is
// applied. A Service stays passive when it has a load balancer to wait for.
// A component of its own counts as awaited, since most have a health check for it.
func isPassive(n *graph.Node) bool {
	return (!n.Kind.Waited() || n.Kind.Place == knowledge.WithConsumer) && n.Kind.Deploys.IsZero()
}

// isDefinition reports whether an object is a CustomResourceDefinition.
func isDefinition(n *graph.Node, base *knowledge.Base) bool {
	return n.Kind.Defines != nil && base.Builtin(n.ID.Group)
}

// gatesLater reports whether something comes only when the unit is healthy: a
// customer, or what stands on a higher rung than one that gates.
func (a *arrangement) gatesLater(u int) bool { return a.traits[u].gates || a.units[u].gated }

func (a *arrangement) awaitedUnits() []bool {
	awaited := make([]bool, len(a.units))
	for u := len(a.units) - 1; u >= 0; u-- {
		awaited[u] = a.gatesLater(u) || slices.ContainsFunc(a.units[u].users, func(e edge) bool { return awaited[e.unit] })
	}
	return awaited
}

// checksAll reports whether a unit comes after all others, because it checks them.
func (a *arrangement) checksAll(u int) bool { return a.traits[u].smoke && len(a.units[u].users) == 0 }

// lowest gives each unit the lowest level that its needs allow. What is awaited
// keeps the order of the classes: nothing of a higher rung comes a level before
// something of a lower one, unless the fewest levels are asked for.
func (a *arrangement) lowest(fewest bool) []int {
	order := make([]int, len(a.units))
	for u := range order {
		order[u] = u
	}
	class := func(u int) int {
		if fewest {
			return 0
		}
		return a.traits[u].class
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(class(x), class(y)) })
	levels := make([]int, len(a.units))
	reached, below := 0, 0 // by awaited units: so far, and of lower classes than the one we are at
	gated, behind := 0, 0  // the level behind what gates by its rung, likewise
	at := math.MinInt
	for _, u := range order {
		if c := class(u); c > at {
			at, below, behind = c, reached, gated
		}
		levels[u] = a.after(u, levels)
		if !a.traits[u].passive {
			levels[u] = max(levels[u], behind)
		}
		if a.gatesLater(u) && !a.checksAll(u) {
			levels[u] = max(levels[u], below)
			reached = max(reached, levels[u])
		}
		if a.traits[u].gates {
			gated = max(gated, levels[u]+1)
		}
	}
	return levels
}

// after is the lowest level that the levels of what a unit needs allow.
func (a *arrangement) after(u int, levels []int) int {
	level := 0
	for _, e := range a.units[u].needs {
		level = max(level, levels[e.unit]+e.gap)
	}
	return level
}

// before is the highest level that the levels of those users allow that count;
// top if none does.
func (a *arrangement) before(u int, levels []int, top int, counts func(user int) bool) (level int, by *edge) {
	level = top
	for i := range a.units[u].users {
		if e := &a.units[u].users[i]; counts(e.unit) && (levels[e.unit]-e.gap < level || by == nil && levels[e.unit]-e.gap == level) {
			level, by = levels[e.unit]-e.gap, e
		}
	}
	return level, by
}

// latest moves what nobody waits for to the last level, and what is awaited only
// because something awaited may need it to the level of that. What has no health
// is there when the first program that is awaited starts.
func (a *arrangement) latest(g *graph.Graph, lowest []int) []int {
	levels := slices.Clone(lowest)
	top := 0
	for u := range levels {
		if !a.checksAll(u) {
			top = max(top, levels[u])
		}
	}
	for u := len(levels) - 1; u >= 0; u-- {
		switch {
		case a.checksAll(u), a.gatesLater(u), a.traits[u].defines:
		case a.awaited[u]:
			at, _ := a.before(u, levels, top, func(user int) bool { return a.awaited[user] })
			levels[u] = max(levels[u], at)
		default:
			levels[u] = top
		}
	}
	if slices.ContainsFunc(a.traits, func(t trait) bool { return !t.passive && !t.smoke }) {
		for u := range levels {
			if a.checksAll(u) {
				levels[u] = top + 1
			}
		}
	}
	first, groups, gates := a.firstProgram(levels, top), a.awaitedGroups(levels), a.gateClasses(levels)
	for u := len(levels) - 1; u >= 0; u-- {
		t := a.traits[u]
		if !t.passive || a.checksAll(u) || a.units[u].gated {
			continue
		}
		at, _ := a.before(u, levels, top, func(user int) bool { return !t.consumed || !g.Nodes[a.units[user].nodes[0]].Idle })
		if !t.consumed && t.doubtful < 0 {
			at = min(at, a.wanted(u, gates, groups, first, top))
		}
		levels[u] = max(lowest[u], at)
	}
	for u := range levels {
		needs := a.after(u, levels)
		if a.units[u].isBound() {
			levels[u] = needs
		}
		levels[u] = max(levels[u], needs)
	}
	return levels
}

// firstProgram is the first level on which a program is awaited; top if there is
// none.
func (a *arrangement) firstProgram(levels []int, top int) int {
	first := top
	for u, level := range levels {
		if a.awaited[u] && a.traits[u].starts {
			first = min(first, level)
		}
	}
	return first
}

// awaitedGroups are the API groups of custom resources that are awaited, with the
// first level on which one is.
func (a *arrangement) awaitedGroups(levels []int) map[string]int {
	groups := map[string]int{}
	for u, level := range levels {
		t := a.traits[u]
		if !a.awaited[u] || t.builtin || t.passive {
			continue
		}
		if first, seen := groups[t.group]; !seen || level < first {
			groups[t.group] = level
		}
	}
	return groups
}

// wanted is the level on which a passive unit does the least harm. Programs look
// up settings, Secrets, accounts and Services by names that stand in their code
// and in no manifest, and early such objects cost nothing. What changes the
// admission of others, and what belongs to an operator, comes with the last.
func (a *arrangement) wanted(u int, gates []gateClass, groups map[string]int, first, top int) int {
	t := a.traits[u]
	if t.admits {
		return top
	}
	if t.early {
		return 0
	}
	if !t.builtin {
		// What belongs to something that is awaited may be a part of it.
		if level, awaited := groups[t.group]; awaited {
			return level
		}
		return top
	}
	want := first
	if t.placed {
		want = top
	}
	for _, g := range gates {
		if g.class >= t.rung {
			return min(want, g.level)
		}
	}
	return want
}

// gateClass is the highest class on a level among what has a customer.
type gateClass struct{ level, class int }

// gateClasses are those of the levels that end with a gate, the first before all.
func (a *arrangement) gateClasses(levels []int) []gateClass {
	highest := map[int]int{}
	for u, level := range levels {
		if a.units[u].gated {
			highest[level] = max(highest[level], a.traits[u].class)
		}
	}
	all := make([]gateClass, 0, len(highest))
	for _, level := range slices.Sorted(maps.Keys(highest)) {
		all = append(all, gateClass{level, highest[level]})
	}
	return all
}

// doubtLast moves what may never be healthy behind all that is awaited: to the
// last level, or to one of its own where a hook or a smoke makes Argo CD wait for
// the last. What somebody needs stays with those who do.
func (a *arrangement) doubtLast(p *Plan, levels []int) []int {
	last, hooked := 0, false
	moves := a.movable()
	for u := range levels {
		if !moves[u] {
			last = max(last, levels[u])
		}
	}
	for u := range levels {
		hooked = hooked || levels[u] == last && !moves[u] && slices.ContainsFunc(a.units[u].nodes, func(i int) bool {
			return p.Graph.Nodes[i].IsHook() || p.changesFail(i) && p.opt.Jobs == AsHooks
		})
	}
	if hooked {
		last++
	}
	for u := range levels {
		if moves[u] {
			levels[u] = max(last, a.after(u, levels))
			last = max(last, levels[u]) // what a person put behind another one
		}
	}
	for u := len(levels) - 1; u >= 0; u-- {
		if moves[u] {
			levels[u], _ = a.before(u, levels, last, func(user int) bool { return moves[user] })
		}
	}
	return levels
}

// movable are the units whose health may never come, and that no workload needs;
// and what needs them, such as a route its gateway, comes along.
func (a *arrangement) movable() []bool {
	free := make([]bool, len(a.units)) // nobody waits for it, or would have to
	for u := len(free) - 1; u >= 0; u-- {
		t := a.traits[u]
		free[u] = (t.doubtful >= 0 || !t.runs) && !a.awaited[u] && !a.checksAll(u) &&
			!slices.ContainsFunc(a.units[u].users, func(e edge) bool { return !free[e.unit] && !a.checksAll(e.unit) })
	}
	moves := make([]bool, len(a.units))
	for u := range moves {
		moves[u] = free[u] && (a.traits[u].doubtful >= 0 || slices.ContainsFunc(a.units[u].needs, func(e edge) bool { return moves[e.unit] }))
	}
	return moves
}

// dense leaves out the levels on which nothing stands.
func dense(levels []int) []int {
	taken := slices.Compact(slices.Sorted(slices.Values(levels)))
	out := make([]int, len(levels))
	for u, level := range levels {
		out[u], _ = slices.BinarySearch(taken, level)
	}
	return out
}

// reasons says what decided the level of each unit.
func (a *arrangement) reasons(g *graph.Graph) []Reason {
	why := make([]Reason, len(a.units))
	last := 0
	for _, level := range a.levels {
		last = max(last, level)
	}
	controller := a.firstNode(g)
	for u := range a.units {
		why[u] = Reason{Cause: ByRung}
		if last == 0 || a.checksAll(u) {
			continue
		}
		for _, e := range a.units[u].needs {
			if !e.companion && !goesWithoutSaying(g, e.ref) && a.levels[u] == a.levels[e.unit]+e.gap && (e.gap > 0 || e.ref.Meaning == knowledge.With || a.levels[u] > 0 && a.levels[u] < last) {
				why[u] = Reason{Cause: ByReference, Reference: *e.ref, Other: e.to}
				if e.gap > 0 {
					break
				}
			}
		}
		if why[u].Cause == ByReference && (a.units[u].gated || why[u].Reference.Meaning == knowledge.With) {
			continue
		}
		at, by := a.before(u, a.levels, last, func(int) bool { return true })
		if by != nil && goesWithoutSaying(g, by.ref) {
			by = nil
		}
		switch {
		case a.traits[u].doubtful >= 0 && a.levels[u] == last && !a.awaited[u] && (by == nil || !a.traits[u].consumed):
			why[u] = Reason{Cause: ByDoubt, Other: a.traits[u].doubtful}
		case a.units[u].gated || why[u].Cause == ByReference && a.levels[u] == last:
		case by != nil && at == a.levels[u] && (a.awaited[u] || a.traits[u].passive) && (at < last || a.traits[u].consumed):
			why[u] = Reason{Cause: ByConsumer, Reference: *by.ref, Other: by.from}
			if by.companion && by.ref.From != by.from { // beside its controller
				why[u] = Reason{Cause: ByController, Other: by.from}
			}
		case a.traits[u].passive && a.levels[u] < last && a.traits[u].rung > a.waves[a.levels[u]] && controller >= 0 && why[u].Cause == ByRung:
			why[u] = Reason{Cause: ByController, Other: controller}
		}
	}
	return why
}

// firstNode is the first program that is awaited, or -1.
func (a *arrangement) firstNode(g *graph.Graph) int {
	first, level := -1, math.MaxInt
	for u := range a.units {
		if a.awaited[u] && a.traits[u].starts && a.levels[u] < level {
			first, level = a.units[u].nodes[0], a.levels[u]
		}
	}
	return first
}

// numbers gives each level a wave. In the order of rungs it is that of the highest
// rung on the level among what is awaited, or, on the last level, among all; levels
// are counted from 0 where the fewest waves are asked for.
func (a *arrangement) numbers(fewest bool) []int {
	last := 0
	for _, level := range a.levels {
		last = max(last, level)
	}
	if last == 0 {
		return []int{0}
	}
	highest, passive := make([]int, last+1), make([]int, last+1)
	for u, level := range a.levels {
		t := a.traits[u]
		switch {
		case a.units[u].gated, !t.passive, level == last:
			highest[level] = max(highest[level], t.rung)
		case t.passive:
			passive[level] = max(passive[level], t.rung)
		}
	}
	for level := range highest {
		if highest[level] == 0 {
			highest[level] = passive[level]
		}
	}
	waves := make([]int, last+1)
	for level := range waves {
		if level > 0 {
			waves[level] = waves[level-1] + 1
		}
		if !fewest {
			waves[level] = max(waves[level], highest[level])
		}
	}
	return waves
}

// settle writes what was decided to the plan; wave gives each level its number.
func (a *arrangement) settle(p *Plan, wave func(level int) int) {
	var check *Customer
	for u := range a.units {
		for _, i := range a.units[u].nodes {
			p.Places[i].Wave = wave(a.levels[u])
			p.Places[i].Because = a.because(p, u, i)
			if a.checksAll(u) && check == nil {
				check = &Customer{Node: i, Need: Checks}
			}
		}
		for _, e := range a.units[u].needs {
			if e.gap > 0 {
				p.customers[e.to] = addCustomer(p.customers[e.to], Customer{Node: e.from, Need: e.need, Reference: *e.ref})
			}
		}
	}
	for u := range a.units {
		if check == nil || a.traits[u].passive || a.awaited[u] || a.checksAll(u) || wave(a.levels[u]) >= p.Places[check.Node].Wave {
			continue
		}
		for _, i := range a.units[u].nodes {
			p.customers[i] = append(p.customers[i], *check)
		}
	}
}

// addCustomer adds a customer, unless its last references say the same.
func addCustomer(all []Customer, c Customer) []Customer {
	for i := len(all) - 1; i >= 0 && all[i].Node == c.Node; i-- {
		if all[i].Need == c.Need {
			return all
		}
	}
	return append(all, c)
}

// because is why a node of a unit stands where it stands.
func (a *arrangement) because(p *Plan, u, node int) Reason {
	why, nodes := a.why[u], a.units[u].nodes
	if len(nodes) == 1 {
		return why
	}
	decider := -1
	switch why.Cause {
	case ByReference:
		decider = why.Reference.From
	case ByConsumer:
		decider = why.Reference.To
	case ByRung:
		decider = slices.MaxFunc(nodes, func(x, y int) int { return cmp.Compare(p.Places[x].Rung.Wave, p.Places[y].Rung.Wave) })
	}
	if decider >= 0 && decider != node && slices.Contains(nodes, decider) {
		return Reason{Cause: ByCompany, Other: decider}
	}
	return why
}

// verify compares the levels with every constraint. A violation is a fault of this
// package.
func (a *arrangement) verify(p *Plan) error {
	var faults []finding.Finding
	for u := range a.units {
		for _, e := range a.units[u].needs {
			if a.levels[u] >= a.levels[e.unit]+e.gap {
				continue
			}
			n := p.Graph.Nodes[e.from]
			faults = append(faults, finding.Finding{Severity: finding.Error, Rule: "internal", File: n.File, Line: n.Line, Object: n.Key.String(),
				Message: fmt.Sprintf("Ladder put it into wave %d although it %s %s in wave %d", p.Places[e.from].Wave, e.ref.Why, p.name(e.to), p.Places[e.to].Wave),
				Remedy:  "report this fault of Ladder's with the component"})
		}
	}
	finding.Sort(faults)
	return finding.Err(faults)
}
