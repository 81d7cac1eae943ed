// Package graph finds what the objects of a component need of each other.
//
// Only the manifests can decide an order: a Deployment names the Secret that it
// mounts, a Certificate the Secret that it writes, a webhook configuration the
// Service of its backend. Each such fact becomes a Reference, with its field, the sign
// that shows it and the reason in words, so that every wave can be explained later.
//
// Build works in passes, each of which only reads what the passes before it found:
//
//	facts       what can be read from the manifests without a decision (package facts)
//	roles       what objects are for: rules return claims, of which the strongest counts
//	references  what objects need: rules see facts and roles, not each other's results
//	derivations what follows from references: here the order of the list carries meaning
//	reports     findings
//
// Which fields refer to what is data (package knowledge). What is not a field but a
// relation, such as "this workload may write the status of that kind, so it reconciles
// it", is a rule. The lists are in rules.go.
//
// The package is pure: objects in, references out.
package graph

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/graph/facts"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// Node is an object of a component, with what it is for.
type Node struct {
	facts.Node
	// Role is the rung of the object in this component if its kind does not imply
	// it; empty otherwise.
	Role string
	// RoleWhy is the reason for Role.
	RoleWhy string
	// Companion means that the object is a companion of a controller: no manifest shows
	// that it reconciles or serves a kind, but a controller may need it at startup.
	Companion bool
	// Store means that the object keeps data or messages for others, and starts without
	// them.
	Store bool
	// Reconciles lists the API groups, other than built-in ones, for which a
	// controller may watch kinds and update their status.
	Reconciles []string
	// Doubt is the reason to wait for this object only where the other object would fail
	// without the wait, although this object should become healthy. It is empty if there is
	// no such reason.
	Doubt string
	// DoubtEntry is the entry of expects that ends Doubt.
	DoubtEntry string
	// NeverFix says what to do where Health.Never or Doubt depends on its own manifest.
	NeverFix string
	// Expected means that a user says that the CRD and the controller of the object exist
	// outside of the component.
	Expected bool
	// Was is the position of a Helm hook before it was taken into the order (package hooks),
	// such as "post-install (PostSync)"; empty for all others.
	Was string
	// TemporarilyDegraded says why the object may be Degraded for a while because of
	// another object of the component. Objects that would fail without this one still
	// wait for it.
	TemporarilyDegraded string
	// Stuck says why an Application does not become healthy by itself, such as that nothing
	// syncs it. It does not change the order. The zero value is for all others.
	Stuck Stuck
}

// Stuck is why an Application does not become healthy by itself.
type Stuck struct {
	Why, Fix string
	// Refused means that Argo CD rejects it, so it cannot be synced by hand either.
	Refused bool
}

// Uncertain returns the reason to wait for this object only where the other object would
// fail without the wait; empty if there is none.
func (n *Node) Uncertain() string {
	if !n.HasHealth {
		return ""
	}
	return cmp.Or(n.Health.Uncertain(), n.Doubt)
}

// Annotations by which users order objects (package facts reads them).
const (
	After   = facts.After
	Expects = facts.Expects
)

// ExpectedFault returns an error for an entry of Options.Expects that cannot be read.
func ExpectedFault(entry string) error {
	if _, ok := facts.ReadExpected(entry); ok {
		return nil
	}
	return finding.Fault(fmt.Sprintf("%q is neither an object nor an API group", entry), facts.HowToExpect)
}

// Graph is a component: its objects and their references. Both are sorted, so the
// graph does not depend on the order of the input.
type Graph struct {
	Nodes      []Node
	References []Reference
	// Aside are references without effect, because another one says more about the same
	// two objects, or because a user excepted them.
	Aside []SetAside
	// Claims are what the rules say the objects are for. Of several about an object, that
	// of its Role counts.
	Claims []Claim
	// Absent lists objects that are needed to start or to be healthy, but that the
	// component does not create.
	Absent []Absent
	// Dangling lists what objects of several components refer to and none of these creates.
	Dangling []Absent
	// Creations lists kinds of which objects are created later.
	Creations []Creation
	// Findings are problems that leave the graph usable.
	Findings []finding.Finding
}

// Options describe the destination of a component.
type Options struct {
	// Namespace is the destination of the Application, for objects without a
	// namespace.
	Namespace string
	// Expects lists what exists outside of the component.
	Expects []string
	// IsExternal, if not nil, reports whether another Application applies an object.
	IsExternal func(object.Object) bool
}

// Part is one of the components of a joined graph.
type Part = facts.Part

// Build finds the references between objects. Its error joins a finding for each
// pair of objects with the same identity, and for each invalid annotation.
func Build(objs []object.Object, base *knowledge.Base, opt Options) (*Graph, error) {
	return build(rulesOfAll, []Part{{Objects: objs, Namespace: opt.Namespace, Expects: opt.Expects}}, base,
		facts.Options{IsExternal: opt.IsExternal})
}

// Join finds the references between and within several components. Objects that are
// in several components are allowed: each is a node.
func Join(parts []Part, base *knowledge.Base) (*Graph, error) {
	return build(rulesOfAll, parts, base, facts.Options{Joined: true})
}

// rules are the passes after the facts.
type rules struct {
	roles       []roleRule
	references  []referenceRule
	derivations []derivation
}

var rulesOfAll = rules{roleRules, referenceRules, derivations}

