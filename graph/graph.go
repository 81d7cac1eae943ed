// Package graph finds what the objects of a component refer to.
//
// An order can only be computed from what is written in the manifests: a
// Deployment names the Secret that it mounts, a Certificate the Secret that it
// writes, a webhook configuration the Service that its server stands behind.
// Each such fact becomes a Reference, with the field it was read from and a
// reason in words, so that every wave can be explained later.
//
// Which fields refer to what is data (package knowledge). What is not a field
// but a relation, such as "this workload may write the status of that kind, so
// it reconciles it", is a rule; the rules are listed in Build.
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

// Node is an object in its component.
type Node struct {
	object.Object
	// Key identifies the object in the cluster: ID with the namespace that
	// Argo CD will give it.
	Key object.ID
	// Kind is what is known about objects of this kind.
	Kind *knowledge.Kind
	// Role is what the object does in this component, if that says more than
	// its kind: the name of a rung; empty otherwise.
	Role string
	// RoleWhy says what gave the role away.
	RoleWhy string
	// Partner is true for a controller by company: nothing shows that it
	// reconciles or serves a kind, but a controller may need it to start.
	Partner bool
	// Reconciles are the groups, other than Kubernetes' own, of which a controller
	// may watch kinds and write their status.
	Reconciles []string
	// Idle means that its Pods do not run for now: it is scaled to nothing,
	// paused or suspended.
	Idle bool
	// Foreign means that the definition of its kind is neither in the component
	// nor part of Kubernetes or Argo CD.
	Foreign bool
	// Elsewhere means that another Application applies the object, so that it is
	// there before this component comes. It orders others, and is not written.
	Elsewhere bool
	// Stub means that it only stands for an object of a chart that is not at hand.
	Stub bool
	// Lifted means that the definition of its kind is such an object.
	Lifted bool
	// Part is the number of the component that holds it, where the graph is of
	// several.
	Part int
	// Waits says what Argo CD waits for once the object is applied; it has a
	// meaning only if HasHealth is true.
	Waits     knowledge.Health
	HasHealth bool
	// Doubt says why nothing should wait for the object without need, although
	// it becomes healthy as far as one knows; empty if there is no reason.
	Doubt string
	// Passes says how the object may be Degraded on its way to health, because of
	// another object of the component. What would fail without it waits for it all the
	// same.
	Passes string

	hook   bool
	phases []object.Phase
	home   string // the destination of its Application
}

// Uncertain says why nothing should wait for the object without need.
func (n *Node) Uncertain() string {
	if !n.HasHealth {
		return ""
	}
	return cmp.Or(n.Waits.Uncertain(), n.Doubt)
}

// IsHook answers as the object does, without reading it again, as do Phases and InSync.
func (n *Node) IsHook() bool { return n.hook }

// Phases returns when Argo CD applies the object.
func (n *Node) Phases() []object.Phase { return n.phases }

// InSync reports whether the object takes part in the waves.
func (n *Node) InSync() bool { return slices.Contains(n.phases, object.Sync) }

// Reference says that From refers to To. Both are indices of Graph.Nodes.
type Reference struct {
	From, To int
	// Field is where From says so, such as "spec.volumes[0].secret".
	Field   string
	Meaning knowledge.Meaning
	// Hard means that without To the API server refuses From, or its start
	// cannot succeed later by itself.
	Hard bool
	// Unless says when the API server takes From all the same, if Hard is only so
	// for some; empty if it is so for all.
	Unless string
	// Inferred means that no record says so, but a convention or a sign.
	Inferred bool
	// Sign is the sign, for those that others go by; empty for all others.
	Sign Sign
	// Explicit means that a person wrote it down, in an annotation.
	Explicit bool
	// Optional means that the object does without the target.
	Optional bool
	// Refused means that the API server refuses From while To does not answer.
	Refused bool
	// Data means that From works on wrong data without To.
	Data bool
	// Patient means that From is Progressing, not Degraded, while To is not healthy.
	Patient bool
	// Why is the verb of a sentence: From, why, To.
	Why string
	// Because is a sentence that says more, where the two objects alone do not
	// tell; empty if they do.
	Because string
	// Source is where the fact comes from.
	Source string
	// Written is what To writes at run time, if it is that which From reads.
	Written object.ID
}

