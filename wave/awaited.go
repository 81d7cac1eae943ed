package wave

import "github.com/ladder-cmp/ladder/object"

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
		for _, phase := range n.Phases() {
			if phase != s.final.phase && phase.Order() <= object.SyncFail.Order() {
				return false
			}
		}
	}
	return true
}