func build(rules rules, parts []Part, base *knowledge.Base, opt facts.Options) (*Graph, error) {
	f, findings := facts.New(parts, base, opt)
	if err := finding.Err(findings); err != nil {
		return nil, err
	}
	asked := f.Requests()
	if faults := slices.Clone(asked.Faults); len(faults) > 0 {
		finding.Sort(faults)
		return nil, finding.Err(faults)
	}
	roles, set := newRoles(len(f.Nodes)), newSet(len(f.Nodes))
	for _, rule := range rules.roles {
		roles = roles.With(f, rule(f))
	}
	found := make([]Reference, 0, 5*len(f.Nodes)) // enough for most components
	for _, rule := range rules.references {
		found = append(found, rule(f, roles)...)
	}
	set = set.With(found)
	for _, derive := range rules.derivations {
		claims, more := derive(f, roles, set)
		roles, set = roles.With(f, claims), set.With(more)
	}
	set = set.except(asked.Exceptions)
	in := report{Facts: f, Roles: roles, Set: set, Absent: absentIn(f, set)}
	for _, report := range reports {
		findings = append(findings, report(in)...)
	}
	g := &Graph{Nodes: nodesOf(f, roles, set), References: set.all, Aside: set.aside, Claims: roles.claims, Absent: in.Absent,
		Dangling:  danglingIn(f, set),
		Creations: creations(f), Findings: findings}
	g.sort()
	return g, nil
}

// nodesOf returns the nodes with what they are for. A server that is not ready by itself is, if a
// Job that runs no later initializes it.
func nodesOf(f *facts.Facts, roles Roles, set Set) []Node {
	nodes := make([]Node, len(f.Nodes))
	for i := range f.Nodes {
		counting, doubts := roles.counting(i), f.DoubtsOf(i)
		nodes[i] = Node{Node: f.Nodes[i], Role: counting.Rung, RoleWhy: counting.Why, Companion: counting.Companion,
			Store: f.IsStore(i), Doubt: doubts.Uncertain, DoubtEntry: doubts.Entry, Expected: f.ExpectsKind(i),
			TemporarilyDegraded: doubts.TemporarilyDegraded}
		if slices.ContainsFunc(slices.Collect(set.Of(i)),
			func(r *Reference) bool { return r.initializes() && !f.Nodes[r.To].IsAfter(&f.Nodes[i]) }) {
			nodes[i].Health.Never = ""
		}
		nodes[i].Health.Never = cmp.Or(nodes[i].Health.Never, doubts.Never)
		if incomplete := f.Incompletion(i); nodes[i].Health.Never == "" {
			nodes[i].Health.Never, nodes[i].NeverFix = incomplete.Why, incomplete.Fix
			nodes[i].Doubt = cmp.Or(incomplete.Doubt, nodes[i].Doubt)
		}
		if counting.Rung == knowledge.Controllers && !counting.Companion {
			nodes[i].Reconciles = reconciledGroups(f, i)
		}
	}
	for _, c := range roles.claims {
		if n := &nodes[c.Node]; c.Never != "" {
			n.Health.Never = c.Never
		}
	}
	return nodes
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

// Without returns a copy of the graph in which some references have no effect.
func (g *Graph) Without(aside []SetAside) *Graph {
	less := *g
	none := map[Reference]bool{}
	for i := range aside {
		none[aside[i].Reference] = true
	}
	less.References = slices.DeleteFunc(slices.Clone(g.References), func(r Reference) bool { return none[r] })
	less.Aside = slices.Concat(g.Aside, aside)
	return &less
}

// sort orders the references by their objects.
func (g *Graph) sort() {
	slices.SortFunc(g.References, func(x, y Reference) int { return x.compare(&y) })
	slices.SortFunc(g.Aside, func(x, y SetAside) int { return cmp.Or(x.compare(&y.Reference), x.By.compare(&y.By)) })
	slices.SortFunc(g.Claims, func(x, y Claim) int {
		return cmp.Or(cmp.Compare(x.Node, y.Node), cmp.Compare(y.By, x.By), strings.Compare(x.Rung, y.Rung),
			strings.Compare(x.Why, y.Why), strings.Compare(x.Never, y.Never))
	})
	finding.Sort(g.Findings)
}

// String returns the graph as text, for users and tests: each object with
// references, followed by its targets.
func (g *Graph) String() string {
	var b strings.Builder
	last := -1
	for i := range g.References {
		r := &g.References[i]
		if r.From != last {
			n := g.Nodes[r.From]
			b.WriteString(n.Key.String())
			if n.Role != "" {
				fmt.Fprintf(&b, "  [%s: %s]", n.Role, n.RoleWhy)
			}
			b.WriteByte('\n')
			last = r.From
		}
		fmt.Fprintf(&b, "  %-14s %s %s%s (%s)\n", r.Answer(), r.Why, g.Nodes[r.To].Key, r.Detail(), r.evidence())
	}
	for _, a := range g.Aside {
		fmt.Fprintf(&b, "set aside: %s %s %s (%s), which %s (%s)\n", g.Nodes[a.From].Key, a.Why, g.Nodes[a.To].Key, a.Sign,
			a.By.Why, a.By.Sign)
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

// evidence says what shows a reference, and what happens without its target.
func (r *Reference) evidence() string {
	if r.Fails == Degrades || r.Fails == Lacks || r.Need == NeedsNot || r.Sign == Wait {
		return r.Sign.String() // what happens depends on the kind, nothing does, or the sign says it
	}
	return r.Sign.String() + ", " + r.Fails.String()
}