// Sign is what a reference is inferred from.
type Sign string

const (
	// Call: variables, arguments or fields of From lead to To.
	Call Sign = "call"
	// Address: a field of From that is called for an address holds that of a Service,
	// which leads to To.
	Address Sign = "address"
	// Configuration: From is told the name of To, whose kind it reconciles.
	Configuration Sign = "configuration"
	// Company: To only stands beside From, a controller, which may need it.
	Company Sign = "company"
	// Bringer: To may bring the kind of which From makes objects.
	Bringer Sign = "bringer"
	// Registration: a webhook configuration that comes between its server and the first
	// object that it admits, so that connections reach the server by then.
	Registration Sign = "registration"
)

// Fields of references that follow from what every object has, and from webhooks.
const (
	kindField      = "kind"
	namespaceField = "metadata.namespace"
	webhooksField  = "webhooks"
)

// IsAboutKind reports whether a reference is to what makes the kind of From work: its
// definition, or the controller or operator behind it.
func (r *Reference) IsAboutKind() bool { return r.Field == kindField }

// IsAboutNamespace reports whether a reference is to what the namespace of From
// comes from.
func (r *Reference) IsAboutNamespace() bool { return r.Field == namespaceField }

// IsAboutWebhook reports whether a reference is to who answers a webhook that is asked
// about From.
func (r *Reference) IsAboutWebhook() bool { return r.Field == webhooksField }

// Explained is what to write behind the sentence of a reference, if there is more
// to say.
func (r Reference) Explained() string {
	if r.Because == "" {
		return ""
	}
	return ": " + r.Because
}

// Graph is a component: its objects and their references, both sorted, so that
// it does not depend on the order in which objects came.
type Graph struct {
	Nodes      []Node
	References []Reference
	// Absent is what objects need to start or to be healthy and nothing in the
	// component makes.
	Absent []Absent
	// Made are kinds of which objects are made later.
	Made []Made
	// Findings are faults that leave the graph usable.
	Findings []finding.Finding
}

// Absent is an object that From needs, and that the component neither holds nor makes
// before From. Somebody else may: a person, an operator, a Job whose manifest does not
// tell.
type Absent struct {
	From  int
	ID    object.ID
	Field string
	// Why is the verb of a sentence: From, why, ID.
	Why string
	// Starts means that Pods of From do not start without it. Otherwise From, which
	// has no Pods, is Degraded or not ready until it is there.
	Starts bool
	// Elsewhere is an object of that kind and name in another namespace of the
	// component, if there is one.
	Elsewhere object.ID
	// Makers are workloads of the component that may make it when they run; only
	// where Starts is false, since Pods wait by themselves.
	Makers []int
}

// Options say where the component goes.
type Options struct {
	// Namespace is the destination of the Application, in which objects land
	// that name none.
	Namespace string
	// Elsewhere, if not nil, says which objects another Application applies.
	Elsewhere func(object.Object) bool
}

// Build finds the references between objects. Its error joins a finding for
// each pair of objects with the same identity, and for each annotation of ours
// that cannot be read.
func Build(objs []object.Object, base *knowledge.Base, opt Options) (*Graph, error) {
	return build(newBuilder([]Part{{Objects: objs, Namespace: opt.Namespace}}, base, opt))
}

// Part is one of the components that a graph is of.
type Part struct {
	Objects []object.Object
	// Namespace is the destination of its Application.
	Namespace string
	// Stubs means that Objects only stand for those of a chart that is not at hand.
	Stubs bool
}

