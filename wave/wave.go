// Package wave decides when each object of a component is applied.
//
// Argo CD applies an Application wave by wave and waits for each wave to be
// healthy before the next. Two things say how early an object can come: the
// rung it stands on (what such objects are for) and the objects that it refers
// to (what it needs). A rung is a floor; references push an object higher.
// Where they disagree the reference wins, because a missing definition or
// Secret stops a sync, and a clumsy order only slows it.
//
// Objects without health of their own (accounts, configuration, rights,
// Services) cost nothing to apply early. They move down to the first object
// that needs them, since within one wave Argo CD applies them before it.
// Objects whose health may never come, such as an Ingress on a cluster without
// a load balancer, stand in the last wave, which nobody waits for.
//
// The result depends on the set of objects only: not on the order in which
// they come, nor on the cluster. Argo CD asks again in the middle of a sync,
// and another answer would tear it apart.
package wave

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/ladder-cmp/ladder/finding"
	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// Placement is the place of an object in the order, and why it is there.
type Placement struct {
	// Computed is false for objects outside of the Sync phase: hooks of other
	// phases keep their weights, and what Argo CD never applies has no wave.
	Computed bool
	// Wave is the sync wave, or for hooks of other phases the weight that
	// Argo CD reads off them.
	Wave int
	// Rung is what the object is for.
	Rung knowledge.Rung
	// Because is what decided the wave.
	Because Reason
	// Author is true when the wave follows an order that its author wrote, and
	// Kept when it is the very wave that is there, so that nothing is written.
	Author, Kept bool
}

// Cause is the kind of thing that decided a wave.
type Cause string

const (
	// ByRung: the floor of the rung.
	ByRung Cause = "rung"
	// ByReference: an object it refers to.
	ByReference Cause = "reference"
	// ByConsumer: an object that refers to it and is the first to need it.
	ByConsumer Cause = "consumer"
	// ByCompany: objects that refer to each other stand together.
	ByCompany Cause = "company"
	// ByController: the controllers of the component may look for it.
	ByController Cause = "controller"
	// ByDoubt: its health may never come, so nothing may wait for it.
	ByDoubt Cause = "doubt"
	// ByPhase: it is a hook of another phase, or never applied.
	ByPhase Cause = "phase"
)

// Reason is what decided a wave. Reference is set for ByReference, where it
// starts at the object, and for ByConsumer, where it ends there. Other is the
// other object, if there is one.
type Reason struct {
	Cause     Cause
	Reference graph.Reference
	Other     int
}

// Plan is a component in order.
type Plan struct {
	Graph *graph.Graph
	// Places has an entry for each node of the graph.
	Places []Placement
	// Order lists the nodes in the order in which Argo CD applies them, without
	// those that another Application applies.
	Order []int
	// Findings are faults of the input that leave an order possible.
	Findings []finding.Finding

	opt Options
	// yielded are references that do not hold, with what became of them.
	yielded map[graph.Reference]string
}

// Waves is the number of waves of the Sync phase.
func (p *Plan) Waves() int {
	seen := map[int]bool{}
	for i, place := range p.Places {
		if place.Computed && !p.Graph.Nodes[i].Elsewhere {
			seen[place.Wave] = true
		}
	}
	return len(seen)
}

// AuthorPolicy says what becomes of sync waves that are already there.
type AuthorPolicy string

const (
	// Refine keeps the author's order and orders within it. The default.
	Refine AuthorPolicy = "refine"
	// Keep leaves every wave that an author wrote, and computes the others.
	Keep AuthorPolicy = "keep"
	// Override computes every wave.
	Override AuthorPolicy = "override"
)

// Style says how many waves there are.
type Style string

const (
	// Rungs shows what objects are for in their waves. The default.
	Rungs Style = "rungs"
	// Compact makes the fewest waves that keep every gate.
	Compact Style = "compact"
	// Off writes no waves; what is there is only checked.
	Off Style = "off"
)

// Jobs says what becomes of plain Jobs that configure or validate what runs.
type Jobs string

const (
	// AsTheyAre leaves them, and reports that a change of them fails. The
	// default.
	AsTheyAre Jobs = "keep"
	// AsHooks makes them Sync hooks that are deleted before they run again.
	AsHooks Jobs = "hook"
)

// Options say how to order. The zero value means Refine, Rungs and AsTheyAre.
type Options struct {
	Author AuthorPolicy
	Waves  Style
	Jobs   Jobs
}

