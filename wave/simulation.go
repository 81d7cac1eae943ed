package wave

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// simulation is a sync as Argo CD performs it.
type simulation struct {
	*Plan
	base         *knowledge.Base
	at           []moment
	dependencies [][]*graph.Reference // by node: references without which it is not accepted or does not start
	users        [][]*graph.Reference // by node: those whose target it is
	registrars   map[int][]int        // the webhook configurations of each backend
	final        moment               // the last one of the sync
	endsWithHook bool                 // final contains a hook
	single       bool                 // final is the only one
	late         []latePath           // dependencies on what is applied later
}

// newSimulation schedules the objects of a plan.
func newSimulation(p *Plan, base *knowledge.Base) *simulation {
	at := p.schedule(base)
	dependencies, users := requirements(p.Graph)
	final, endsWithHook := moment{object.PreSync, math.MinInt}, false
	for _, m := range at {
		if m != never && m.compare(final) > 0 {
			final = m
		}
	}
	for i, m := range at {
		endsWithHook = endsWithHook || m == final && p.opt.runsAsHook(&p.Graph.Nodes[i])
	}
	s := &simulation{p, base, at, dependencies, users, registrarsOf(p.Graph), final, endsWithHook, inOneWave(p.Graph, at, final), nil}
	s.late = s.latePaths()
	return s
}

// registrarsOf returns the webhook configurations of each backend, and of each Job that changes
// one.
func registrarsOf(g *graph.Graph) map[int][]int {
	all := map[int][]int{}
	for i := range g.References {
		r := &g.References[i]
		switch {
		case !g.Nodes[r.From].Kind.Admits.IsZero():
			all[r.To] = append(all[r.To], r.From)
		case !g.Nodes[r.To].Kind.Admits.IsZero() && g.Nodes[r.From].Kind.Runs == "once":
			all[r.From] = append(all[r.From], r.To)
		}
	}
	return all
}

// registered reports whether some, and whether all, webhook configurations of a backend are
// registered when Argo CD applies an object.
func (s *simulation) registered(backend, i int) (some, all bool) {
	all = true
	for _, config := range s.registrars[backend] {
		order := s.at[config].compare(s.at[i])
		is := order < 0 || order == 0 && appliedBefore(&s.Graph.Nodes[config], &s.Graph.Nodes[i], s.base)
		some, all = some || is, all && is
	}
	return some, some && all
}

// moment is the phase and wave in which an object is applied.
type moment struct {
	phase object.Phase
	wave  int
}

// never is the moment of objects that a sync does not apply.
var never = moment{object.PostDelete, math.MaxInt}

func (m moment) compare(o moment) int {
	return cmp.Or(cmp.Compare(m.phase.Order(), o.phase.Order()), cmp.Compare(m.wave, o.wave))
}

func (m moment) String() string {
	switch {
	case m == never:
		return "never in a sync"
	case m.phase == object.Sync:
		return fmt.Sprintf("in wave %d", m.wave)
	}
	return fmt.Sprintf("in phase %s, wave %d", m.phase, m.wave)
}

// schedule returns the moment of each object. Argo CD moves namespaces and CRDs to the
// moment of their first user if that is earlier (gitops-engine
// pkg/sync/sync_tasks.go, adjustDeps).
func (p *Plan) schedule(base *knowledge.Base) []moment {
	at := make([]moment, len(p.Graph.Nodes))
	for i, n := range p.Graph.Nodes {
		at[i] = p.own(i)
		if n.External {
			at[i] = moment{object.PreSync, math.MinInt} // before everything in this component
		}
	}
	for i := range p.Graph.References {
		r := &p.Graph.References[i]
		if appliedFirst(p.Graph, base, r) && at[r.From].compare(at[r.To]) < 0 {
			at[r.To] = at[r.From]
		}
	}
	return at
}

// own returns the moment of an object by its own annotations.
func (p *Plan) own(i int) moment {
	if phases := p.Graph.Nodes[i].Phases(); len(phases) > 0 && phases[0].Order() <= object.PostSync.Order() {
		return moment{phases[0], p.Places[i].Wave}
	}
	return never
}

// appliedFirst reports whether Argo CD itself applies the target of a reference
// first.
func appliedFirst(g *graph.Graph, base *knowledge.Base, r *graph.Reference) bool {
	to := g.Nodes[r.To]
	return base.Builtin(to.Key.Group) && len(to.Kind.Defines) > 0 && r.IsAboutKind() || to.Key.Kind == "Namespace" &&
		to.Key.Group == "" && r.IsAboutNamespace()
}

// requirements returns, by node, the references that it needs to be accepted or to
// become healthy, and those of its users. The API server accepts a webhook configuration
// without its backend.
func requirements(g *graph.Graph) (dependencies, users [][]*graph.Reference) {
	dependencies, users = make([][]*graph.Reference, len(g.Nodes)), make([][]*graph.Reference, len(g.Nodes))
	for i := range g.References {
		if r := &g.References[i]; isNeeded(g, r) {
			dependencies[r.From] = append(dependencies[r.From], r)
			users[r.To] = append(users[r.To], r)
		}
	}
	return dependencies, users
}

// isNeeded reports whether the object of a reference needs the target to be accepted
// or to become healthy.
func isNeeded(g *graph.Graph, r *graph.Reference) bool {
	from, to := &g.Nodes[r.From], &g.Nodes[r.To]
	switch {
	case r.Need != graph.Needs, isPlaced(r), r.Explicit(), runsLater(from, r):
		return false
	case r.Sign == graph.Registration, r.Sign == graph.HelmOrder:
		return false // the first only saves a retry, and the second is a habit of Helm's
	case !from.Kind.Admits.IsZero():
		return r.IsHard()
	case to.Kind.Permissions == "binding" && r.Fails == graph.Lacks && from.Role != knowledge.Controllers:
		return false // most Pods start without these permissions
	}
	switch r.Until {
	case graph.Exists:
		return !r.Inferred()
	case graph.Together:
		return from.HasHealth
	}
	return true
}

// awaited reports whether Argo CD waits for a moment: something follows it, or it contains
// a hook (gitops-engine pkg/sync/sync_context.go).
func (s *simulation) awaited(m moment) bool {
	return s.final.compare(m) > 0 || m == s.final && s.endsWithHook
}

// awaits reports whether Argo CD waits until an object is healthy. If the whole sync has one
// phase and wave, Argo CD waits only for its hooks (multiStep in
// gitops-engine pkg/sync/sync_context.go); other objects can fail the sync, but not hang it.
func (s *simulation) awaits(i int) bool {
	return s.awaited(s.at[i]) && (!s.single || s.opt.runsAsHook(&s.Graph.Nodes[i]))
}

// runsAsHook reports whether an object is a hook, or becomes one.
func (opt Options) runsAsHook(n *graph.Node) bool {
	return n.IsHook() || opt.Jobs == AsHooks && changesFail(n)
}

// inOneWave reports whether all objects of a sync, including hooks that run when it fails,
// are in its final phase and wave.
func inOneWave(g *graph.Graph, at []moment, final moment) bool {
	for i, n := range g.Nodes {
		if !n.External && at[i] != never && at[i] != final {
			return false
		}
	}
	return !hasOtherPhase(g, final.phase)
}

// hasOtherPhase reports whether a sync has a phase besides the given one.
func hasOtherPhase(g *graph.Graph, phase object.Phase) bool {
	return slices.ContainsFunc(g.Nodes, func(n graph.Node) bool {
		return !n.External && slices.ContainsFunc(n.Phases(), func(p object.Phase) bool {
			return p != phase && p.Order() <= object.SyncFail.Order()
		})
	})
}
