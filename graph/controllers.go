package graph

import (
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/knowledge"
)

// admission is the group of webhook configurations.
const admission = "admissionregistration.k8s.io"

// registrar is a resource whose objects extend the API server.
type registrar struct{ group, resource string }

// registrars are all of them. Who may write them serves an API, injects a CA or
// installs definitions.
var registrars = []registrar{
	{admission, "mutatingwebhookconfigurations"},
	{admission, "validatingwebhookconfigurations"},
	{"apiextensions.k8s.io", "customresourcedefinitions"},
	{"apiregistration.k8s.io", "apiservices"},
}

// findControllers: a workload is a controller when its rights give it away, or
// when it serves a webhook or API of the component (see backends). The signs are
// those that held on 155 workloads of 85 public charts; rights to everything
// and to aggregated metrics mislead, and rights to a kind that others define
// count only together with its status, which nobody but a controller writes. What
// runs on every node is one only if it serves: its rights say what it does there, and
// one node that is not ready would hold up the sync.
func (b *builder) findControllers() {
	for i, n := range b.Nodes {
		if !serves(n) || n.Kind.Everywhere {
			continue
		}
		for _, account := range b.accounts(n) {
			if why := b.controls(b.grants.rulesFor(account), n.Part); why != "" {
				b.giveRole(i, knowledge.Controllers, why)
			}
		}
	}
	b.referToProviders()
}

// referToProviders: who is told the name by which a class of the component asks for
// its provider is that provider.
func (b *builder) referToProviders() {
	for c, class := range b.Nodes {
		name := first(class.Kind.Provider, class)
		if class.Kind.Provider.IsZero() || name == "" {
			continue
		}
		for _, i := range b.told(name) {
			if !b.Nodes[i].Kind.Everywhere {
				b.giveRole(i, knowledge.Controllers, "provides "+class.Key.String())
			}
			meaning := knowledge.Known
			if class.HasHealth { // which nobody but the provider brings
				meaning = knowledge.Exists
			}
			b.refer(b.inferred(c, i, class.Kind.Provider.String(), meaning, "is provided by"))
			for _, user := range b.referrers(c) {
				if user != i { // a volume is not bound before
					b.refer(b.inferred(user, i, class.Kind.Provider.String(), knowledge.Exists, "uses "+class.Key.String()+", which is provided by"))
				}
			}
		}
	}
}

// giveRole says what an object does in the component, as far as that was seen
// in it. What a person wrote about its kind goes before.
func (b *builder) giveRole(node int, role, why string) {
	if n := &b.Nodes[node]; n.Role == "" && !n.Kind.Moved {
		n.Role, n.RoleWhy = role, why
	}
}

// controls says by which right the rules give a controller of a component away;
// empty if they do not.
func (b *builder) controls(rules []rule, part int) string {
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
				// Finalizers are set by controllers too: on what owns the
				// objects they make.
				kind, part, _ := strings.Cut(resource, "/")
				if (part == "status" || part == "finalizers") && containsAny(r.verbs, "*", "update", "patch") && watches(rules, group, kind) {
					return "may watch " + kind + "." + group + " and write their " + part
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
		return "may watch " + slices.Min(own) + ", which the component defines"
	}
	return ""
}

func watches(rules []rule, group, resource string) bool {
	return slices.ContainsFunc(rules, func(r rule) bool { return r.allows(group, resource, "watch", "list") })
}