// Assign computes the wave of every object. The error joins a finding for each
// wave that cannot be read and each cycle that cannot be broken.
func Assign(g *graph.Graph, base *knowledge.Base, opt Options) (*Plan, error) {
	if opt.Waves == Off { // nothing is written
		opt.Author, opt.Jobs = Keep, AsTheyAre
	}
	if err := checkAnnotations(g); err != nil {
		return nil, err
	}
	p := &Plan{Graph: g, Places: make([]Placement, len(g.Nodes)), Findings: slices.Clone(g.Findings), opt: opt, yielded: map[graph.Reference]string{}}
	l := &ladder{plan: p, base: base, opt: opt}
	l.takePlaces()
	l.constrain()
	l.spare()
	if err := l.contract(); err != nil {
		return nil, err
	}
	l.climb()
	l.putLast()
	l.pullDown()
	l.finish()
	if err := l.verify(); err != nil {
		return nil, err
	}
	p.follow(l)
	p.Order = slices.DeleteFunc(applyOrder(p, base), func(i int) bool { return g.Nodes[i].Elsewhere })
	p.Findings = append(p.Findings, p.Check(base)...)
	p.reportJobs()
	finding.Sort(p.Findings)
	return p, nil
}

// farthest is how far from 0 an author's wave may be, so that it can be
// multiplied and compared: Argo CD compares waves by subtracting them.
const farthest = 1_000_000_000

// checkAnnotations reports waves that Argo CD would silently read as 0.
func checkAnnotations(g *graph.Graph) error {
	var faults []finding.Finding
	for _, n := range g.Nodes {
		if text, ok := n.Annotation(object.SyncWave); ok {
			if wave, err := strconv.Atoi(text); err == nil && (wave > farthest || wave < -farthest) {
				faults = append(faults, finding.Finding{Severity: finding.Error, Rule: "bad-wave", File: n.File, Line: n.Line, Object: n.Key.String(),
					Field:   "metadata.annotations[" + object.SyncWave + "]",
					Message: strings.Trim(n.ShownNumber(text), `"`) + " is too far from 0 to order anything around it",
					Remedy:  fmt.Sprintf("write a number between -%d and %d", farthest, farthest)})
			} else if err != nil {
				faults = append(faults, finding.Finding{Severity: finding.Error, Rule: "bad-wave", File: n.File, Line: n.Line, Object: n.Key.String(),
					Field:   "metadata.annotations[" + object.SyncWave + "]",
					Message: n.ShownNumber(text) + " is not a whole number, so Argo CD would take it for no wave at all",
					Remedy:  "write a number such as \"5\", or drop the annotation"})
			}
		}
	}
	finding.Sort(faults)
	return finding.Err(faults)
}

// takePlaces puts every object on its rung.
func (l *ladder) takePlaces() {
	for i, n := range l.plan.Graph.Nodes {
		place := &l.plan.Places[i]
		name := n.Kind.Rung
		if n.Role != "" {
			name = n.Role
		}
		place.Rung, _ = l.base.Rung(name)
		place.Computed = n.InSync()
		place.Wave, _ = n.Wave()
		place.Because.Cause = ByPhase
		if place.Computed {
			place.Wave = place.Rung.Wave
			place.Because.Cause = ByRung
		}
	}
}

// authorFactor spreads the waves that an author wrote far enough apart for the
// whole ladder to fit between two of them: 100, and more only where gates and
// smokes make the ladder longer.
func (p *Plan) authorFactor() int {
	lowest, highest := math.MaxInt, math.MinInt
	for _, place := range p.Places {
		if place.Computed {
			lowest, highest = min(lowest, place.Wave), max(highest, place.Wave)
		}
	}
	factor := 100
	for factor <= highest-lowest {
		factor *= 10
	}
	return factor
}

// refine brings the computed order under one that is already there. Whoever
// wrote a wave took objects without one to be in wave 0, so that order is the
// major one, and ours orders within it. Where ours would split none of the
// author's waves, the numbers stay as they are; this makes our own output,
// read again, come out unchanged.
func (p *Plan) refine() {
	computed := map[int]int{} // author's wave: the one computed wave in it
	written, split := false, false
	for i, n := range p.Graph.Nodes {
		if !p.Places[i].Computed {
			continue
		}
		author, set := n.Wave()
		written = written || set
		if first, seen := computed[author]; seen && first != p.Places[i].Wave {
			split = true
		}
		computed[author] = p.Places[i].Wave
	}
	if !written {
		return
	}
	factor := p.authorFactor()
	for i, n := range p.Graph.Nodes {
		place := &p.Places[i]
		if !place.Computed {
			continue
		}
		author, _ := n.Wave()
		place.Author = true
		if split {
			place.Wave += author * factor
		} else {
			place.Wave = author
		}
	}
}

