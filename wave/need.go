package wave

import (
	"slices"

	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/knowledge"
)

// Need is why an object must not be applied before another one is healthy. An
// object with such a need is a customer of the other one: without a customer
// nothing is awaited, since Kubernetes converges by itself and every wait can
// hang on something that no manifest shows.
type Need string

const (
	// Refused: the API server refuses the customer.
	Refused Need = "refused"
	// RunsOnce: the customer runs once and fails for good.
	RunsOnce Need = "runs-once"
	// WrongData: the customer works on data that is not ready for it.
	WrongData Need = "wrong-data"
	// Degrades: the customer is awaited itself, and Degraded meanwhile, which
	// fails the sync (gitops-engine pkg/sync/sync_context.go).
	Degrades Need = "degrades"
	// Checks: the customer checks the result, once.
	Checks Need = "checks"
	// Settles: the customer is a webhook configuration, or what the webhook admits.
	// Connections reach a server up to a second after it is healthy, and Argo CD waits
	// two between waves.
	Settles Need = "settles"
	// Reads: the customer reads what the other object makes. It waits by itself,
	// so that the two share a wave where waves are few.
	Reads Need = "reads"
	// Depends: the customer is a component that depends on what another one brings.
	Depends Need = "depends"
	// Asked: a person wrote that the customer comes after the other object.
	Asked Need = "asked"
)

// Without says what happens to a customer without what it needs, as the end of a
// sentence that begins with the customer.
func (n Need) Without() string {
	switch n {
	case Refused:
		return "is rejected by the API server until then"
	case RunsOnce:
		return "runs once, and fails if it runs too early"
	case WrongData:
		return "would use the wrong data if it started earlier"
	case Degrades:
		return "would be Degraded until then, which fails the sync"
	case Checks:
		return "checks the result once"
	case Settles:
		return "follows a moment later, since connections reach a webhook up to a second after it is ready"
	case Reads:
		return "reads what it writes"
	case Depends:
		return "depends on what it installs"
	case Asked:
		return "follows it by annotation"
	}
	return ""
}

// fails reports whether the customer, or its sync, fails for good. Other customers
// wait by themselves.
func (n Need) fails() bool {
	return slices.Contains([]Need{Refused, RunsOnce, WrongData, Degrades, Checks}, n)
}

// holdsByDefault and holdsWithinWave report whether a need makes a gate: each does,
// but within a wave that an author wrote only what would fail there, and what
// somebody asked for.
func holdsByDefault(Need) bool { return true }

func holdsWithinWave(n Need) bool { return n.fails() || n == Asked }

// Customer is an object that comes only when another one is healthy.
type Customer struct {
	Node int
	Need Need
	// Reference is what makes it a customer; the zero value for Checks.
	Reference graph.Reference
}

// needOf says why the object of a reference must not come before the target is
// healthy; empty if it may.
func needOf(from *graph.Node, r *graph.Reference) Need {
	switch {
	case r.Meaning != knowledge.Healthy:
		return ""
	case r.Explicit:
		return Asked
	case r.Sign == graph.Registration:
		return Settles
	case r.Refused, r.Hard && !r.Inferred:
		return Refused
	case r.Data:
		return WrongData
	case !r.Written.IsZero():
		// Also of Jobs: the kubelet starts no Pod before its Secret is there.
		if r.Inferred {
			return ""
		}
		return Reads
	case from.Kind.Runs == "once":
		return RunsOnce
	case !from.Kind.Deploys.IsZero() && !r.Inferred:
		return Depends
	}
	return ""
}

// isDegradedWithout reports whether an object of the API of an operator is
// Degraded while what it refers to is not healthy. Argo CD fails a sync that
// waits for such an object.
func isDegradedWithout(from *graph.Node, r *graph.Reference) bool {
	return r.Meaning == knowledge.Healthy && !r.Patient && !r.IsAboutKind() && from.Kind.Pod.IsZero() && from.HasHealth && slices.Contains(from.Waits.Can, "Degraded")
}
