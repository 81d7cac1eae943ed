// Package graph finds what the objects of a component refer to.
//
// Only the manifests can decide an order: a Deployment names the Secret that it
// mounts, a Certificate the Secret that it writes, a webhook configuration the
// Service of its backend. Each such fact becomes a Reference, with its field and
// the reason in words, so that every wave can be explained later.
//
// Which fields refer to what is data (package knowledge). What is not a field
// but a relation, such as "this workload may write the status of that kind, so
// it reconciles it", is a rule. The function build lists the rules.
//
// The package is pure: objects in, references out.
package graph

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// Node is an object of a component.
type Node struct {
	object.Object
	// Key identifies the object in the cluster: its ID with the namespace that Argo
	// CD will set.
	Key object.ID
	// Kind is what Ladder knows about the object's kind.
	Kind *knowledge.Kind
	// Role is the rung of the object in this component if its kind does not imply
	// it; empty otherwise.
	Role string
	// RoleWhy is the reason for Role.
	RoleWhy string
	// Companion means that the object is a companion of a controller: no manifest shows
	// that it reconciles or serves a kind, but a controller may need it at startup.
	Companion bool
	// Reconciles lists the API groups, other than built-in ones, for which a
	// controller may watch kinds and update their status.
	Reconciles []string
	// Idle means that the object runs no Pods at present: it is scaled to zero,
	// paused or suspended.
	Idle bool
	// CRDMissing means that the CRD of the object is not in the graph, and that its kind
	// belongs neither to Kubernetes nor to Argo CD.
	CRDMissing bool
	// External means that another Application applies the object before this
	// component. It affects the order but is not part of the output.
	External bool
	// Stub means that the node stands for an object of a chart that is not available.
	Stub bool
	// ExternalCRD means that another Application applies the CRD of the object.
	ExternalCRD bool
	// Part is the number of the object's component if the graph covers several.
	Part int
	// Health says what Argo CD waits for once the object is applied. It is valid only if
	// HasHealth is true.
	Health    knowledge.Health
	HasHealth bool
	// Doubt is the reason to wait for this object only where the other object would fail
	// without the wait, although this object should become healthy. It is empty if there is
	// no such reason.
	Doubt string
	// TemporarilyDegraded says why the object may be Degraded for a while because of
	// another object of the component. Objects that would fail without this one still
	// wait for it.
	TemporarilyDegraded string

	hook        bool
	phases      []object.Phase
	destination string // the destination namespace of its Application
}

// Uncertain returns the reason to wait for this object only where the other object would
// fail without the wait; empty if there is none.
func (n *Node) Uncertain() string {
	if !n.HasHealth {
		return ""
	}
	return cmp.Or(n.Health.Uncertain(), n.Doubt)
}

// IsHook reports whether the object is a hook. Like Phases and InSync, it is computed once.
func (n *Node) IsHook() bool { return n.hook }

// Phases returns the phases in which Argo CD applies the object.
func (n *Node) Phases() []object.Phase { return n.phases }

// InSync reports whether the object is applied in the Sync phase, and so has a
// wave.
func (n *Node) InSync() bool { return slices.Contains(n.phases, object.Sync) }

// Reference says that From refers to To. Both are indexes into Graph.Nodes.
type Reference struct {
	From, To int
	// Field is the field of From with the reference, such as
	// "spec.volumes[0].secret".
	Field   string
	Meaning knowledge.Meaning
	// Hard means that without To the API server refuses From, or that From fails to
	// start and does not recover.
	Hard bool
	// Unless says when the API server accepts From despite Hard; empty if it never
	// does.
	Unless string
	// Inferred means that the reference is based on a convention or a sign, not on
	// a record.
	Inferred bool
	// Sign is the sign if other packages depend on it; empty otherwise.
	Sign Sign
	// Explicit means that a user wrote the reference, in an annotation.
	Explicit bool
	// Optional means that the object works without the target.
	Optional bool
	// Refused means that the API server refuses From while To does not respond.
	Refused bool
	// Data means that From processes wrong data without To.
	Data bool
	// StaysProgressing means that From is Progressing, not Degraded, while To is not
	// healthy.
	StaysProgressing bool
	// Why is the verb of a sentence: From, why, To.
	Why string
	// Because is a sentence with more details; empty if Why is sufficient.
	Because string
	// Source is the source of the fact.
	Source string
	// Product is the object that To writes at run time and From reads, if any.
	Product object.ID
}

// Sign says what a reference is inferred from.
type Sign string