// Join finds the references between the objects of several components, and
// within each. Objects that several hold are no fault: each is a node.
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
		(*builder).findGrants,             // who has which rights
		(*builder).referByAnnotation,      // what people wrote into annotations
		(*builder).referToNamespaces,      // an object needs its namespace
		(*builder).referToCRDs,            // a custom resource needs its definition
		(*builder).referToInstallers,      // a custom resource needs what brings its kind
		(*builder).referByFields,          // what the fields of kinds and Pods name
		(*builder).referToSoughtCRDs,      // which kinds a program looks for when it starts
		(*builder).referByConventions,     // what the fields of custom resources name by convention
		(*builder).referToProducers,       // who reads what another object writes at run time
		(*builder).referToNamespaceMakers, // an object needs its namespace, which an operator makes
		(*builder).referToBackends,        // who stands behind webhooks and APIs
		(*builder).orderOwnWebhooks,       // which webhooks would refuse their own servers
		(*builder).referByCalls,           // whom a workload calls, as far as its variables and arguments tell
		(*builder).referByWaits,           // for whom init containers and Jobs wait by themselves
		(*builder).referToRights,          // a workload needs the rights of its account
		(*builder).referToServedAPIs,      // a workload needs the APIs that it has rights on
		(*builder).findControllers,        // which workloads reconcile or serve kinds
		(*builder).referToControllers,     // a custom resource needs its controller
		(*builder).referToWatchedCRDs,     // a controller needs the definitions of its kinds
		(*builder).referByAddresses,       // whom a custom resource calls, as far as its fields tell
		(*builder).findPartners,           // what the controllers need to start
		(*builder).referToOperators,       // what operators need that are installed out of packages
		(*builder).findSmokes,             // what only checks the rest
		(*builder).orderJobs,              // which Jobs come between the workloads, and which after them
		(*builder).bringSecretMakers,      // which Jobs write what controllers may wait for
		(*builder).referToWebhooks,        // an object needs the webhook that must admit it
		(*builder).findAbsent,             // what nothing in the component makes
		(*builder).reportMissing,          // what is named and not there, probably by mistake
	} {
		rule(b)
	}
	b.dropReleased()
	b.sort()
	finding.Sort(b.faults)
	if err := finding.Err(b.faults); err != nil {
		return nil, err
	}
	return b.Graph, nil
}

// Role is a rung on which an object stands for another reason than its kind.
type Role struct{ Rung, Why string }

// With is the graph with references that are known otherwise than from its objects,
// and with the roles of some nodes.
func (g *Graph) With(refs []Reference, roles map[int]Role) *Graph {
	more := *g
	more.References = slices.Concat(g.References, refs)
	more.Nodes, more.Findings = slices.Clone(g.Nodes), slices.Clone(g.Findings)
	for i, role := range roles {
		more.Nodes[i].Role, more.Nodes[i].RoleWhy = role.Rung, role.Why
	}
	more.sort()
	return &more
}

// sort brings the references into an order that follows from the objects.
func (g *Graph) sort() {
	slices.SortFunc(g.References, func(x, y Reference) int {
		return cmp.Or(cmp.Compare(x.From, y.From), cmp.Compare(x.To, y.To), cmp.Compare(x.Meaning, y.Meaning),
			cmp.Compare(x.Field, y.Field), cmp.Compare(x.Why, y.Why), cmp.Compare(x.Because, y.Because))
	})
	finding.Sort(g.Findings)
}

// String draws the graph as text, for people and tests: each object that
// refers to anything, with what it refers to below it.
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
		if r.Hard {
			marks = append(marks, "hard")
		}
		if r.Refused {
			marks = append(marks, "refused")
		}
		if r.Data {
			marks = append(marks, "data")
		}
		if r.Inferred {
			marks = append(marks, "inferred")
		}
		if r.Explicit {
			marks = append(marks, "explicit")
		}
		if r.Optional {
			marks = append(marks, "optional")
		}
		mark := ""
		if marks != nil {
			mark = " (" + strings.Join(marks, ", ") + ")"
		}
		fmt.Fprintf(&b, "  %-8s %s %s%s%s\n", r.Meaning, r.Why, g.Nodes[r.To].Key, r.Explained(), mark)
	}
	for _, a := range g.Absent {
		starts, elsewhere := "", ""
		if a.Starts {
			starts = " (starts)"
		}
		if a.Elsewhere != (object.ID{}) {
			elsewhere = ", there is " + a.Elsewhere.String()
		}
		fmt.Fprintf(&b, "absent: %s %s %s%s%s\n", g.Nodes[a.From].Key, a.Why, a.ID, starts, elsewhere)
		for _, m := range a.Makers {
			fmt.Fprintf(&b, "  may be created by %s\n", g.Nodes[m].Key)
		}
	}
	return b.String()
}
