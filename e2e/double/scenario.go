package double

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Scenario is what a test says of its world: what no manifest shows. The zero
// value says nothing.
type Scenario struct {
	// Needs are what objects need to start, besides what their specs show.
	Needs []Need
	// Startups are of workloads whose Pods take longer to be ready than the double's do. On a
	// real node every Pod takes some seconds.
	Startups []Startup
	// Makes is what workloads and Jobs make when they run, besides what is known of them.
	Makes []Make
	// Withhold names the Services and Ingresses that are given no address, the
	// autoscalers that are given no metrics, and the custom resources whose controller
	// does not get what it asks for outside the cluster, even if they were ready before.
	Withhold []Ref
	// Served are the API groups whose controllers run elsewhere, as those of a
	// platform that the component finds there. "*" is any group.
	Served []string
	// Controllers are the workloads that serve kinds, where their rights do not show it.
	Controllers []Controller
	// Records say what is known of custom resources, before what is built in.
	Records []Record
	// Packages are the operators that the Operator Lifecycle Manager can install.
	Packages []Package
	// Approvers are the Jobs that approve the InstallPlans of their namespaces. They
	// wait until there is one.
	Approvers []Ref
}

// Need says that an object cannot start before another is ready. A Pod of a
// workload crashes until then and heals; a Job's Pods fail, and the Job with
// them once it has retried as often as it may; a custom resource, a claim of a
// StorageClass, waits.
type Need struct {
	Of, Needs Ref
	// Applied says that the other need only be there, as for a program that lists
	// objects at its start and does not look at their status.
	Applied bool
}

// Startup says how long the Pods of a workload take until they are ready.
type Startup struct {
	Of    Ref
	Takes metav1.Duration
}

// Make says that an object makes another when it is ready: a Job that writes a
// Secret, a workload that registers a webhook.
type Make struct {
	Of   Ref
	Make Product
}

// Controller says which workload serves a kind, or all kinds of a group.
type Controller struct {
	Group string
	Kind  string // empty: all kinds of the group
	By    Ref
}

// scenarios are all scenarios that are active.
type scenarios []*Scenario

func (all scenarios) needsOf(r Ref) []Need {
	var needs []Need
	for _, s := range all {
		for _, n := range s.Needs {
			if n.Of.names(r) {
				needs = append(needs, n)
			}
		}
	}
	return needs
}

func (all scenarios) startOf(r Ref) time.Duration {
	var longest time.Duration
	for _, s := range all {
		for _, start := range s.Startups {
			if start.Of.names(r) {
				longest = max(longest, start.Takes.Duration)
			}
		}
	}
	return longest
}

func (all scenarios) madeBy(r Ref) []Product {
	var products []Product
	for _, s := range all {
		for _, m := range s.Makes {
			if m.Of.names(r) {
				products = append(products, m.Make)
			}
		}
	}
	return products
}

func (all scenarios) withheld(r Ref) bool {
	for _, s := range all {
		for _, w := range s.Withhold {
			if w.names(r) {
				return true
			}
		}
	}
	return false
}

func (all scenarios) served(group string) bool {
	for _, s := range all {
		for _, g := range s.Served {
			if g == group || g == "*" {
				return true
			}
		}
	}
	return false
}

// controller is the workload that a scenario names for a kind; one that names
// the kind goes before one that names the group.
func (all scenarios) controller(k kind) (Ref, bool) {
	var found Ref
	for _, s := range all {
		for _, c := range s.Controllers {
			if c.Group == k.Group && c.Kind == k.Kind {
				return c.By, true
			}
			if c.Group == k.Group && c.Kind == "" {
				found = c.By
			}
		}
	}
	return found, found.Kind != ""
}
