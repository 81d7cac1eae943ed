package graph

import (
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/graph/facts"
	"github.com/ladder-cmp/ladder/knowledge"
)

// Claim says what an object is for in its component, and who says so.
type Claim struct {
	Node int
	By   Authority
	// Rung is the class of the object, and Why the reason, as a predicate.
	Rung, Why string
	// Companion means that no manifest shows the rung: a controller of that rung may need
	// the object at startup.
	Companion bool
	// Never, if set, says why the object never becomes healthy. The claim is then about
	// nothing else.
	Never string
}

// Authority says who makes a claim. Authorities are sorted: of several claims about an
// object, the last one counts.
type Authority uint8

const (
	// Nearby: a controller runs beside it.
	Nearby Authority = iota
	// Purpose: its name or what it calls says what it is for.
	Purpose
	// Provides: a class names it as its provider.
	Provides
	// Permitted: its permissions show that it is a controller.
	Permitted
	// Serves: it serves a webhook or an API.
	Serves
	// KindSetting: a ladder.yaml assigns a rung to its kind. There are no such claims, but
	// weaker ones do not count then.
	KindSetting
	// Asked: a user assigned a rung to the object.
	Asked
)

// Roles are the claims about objects: for each the one that counts, and all others. It is
// immutable.
type Roles struct {
	byNode []int32 // the claim that counts, counted from 1
	claims []Claim
}

// newRoles returns no claims about a number of nodes.
func newRoles(nodes int) Roles { return Roles{byNode: make([]int32, nodes)} }

// With returns the roles with more claims. Of two with the same authority, the first one
// counts.
func (r Roles) With(f *facts.Facts, more []Claim) Roles {
	if len(more) == 0 {
		return r
	}
	out := Roles{slices.Clone(r.byNode), slices.Clip(r.claims)}
	for _, c := range more {
		if slices.Contains(out.claims, c) {
			continue
		}
		out.claims = append(out.claims, c)
		if c.Never != "" || f.Nodes[c.Node].Kind.RungChanged && c.By < KindSetting {
			continue
		}
		if now := out.byNode[c.Node]; now == 0 || out.claims[now-1].By < c.By {
			out.byNode[c.Node] = int32(len(out.claims))
		}
	}
	return out
}

// Of returns the rung of a node that its kind does not imply; empty if there is none.
func (r *Roles) Of(node int) string { return r.counting(node).Rung }

// IsController reports whether a node is a controller, or a companion of one.
func (r *Roles) IsController(node int) bool { return r.Of(node) == knowledge.Controllers }

// Controllers returns the controllers and their companions, in order.
func (r *Roles) Controllers() []int {
	var all []int
	for i := range r.byNode {
		if r.IsController(i) {
			all = append(all, i)
		}
	}
	return all
}

// counting returns the claim that counts for a node; the zero value if there is none.
func (r *Roles) counting(node int) Claim {
	if at := r.byNode[node]; at > 0 {
		return r.claims[at-1]
	}
	return Claim{}
}

// rolesAsked returns the rungs that users assigned in annotations.
func rolesAsked(f *facts.Facts) (claims []Claim) {
	for _, r := range f.Requests().Rungs {
		claims = append(claims, Claim{Node: r.Node, By: Asked, Rung: r.Rung, Why: "is placed on this rung by the " + r.Key + " annotation"})
	}
	return claims
}

// rolesByService makes the workloads behind webhooks, APIServices and conversions
// controllers. An object with an address is called by others and is not part of the API.
func rolesByService(f *facts.Facts) (claims []Claim) {
	for _, s := range f.Served() {
		if !s.Record.Address {
			claims = append(claims, Claim{Node: s.Workload, By: Serves, Rung: knowledge.Controllers, Why: "serves " + f.Nodes[s.By].Key.String()})
		}
	}
	return claims
}

// rolesByPermission makes a workload a controller if its permissions show that it is one.
// The signs were verified with 155 workloads of 85 public charts. Permissions for
// everything and for aggregated metrics are misleading. Permissions for a kind of another
// component count only together with its status, which only controllers write. A DaemonSet
// is a controller only if it is a backend: its permissions concern its own node, and one
// node that is not ready would block the sync.
func rolesByPermission(f *facts.Facts) (claims []Claim) {
	for i := range f.Nodes {
		n := &f.Nodes[i]
		if !n.Serves() || n.Kind.EveryNode {
			continue
		}
		for _, serviceAccount := range f.ServiceAccounts(i) {
			if why := controllerEvidence(f, f.GrantedTo(serviceAccount), n.Part); why != "" {
				claims = append(claims, Claim{Node: i, By: Permitted, Rung: knowledge.Controllers, Why: why})
				break
			}
		}
	}
	return claims
}

// controllerEvidence returns a phrase that says which permission shows that a workload
// is a controller; empty if none does.
func controllerEvidence(f *facts.Facts, rules []facts.Rule, part int) string {
	for _, r := range rules {
		for _, reg := range facts.Registrars {
			if !slices.Contains(r.Groups, "*") && r.Allows(reg.Group, reg.Resource, "create", "update", "patch") {
				return "may write " + reg.Resource
			}
		}
	}
	for _, r := range rules {
		for _, group := range r.Groups {
			if group == "*" || f.Base.Builtin(group) || strings.HasSuffix(group, ".metrics.k8s.io") {
				continue
			}
			for _, resource := range r.Resources {
				// Controllers also set finalizers on the owners of the objects they
				// create.
				kind, part, _ := strings.Cut(resource, "/")
				if (part == "status" || part == "finalizers") && facts.HasAny(r.Verbs, "*", "update", "patch") && watches(rules, group, kind) {
					return "has RBAC permissions to watch " + kind + "." + group + " and to update their " + part
				}
			}
		}
	}
	var own []string
	for _, gk := range f.DefinedBy(part) {
		if def, _ := f.Defined(gk); slices.ContainsFunc(rules, func(r facts.Rule) bool { return r.Allows(gk.Group, def.Plural, "watch") }) {
			own = append(own, def.Plural+"."+gk.Group)
		}
	}
	if own != nil {
		return "has RBAC permissions to watch " + slices.Min(own) + ", whose CRD is in the component"
	}
	return ""
}

func watches(rules []facts.Rule, group, resource string) bool {
	return slices.ContainsFunc(rules, func(r facts.Rule) bool { return r.Allows(group, resource, "watch", "list") })
}

// rolesByClass makes the workload a controller whose name a class has as its provider.
func rolesByClass(f *facts.Facts) (claims []Claim) {
	for _, p := range f.Providers() {
		if !f.Nodes[p.Workload].Kind.EveryNode {
			claims = append(claims, Claim{Node: p.Workload, By: Provides, Rung: knowledge.Controllers,
				Why: "provides " + f.Nodes[p.Class].Key.String()})
		}
	}
	return claims
}
