package wave

import (
	"slices"

	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/knowledge"
)

// WaitReason is the reason why an object must not be applied before another one is
// healthy. An object with such a reason is a dependent of the other one. Nothing is
// awaited without a dependent, since Kubernetes converges by itself and every wait can
// hang on something that no manifest shows.
type WaitReason string

const (
	// Refused: the API server refuses the dependent.
	Refused WaitReason = "refused"
	// RunsOnce: the dependent runs once and fails permanently.
	RunsOnce WaitReason = "runs-once"
	// WrongData: the dependent would process data that is not ready.
	WrongData WaitReason = "wrong-data"
	// Unchanged: a webhook would not change the Pods of the dependent.
	Unchanged WaitReason = "unchanged"
	// Degrades: the dependent is itself awaited and is Degraded meanwhile, which
	// fails the sync (gitops-engine pkg/sync/sync_context.go).
	Degrades WaitReason = "degrades"
	// Checks: the dependent tests the result, once.
	Checks WaitReason = "checks"
	// Settles: the dependent is a webhook configuration, or an object that the
	// webhook admits. A backend may be unreachable for up to a second after it is
	// healthy, and Argo CD pauses two seconds between waves.
	Settles WaitReason = "settles"
	// Reads: the dependent reads an object that the other one creates. It waits by
	// itself, so the two share a wave in the compact style.
	Reads WaitReason = "reads"
	// Depends: the dependent is a component that depends on another one.
	Depends WaitReason = "depends"
	// Requested: the user wrote that the dependent comes after the other object.
	Requested WaitReason = "asked"
)

// Without says why a dependent must wait. The text is a predicate that follows the
// dependent's name in a sentence.
func (n WaitReason) Without() string {
	switch n {
	case Refused:
		return "could be rejected by the API server without the wait"
	case RunsOnce:
		return "runs once, and fails if it runs too early"
	case WrongData:
		return "would use the wrong data if it started earlier"
	case Unchanged:
		return "has Pods that would start without the change of a webhook, and keep running so"
	case Degrades:
		return "would be Degraded without the wait, which fails the sync"
	case Checks:
		return "checks the result once"
	case Settles:
		return "is applied slightly later, because a webhook may be unreachable for about a second after its server is ready"
	case Reads:
		return "reads an object that the awaited object creates"
	case Depends:
		return "depends on what the awaited object installs"
	case Requested:
		return "has an annotation that requires the wait"
	}
	return ""
}

// fails reports whether the dependent or its sync fails permanently. Other dependents
// wait by themselves.
func (n WaitReason) fails() bool {
	return slices.Contains([]WaitReason{Refused, RunsOnce, WrongData, Unchanged, Degrades, Checks}, n)
}

// holdsByDefault and holdsWithinWave report whether a reason makes a gate. By default
// every reason does; within a wave that an author set, only those by which the
// dependent would fail there, or that the user wrote.
func holdsByDefault(WaitReason) bool { return true }

func holdsWithinWave(n WaitReason) bool { return n.fails() || n == Requested }

// Dependent is an object that waits until another one is healthy.
type Dependent struct {
	Node   int
	Reason WaitReason
	// Reference is the reference with that reason; zero for Checks.
	Reference graph.Reference
}

// degradesInWaveOf reports whether the object of a reference is Degraded for a while if it
// shares the wave of its target. Argo CD fails a sync that waits for such an object.
func degradesInWaveOf(g *graph.Graph, base *knowledge.Base, r *graph.Reference) bool {
	from, to := &g.Nodes[r.From], &g.Nodes[r.To]
	if r.Fails == graph.ReportsFailure {
		return r.Need == graph.Needs && (r.Until == graph.Healthy || !appliedBefore(to, from, base))
	}
	return showsHealth(to) && isDegradedWithout(from, r)
}

// isDegradedWithout reports whether a custom resource is probably Degraded while the target
// of its reference is not healthy.
func isDegradedWithout(from *graph.Node, r *graph.Reference) bool {
	return r.Need == graph.Needs && r.Until == graph.Healthy && r.Fails != graph.Waits && r.Fails != graph.Lacks &&
		!r.IsAboutKind() && from.Kind.Pod.IsZero() && from.HasHealth && slices.Contains(from.Health.Can, "Degraded")
}