// follow brings the computed order together with the author's.
func (p *Plan) follow(l *ladder) {
	switch l.opt.Author {
	case Override:
	case Keep:
		p.keep(l)
	default:
		p.refine()
	}
}

// keep leaves the waves that are there. Whoever wrote them took the objects
// without one to be in wave 0, so that is where these stay, unless they need
// something that comes later, or nothing may wait for them. Where there are no
// waves, ours stand.
func (p *Plan) keep(l *ladder) {
	written := false
	for i, n := range p.Graph.Nodes {
		_, set := n.Wave()
		written = written || set && p.Places[i].Computed
	}
	if !written && p.opt.Waves != Off {
		return
	}
	for _, u := range l.units {
		least := math.MinInt
		for _, c := range u.needs {
			least = max(least, p.Places[c.to].Wave+c.gap)
		}
		for _, i := range u.nodes {
			place := &p.Places[i]
			author, set := p.Graph.Nodes[i].Wave()
			place.Wave, place.Author = author, true
			place.Kept = set || p.opt.Waves == Off
			if !place.Kept {
				place.Wave = max(author, least)
			}
		}
	}
	for _, u := range l.units {
		if users := l.binders(u); l.withConsumer(u) && len(users) > 0 {
			first := math.MaxInt
			for _, c := range users {
				first = min(first, p.Places[c.from].Wave)
			}
			p.raise(u, first)
		}
	}
	last := math.MinInt
	for _, place := range p.Places {
		if place.Computed {
			last = max(last, place.Wave)
		}
	}
	for _, u := range l.units {
		if u.last || l.isSmoke(u) {
			p.raise(u, last)
		}
	}
}

// raise puts a unit into a wave, unless that would be down, or its author wrote
// another one.
func (p *Plan) raise(u *unit, wave int) {
	for _, i := range u.nodes {
		if place := &p.Places[i]; !place.Kept {
			place.Wave = max(place.Wave, wave)
		}
	}
}

// applyOrder sorts the nodes as Argo CD sorts its tasks: by phase, wave, kind
// and name; then it pulls namespaces and definitions before their first user
// (gitops-engine pkg/sync/sync_tasks.go). Where Argo CD leaves the order open,
// the identity decides. What is never applied comes last.
func applyOrder(p *Plan, base *knowledge.Base) []int {
	order := make([]int, len(p.Graph.Nodes))
	for i := range order {
		order[i] = i
	}
	phase := func(i int) int {
		if ps := p.Graph.Nodes[i].Phases(); len(ps) > 0 {
			return ps[0].Order()
		}
		return object.PostDelete.Order() + 1
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := p.Graph.Nodes[a].Key, p.Graph.Nodes[b].Key
		return cmp.Or(cmp.Compare(phase(a), phase(b)), cmp.Compare(p.Places[a].Wave, p.Places[b].Wave),
			cmp.Compare(base.KindOrder(x.Kind), base.KindOrder(y.Kind)), cmp.Compare(x.Name, y.Name),
			cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Group, y.Group), cmp.Compare(x.Namespace, y.Namespace))
	})
	nodes := p.Graph.Nodes
	order = pullForward(order,
		func(i int) string {
			if nodes[i].Key.Kind == "Namespace" && nodes[i].Key.Group == "" {
				return nodes[i].Key.Name
			}
			return ""
		},
		func(i int) string { return nodes[i].Key.Namespace })
	return pullForward(order,
		func(i int) string {
			// Argo CD knows definitions of Kubernetes' own kind only.
			for _, d := range nodes[i].Kind.Defines {
				if base.Builtin(nodes[i].Key.Group) {
					return text(d.Group, nodes[i]) + "/" + text(d.Kind, nodes[i])
				}
			}
			return ""
		},
		func(i int) string { return nodes[i].Key.Group + "/" + nodes[i].Key.Kind })
}

func text(path knowledge.Path, n graph.Node) string {
	for _, f := range path.Find(n.Root()) {
		return f.Value.Text()
	}
	return ""
}

// pullForward moves each object that provides something in front of the first
// one that uses it.
func pullForward(order []int, provides, uses func(int) string) []int {
	firstUse := map[string]int{} // position in order
	for at, i := range order {
		key := provides(i)
		if key == "" {
			if use := uses(i); use != "" {
				if _, seen := firstUse[use]; !seen {
					firstUse[use] = at
				}
			}
			continue
		}
		to, used := firstUse[key]
		if !used {
			continue
		}
		copy(order[to+1:at+1], order[to:at])
		order[to] = i
		for k, pos := range firstUse {
			if pos >= to {
				firstUse[k] = pos + 1
			}
		}
	}
	return order
}
