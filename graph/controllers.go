package graph

import (
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/knowledge"
)

// admission is the API group of webhook configurations.
const admission = "admissionregistration.k8s.io"

// registrar is a resource that extends the API server.
type registrar struct{ group, resource string }

// registrars are these resources. A workload that may write them serves an API,
// injects a CA or installs CRDs.
var registrars = []registrar{
	{admission, "mutatingwebhookconfigurations"},
	{admission, "validatingwebhookconfigurations"},
	{"apiextensions.k8s.io", "customresourcedefinitions"},
	{"apiregistration.k8s.io", "apiservices"},
}

// findControllers makes a workload a controller if its permissions show that it is
// one; referToBackends did so for the backends of webhooks and APIs. The signs were
// verified with 155 workloads of 85 public charts. Permissions for everything and for
// aggregated metrics are misleading. Permissions for a kind of another component
// count only together with its status, which only controllers write. A DaemonSet is a
// controller only if it is a backend: its permissions concern its own node, and one
// node that is not ready would block the sync.
func (b *builder) findControllers() {
	for i, n := range b.Nodes {
		if !serves(n) || n.Kind.EveryNode {
			continue
		}
		for _, serviceAccount := range b.serviceAccounts(n) {
			if why := b.controllerEvidence(b.grants.rulesFor(serviceAccount), n.Part); why != "" {
				b.giveRole(i, knowledge.Controllers, why)
			}
		}
	}
	b.referToProviders()
}

// referToProviders adds references from a class, and from the objects that use it, to
// its provider: the workload with a word that is the provider's name in the class.
func (b *builder) referToProviders() {
	for c, class := range b.Nodes {
		name := class.Kind.Provider.Text(class.Root())
		if class.Kind.Provider.IsZero() || name == "" {
			continue
		}
		for _, i := range b.workloadsWith(name) {
			if !b.Nodes[i].Kind.EveryNode {
				b.giveRole(i, knowledge.Controllers, "provides "+class.Key.String())
			}
			meaning := knowledge.NoOrder
			if class.HasHealth { // only the provider makes it healthy
				meaning = knowledge.Exists
			}
			b.refer(b.inferredReference(c, i, class.Kind.Provider.String(), meaning, "is provided by"))
			for _, user := range b.referrers(c) {
				if user != i { // a volume is not bound before
					b.refer(b.inferredReference(user, i, class.Kind.Provider.String(), knowledge.Exists, "uses "+class.Key.String()+", which is provided by"))
				}
			}
		}
	}
}

// giveRole sets the role of an object, as found in the component. A role that a
// user assigned to its kind takes precedence.
func (b *builder) giveRole(node int, role, why string) {
	if n := &b.Nodes[node]; n.Role == "" && !n.Kind.RungChanged {
		n.Role, n.RoleWhy = role, why
	}
}

// controllerEvidence returns a phrase that says which permission shows that a workload
// is a controller; empty if none does.
func (b *builder) controllerEvidence(rules []rule, part int) string {
	for _, r := range rules {
		for _, reg := range registrars {
			if !slices.Contains(r.groups, "*") && r.allows(reg.group, reg.resource, "create", "update", "patch") {
				return "may write " + reg.resource
			}
		}
	}
	for _, r := range rules {
		for _, group := range r.groups {
			if group == "*" || b.base.Builtin(group) || strings.HasSuffix(group, ".metrics.k8s.io") {
				continue
			}
			for _, resource := range r.resources {
				// Controllers also set finalizers on the owners of the objects they
				// create.
				kind, part, _ := strings.Cut(resource, "/")
				if (part == "status" || part == "finalizers") && containsAny(r.verbs, "*", "update", "patch") && watches(rules, group, kind) {
					return "has RBAC permissions to watch " + kind + "." + group + " and to update their " + part
				}
			}
		}
	}
	var own []string
	for _, gk := range b.definedBy(part) {
		if def := b.defined[gk]; slices.ContainsFunc(rules, func(r rule) bool { return r.allows(gk.Group, def.plural, "watch") }) {
			own = append(own, def.plural+"."+gk.Group)
		}
	}
	if own != nil {
		return "has RBAC permissions to watch " + slices.Min(own) + ", whose CRD is in the component"
	}
	return ""
}

func watches(rules []rule, group, resource string) bool {
	return slices.ContainsFunc(rules, func(r rule) bool { return r.allows(group, resource, "watch", "list") })
}