const (
	// Call: variables, arguments or fields of From lead to To.
	Call Sign = "call"
	// Address: a field of From, which holds addresses, names a Service whose backend is
	// To.
	Address Sign = "address"
	// Configuration: a variable or argument of From is the name of To, and From
	// reconciles the kind of To.
	Configuration Sign = "configuration"
	// Companion: To belongs to From, a controller, which may need it.
	Companion Sign = "companion"
	// Installation: To may install the kind of which From creates objects.
	Installation Sign = "installation"
	// Registration: a webhook configuration that is applied between its backend and
	// the first object that it admits, so that connections reach the backend by
	// then.
	Registration Sign = "registration"
)

// Fields of references to namespaces, kinds and webhooks, which all objects have.
const (
	kindField      = "kind"
	namespaceField = "metadata.namespace"
	webhooksField  = "webhooks"
)

// IsAboutKind reports whether To makes the kind of From available: its CRD, or its
// controller or operator.
func (r *Reference) IsAboutKind() bool { return r.Field == kindField }

// IsAboutNamespace reports whether To is or creates the namespace of From.
func (r *Reference) IsAboutNamespace() bool { return r.Field == namespaceField }

// IsAboutWebhook reports whether To is the backend of a webhook that admits From.
func (r *Reference) IsAboutWebhook() bool { return r.Field == webhooksField }

// Detail returns the text to append to the sentence of a reference, if any.
func (r Reference) Detail() string {
	if r.Because == "" {
		return ""
	}
	return ": " + r.Because
}

// Graph is a component: its objects and their references. Both are sorted, so the
// graph does not depend on the order of the input.
type Graph struct {
	Nodes      []Node
	References []Reference
	// Absent lists objects that are needed to start or to be healthy, but that the
	// component does not create.
	Absent []Absent
	// Creations lists kinds of which objects are created later.
	Creations []Creation
	// Findings are problems that leave the graph usable.
	Findings []finding.Finding
}

// Absent is an object that From needs, and that the component neither contains nor
// creates before From. Something else may create it: a person, an operator, a Job
// whose manifest does not show it.
type Absent struct {
	From  int
	ID    object.ID
	Field string
	// Why is the verb of a sentence: From, why, ID.
	Why string
	// Starts means that Pods of From do not start without the object. Otherwise
	// From has no Pods, and is Degraded or not ready until it exists.
	Starts bool
	// OtherNamespace is an object of the same kind and name in another namespace of the
	// component, if there is one.
	OtherNamespace object.ID
	// Makers are workloads of the component that may create the object when they
	// run. It is empty if Starts is true, since Pods wait by themselves.
	Makers []int
}

// Options describe the destination of a component.
type Options struct {
	// Namespace is the destination of the Application, for objects without a
	// namespace.
	Namespace string
	// IsExternal, if not nil, reports whether another Application applies an object.
	IsExternal func(object.Object) bool
}

// Build finds the references between objects. Its error joins a finding for each
// pair of objects with the same identity, and for each invalid annotation.
func Build(objs []object.Object, base *knowledge.Base, opt Options) (*Graph, error) {
	return build(newBuilder([]Part{{Objects: objs, Namespace: opt.Namespace}}, base, opt))
}

// Part is one of the components of a joined graph.
type Part struct {
	Objects []object.Object
	// Namespace is the destination of its Application.
	Namespace string
	// Stubs means that Objects only stand for those of a chart that is not available.
	Stubs bool
}

// Join finds the references between and within several components. Objects that are
// in several components are allowed: each is a node.
func Join(parts []Part, base *knowledge.Base) (*Graph, error) {
	b := newBuilder(parts, base, Options{})
	b.joined = true
	return build(b)
}

