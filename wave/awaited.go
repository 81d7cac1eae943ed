package wave

import (
	"slices"

	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/object"
)

// awaited reports whether Argo CD waits for a moment: something follows it, or it contains
// a hook (gitops-engine pkg/sync/sync_context.go).
func (s *sync) awaited(m moment) bool {
	return s.final.compare(m) > 0 || m == s.final && s.endsWithHook
}

// awaits reports whether Argo CD waits until an object is healthy. If the whole sync has one
// phase and wave, Argo CD waits only for its hooks (multiStep in
// gitops-engine pkg/sync/sync_context.go); other objects can fail the sync, but not hang it.
func (s *sync) awaits(i int) bool {
	return s.awaited(s.at[i]) && (!s.single || s.runsAsHook(i))
}

// runsAsHook reports whether an object is a hook, or becomes one.
func (s *sync) runsAsHook(i int) bool {
	n := &s.Graph.Nodes[i]
	return n.IsHook() || s.opt.Jobs == AsHooks && changesFail(n)
}

// inOneWave reports whether all objects of the sync, including hooks that run when it fails,
// are in its final phase and wave.
func (s *sync) inOneWave() bool {
	for i, n := range s.Graph.Nodes {
		if n.External {
			continue
		}
		if s.at[i] != never && s.at[i] != s.final {
			return false
		}
	}
	return !hasOtherPhase(s.Graph, s.final.phase)
}

// hasOtherPhase reports whether a sync has a phase besides the given one.
func hasOtherPhase(g *graph.Graph, phase object.Phase) bool {
	return slices.ContainsFunc(g.Nodes, func(n graph.Node) bool {
		return !n.External && slices.ContainsFunc(n.Phases(), func(p object.Phase) bool {
			return p != phase && p.Order() <= object.SyncFail.Order()
		})
	})
}