func build(b *builder) (*Graph, error) {
	if err := b.index(); err != nil {
		return nil, err
	}
	for _, rule := range []func(*builder){
		(*builder).findGrants,             // the permissions of ServiceAccounts
		(*builder).referByAnnotation,      // annotations of users
		(*builder).referToNamespaces,      // an object depends on its namespace
		(*builder).referToCRDs,            // a custom resource depends on its CRD
		(*builder).referToInstallers,      // a custom resource depends on the installer of its kind
		(*builder).referByFields,          // fields of kinds and of Pods
		(*builder).referToDiscoveredCRDs,  // kinds that a program discovers at startup
		(*builder).referByConventions,     // conventional fields of custom resources
		(*builder).referToProducers,       // objects that another object writes at run time
		(*builder).referToNamespaceMakers, // an object depends on its namespace, which an operator creates
		(*builder).referToBackends,        // backends of webhooks and APIs
		(*builder).orderOwnWebhooks,       // webhooks that would refuse their own backends
		(*builder).reportEarlyWebhooks,    // webhooks that are registered before the backends that they refuse
		(*builder).referByCalls,           // calls of workloads, by their variables and arguments
		(*builder).referByWaits,           // waits of init containers and Jobs
		(*builder).referByNames,           // bare names in variables and arguments
		(*builder).referToPermissions,     // a workload depends on the permissions of its ServiceAccount
		(*builder).referToServedAPIs,      // a workload depends on the aggregated APIs it may use
		(*builder).findControllers,        // workloads that reconcile or serve kinds
		(*builder).referToControllers,     // a custom resource depends on its controller
		(*builder).referToWatchedCRDs,     // a controller depends on the CRDs of its kinds
		(*builder).referByAddresses,       // calls of custom resources, by their fields
		(*builder).findCompanions,         // companions that controllers may need at startup
		(*builder).referToOperators,       // dependencies of operators installed from packages
		(*builder).findSmokes,             // tests of the other objects
		(*builder).orderJobs,              // Jobs between workloads, and Jobs after them
		(*builder).placeSecretWriters,     // Jobs that write Secrets for controllers
		(*builder).referToLaterCAWriters,  // PostSync Jobs without which an API is not trusted
		(*builder).referToWebhooks,        // an object depends on the webhook that must admit it
		(*builder).findAbsent,             // objects that the component does not create
		(*builder).reportMissing,          // objects that are named but missing, probably by mistake
	} {
		rule(b)
	}
	b.applyNotAfter()
	b.sort()
	finding.Sort(b.faults)
	if err := finding.Err(b.faults); err != nil {
		return nil, err
	}
	return b.Graph, nil
}

// Role is the rung of an object that its kind does not imply, with the reason.
type Role struct{ Rung, Why string }

// With returns a copy of the graph with additional references, and roles for some
// nodes.
func (g *Graph) With(refs []Reference, roles map[int]Role) *Graph {
	extended := *g
	extended.References = slices.Concat(g.References, refs)
	extended.Nodes, extended.Findings = slices.Clone(g.Nodes), slices.Clone(g.Findings)
	for i, role := range roles {
		extended.Nodes[i].Role, extended.Nodes[i].RoleWhy = role.Rung, role.Why
	}
	extended.sort()
	return &extended
}

// sort orders the references by their objects.
func (g *Graph) sort() {
	slices.SortFunc(g.References, func(x, y Reference) int {
		return cmp.Or(cmp.Compare(x.From, y.From), cmp.Compare(x.To, y.To), cmp.Compare(x.Meaning, y.Meaning),
			cmp.Compare(x.Field, y.Field), cmp.Compare(x.Why, y.Why), cmp.Compare(x.Because, y.Because))
	})
	finding.Sort(g.Findings)
}

// String returns the graph as text, for users and tests: each object with
// references, followed by its targets.
func (g *Graph) String() string {
	var b strings.Builder
	last := -1
	for _, r := range g.References {
		if r.From != last {
			n := g.Nodes[r.From]
			b.WriteString(n.Key.String())
			if n.Role != "" {
				fmt.Fprintf(&b, "  [%s: %s]", n.Role, n.RoleWhy)
			}
			b.WriteByte('\n')
			last = r.From
		}
		var marks []string
		for _, m := range []struct {
			is   bool
			mark string
		}{{r.Hard, "hard"}, {r.Refused, "refused"}, {r.Data, "data"}, {r.Inferred, "inferred"}, {r.Explicit, "explicit"}, {r.Optional, "optional"}} {
			if m.is {
				marks = append(marks, m.mark)
			}
		}
		mark := ""
		if marks != nil {
			mark = " (" + strings.Join(marks, ", ") + ")"
		}
		fmt.Fprintf(&b, "  %-8s %s %s%s%s\n", r.Meaning, r.Why, g.Nodes[r.To].Key, r.Detail(), mark)
	}
	for _, a := range g.Absent {
		noStart, otherNamespace := "", ""
		if a.Starts {
			noStart = " (Pods do not start)"
		}
		if a.OtherNamespace != (object.ID{}) {
			otherNamespace = "; " + a.OtherNamespace.String() + " is in another namespace"
		}
		fmt.Fprintf(&b, "absent: %s %s %s%s%s\n", g.Nodes[a.From].Key, a.Why, a.ID, noStart, otherNamespace)
		for _, m := range a.Makers {
			fmt.Fprintf(&b, "  may be created by %s\n", g.Nodes[m].Key)
		}
	}
	return b.String()
}
