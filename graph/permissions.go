package graph

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// grants are the permissions of each ServiceAccount and group of ServiceAccounts,
// read from the roles and bindings of the component. Roles outside the component
// are unknown.
type grants struct {
	rules    map[object.ID][]rule
	bindings map[object.ID][]int // the nodes of bindings
	// hooks are permissions from bindings that are hooks, which may be deleted
	// afterwards.
	hooks map[object.ID][]rule
}

// rulesFor returns the permissions of a ServiceAccount, including those of its
// groups.
func (g grants) rulesFor(serviceAccount object.ID) []rule { return gather(g.rules, serviceAccount) }

// bindingsFor returns the bindings that name a ServiceAccount or one of its groups.
func (g grants) bindingsFor(serviceAccount object.ID) []int {
	return gather(g.bindings, serviceAccount)
}

func gather[T any](granted map[object.ID][]T, serviceAccount object.ID) []T {
	all := granted[serviceAccount]
	for _, group := range []string{allUsers, allServiceAccounts, allServiceAccounts + ":" + serviceAccount.Namespace} {
		if more := granted[object.ID{Kind: "Group", Name: group}]; len(more) > 0 {
			all = append(slices.Clip(all), more...)
		}
	}
	return all
}

// allServiceAccounts is the group of all ServiceAccounts; with a namespace appended, of
// those in the namespace. A ServiceAccount is also a user with such a name
// (https://kubernetes.io/docs/reference/access-authn-authz/rbac/#referring-to-subjects).
const (
	allUsers            = "system:authenticated"
	allServiceAccounts  = "system:serviceaccounts"
	serviceAccountUsers = "system:serviceaccount:"
)

// rule is a rule of a Role.
type rule struct {
	groups, resources, verbs, names []string
	// in is the namespace of the rule, empty for all.
	in string
}

// allows reports whether the rule allows one of the verbs on a resource.
func (r rule) allows(group, resource string, verbs ...string) bool {
	return containsAny(r.groups, "*", group) && containsAny(r.resources, "*", resource) && (slices.Contains(r.verbs, "*") || containsAny(r.verbs, verbs...))
}

// rulesOfNode returns the permissions of a node's ServiceAccount; for a hook,
// including those from other hooks.
func (b *builder) rulesOfNode(i int) []rule {
	var all []rule
	n := &b.Nodes[i]
	for _, serviceAccount := range b.serviceAccounts(*n) {
		all = append(all, b.grants.rulesFor(serviceAccount)...)
		if n.IsHook() {
			all = append(all, gather(b.grants.hooks, serviceAccount)...)
		}
	}
	return all
}

// referToPermissions makes a workload depend on the bindings that grant permissions to
// its ServiceAccount.
func (b *builder) referToPermissions() {
	for i, n := range b.Nodes {
		for _, tmpl := range n.Kind.Pod.Find(n.Root()) {
			serviceAccount, ok := serviceAccountOf(n, tmpl.Value)
			if !ok {
				continue
			}
			for _, binding := range b.grants.bindingsFor(serviceAccount) {
				b.refer(Reference{From: i, To: binding, Field: join(tmpl.Field, "spec.serviceAccountName"), Meaning: knowledge.Exists, Why: "has the permissions of",
					Source: b.Nodes[binding].Kind.Source})
			}
		}
	}
	b.referToGrantedPermissions()
	b.referToDeployerPermissions()
}

// referToGrantedPermissions makes objects of some kinds depend on the permissions of a
// ServiceAccount that they name.
func (b *builder) referToGrantedPermissions() {
	for i := range b.Nodes {
		for _, rec := range b.Nodes[i].Kind.References {
			if !rec.Granted {
				continue
			}
			for _, f := range rec.At.Find(b.Nodes[i].Root()) {
				m, ok := readMention(rec, f)
				if !ok {
					continue
				}
				for _, binding := range b.grants.bindingsFor(b.identify(i, m)) {
					b.refer(Reference{From: i, To: binding, Field: m.field, Meaning: knowledge.Exists, Why: "has the permissions of", Source: b.Nodes[binding].Kind.Source})
				}
			}
		}
	}
}

// referToDeployerPermissions makes objects that Argo CD may only create with
// permissions that the component grants depend on the bindings.
func (b *builder) referToDeployerPermissions() {
	for serviceAccount, rules := range b.grants.rules {
		if serviceAccount.Kind == "ServiceAccount" && b.base.IsDeployer(serviceAccount.Name) {
			about := byGroup(rules)
			for _, kind := range b.kindRanges {
				if b.base.Builtin(kind.group) {
					continue
				}
				for i := kind.from; i < kind.to; i++ {
					b.referToDeployerBindings(i, kind, serviceAccount, about[kind.group])
				}
			}
		}
	}
}

// referToDeployerBindings adds references from a node to the bindings that allow a
// ServiceAccount to create it.
func (b *builder) referToDeployerBindings(i int, kind kindRange, serviceAccount object.ID, rules []rule) {
	n := &b.Nodes[i]
	for _, r := range rules {
		if r.in != "" && r.in != n.Key.Namespace || !r.allows(kind.group, kind.plural, "create") {
			continue
		}
		for _, binding := range b.grants.bindings[serviceAccount] {
			if to := &b.Nodes[binding]; to.Part == n.Part && to.Key.Namespace == r.in && !b.refersTo(binding, i) {
				ref := b.inferredReference(i, binding, kindField, knowledge.Exists, "may be created by Argo CD with the permissions of")
				ref.Hard = true
				b.refer(ref)
			}
		}
	}
}

// referToServedAPIs makes a workload with permissions on an API group that the
// component serves by an APIService depend on that API, which it usually uses at
// startup. The backend itself does not.
func (b *builder) referToServedAPIs() {
	apis := map[string][]int{}
	for i, n := range b.Nodes {
		if group := n.Kind.Serves.Text(n.Root()); !n.Kind.Serves.IsZero() && group != "" && n.Get("spec", "service").Exists() && !n.IsHook() {
			apis[group] = append(apis[group], i)
		}
	}
	if len(apis) == 0 {
		return
	}
	for i, n := range b.Nodes {
		if n.Kind.Pod.IsZero() || n.Kind.Runs == "later" {
			continue
		}
		for _, serviceAccount := range b.serviceAccounts(n) {
			for _, r := range b.grants.rulesFor(serviceAccount) {
				for _, group := range r.groups {
					for _, api := range apis[group] {
						if !b.refersTo(api, i) {
							b.refer(Reference{From: i, To: api, Field: "spec.template.spec.serviceAccountName", Meaning: knowledge.Exists, Inferred: true, Why: "uses the API of",
								Source: b.Nodes[api].Kind.Source})
						}
					}
				}
			}
		}
	}
}

// serviceAccounts returns the ServiceAccounts of a workload's Pods.
func (b *builder) serviceAccounts(n Node) []object.ID {
	var all []object.ID
	for _, tmpl := range n.Kind.Pod.Find(n.Root()) {
		if serviceAccount, ok := serviceAccountOf(n, tmpl.Value); ok {
			all = append(all, serviceAccount)
		}
	}
	return all
}

// serviceAccountOf returns the ServiceAccount of a Pod. The default ServiceAccount has
// permissions only if its token is mounted.
func serviceAccountOf(n Node, tmpl object.Value) (object.ID, bool) {
	name := cmp.Or(tmpl.Get("spec", "serviceAccountName").Text(), tmpl.Get("spec", "serviceAccount").Text())
	id := object.ID{Kind: "ServiceAccount", Namespace: n.Key.Namespace, Name: cmp.Or(name, "default")}
	token := tmpl.Get("spec", "automountServiceAccountToken")
	return id, name != "" || !token.Exists() || token.True()
}

// clusterAdmin is a built-in role that allows everything
// (https://kubernetes.io/docs/reference/access-authn-authz/rbac/#user-facing-roles).
const clusterAdmin = "cluster-admin"

// showsPermissions reports whether the component shows all permissions of a workload:
// its Pods have no token, or all of the following hold: their ServiceAccount is in the
// component, has a cluster-wide binding and none that is a hook, and all its roles are
// in the component or built-in. If a platform team manages the RBAC of an operator,
// the component does not show it.
func (b *builder) showsPermissions(workload int) bool {
	return !slices.ContainsFunc(b.serviceAccounts(b.Nodes[workload]), func(serviceAccount object.ID) bool {
		bindings := b.grants.bindingsFor(serviceAccount)
		isClusterWide := func(binding int) bool { return b.Nodes[binding].Key.Namespace == "" }
		return len(b.byKey[serviceAccount]) == 0 || len(gather(b.grants.hooks, serviceAccount)) > 0 ||
			!slices.ContainsFunc(bindings, isClusterWide) || slices.ContainsFunc(bindings, b.isExternal)
	})
}

// isExternal reports whether a binding grants permissions that neither the
// component nor the known built-in roles show.
func (b *builder) isExternal(binding int) bool {
	roles := b.roles(binding)
	if len(roles) == 0 {
		ref := b.Nodes[binding].Get("roleRef")
		return !b.base.Everywhere(ref.Get("kind").Text(), ref.Get("name").Text())
	}
	return slices.ContainsFunc(roles, func(role int) bool { return b.Nodes[role].Get("aggregationRule").Exists() })
}

// findGrants reads the permissions of ServiceAccounts.
func (b *builder) findGrants() { b.grants = b.readGrants() }

func (b *builder) readGrants() grants {
	g := grants{rules: map[object.ID][]rule{}, bindings: map[object.ID][]int{}, hooks: map[object.ID][]rule{}}
	for i := range b.Nodes {
		if b.Nodes[i].Kind.Permissions == "role" {
			b.roleNodes = append(b.roleNodes, i)
		}
	}
	for i, n := range b.Nodes {
		if n.Kind.Permissions != "binding" {
			continue
		}
		var rules []rule
		roles := b.roles(i)
		for _, r := range roles {
			rules = append(rules, b.rulesOf(b.Nodes[r])...)
		}
		if len(roles) == 0 && n.Get("roleRef", "name").Text() == clusterAdmin {
			rules = append(rules, rule{groups: []string{"*"}, resources: []string{"*"}, verbs: []string{"*"}})
		}
		for r := range rules {
			rules[r].in = n.Key.Namespace
		}
		for _, subject := range n.Get("subjects").Items() {
			id, ok := grantee(n, subject)
			switch {
			case ok && n.IsHook():
				g.hooks[id] = append(g.hooks[id], rules...)
			case ok:
				g.rules[id] = append(g.rules[id], rules...)
				g.bindings[id] = append(g.bindings[id], i)
			}
		}
	}
	return g
}

// grantee returns the ServiceAccount or group of ServiceAccounts of a binding's
// subject; false for a person or another group.
func grantee(binding Node, subject object.Value) (object.ID, bool) {
	id := object.ID{Kind: subject.Get("kind").Text(), Name: subject.Get("name").Text()}
	switch id.Kind {
	case "ServiceAccount":
		id.Namespace = cmp.Or(subject.Get("namespace").Text(), binding.Key.Namespace, binding.destination)
		return id, true
	case "Group":
		return id, id.Name == allUsers || id.Name == allServiceAccounts || strings.HasPrefix(id.Name, allServiceAccounts+":")
	}
	name, ok := strings.CutPrefix(id.Name, serviceAccountUsers)
	namespace, name, named := strings.Cut(name, ":")
	return object.ID{Kind: "ServiceAccount", Namespace: namespace, Name: name}, ok && named
}

// roles returns the roles that a binding grants.
func (b *builder) roles(binding int) []int {
	n := b.Nodes[binding]
	ref := n.Get("roleRef")
	id := object.ID{Group: n.ID.Group, Kind: ref.Get("kind").Text(), Name: ref.Get("name").Text()}
	if !b.clusterScoped(knowledge.GroupKind{Group: id.Group, Kind: id.Kind}) {
		id.Namespace = n.Key.Namespace
	}
	return b.byKey[id]
}

// rulesOf returns the rules of a role. An aggregated role contains the rules of
// roles with certain labels; Kubernetes fills it at run time.
func (b *builder) rulesOf(role Node) []rule {
	rules := readRules(role)
	for _, selector := range role.Get("aggregationRule", "clusterRoleSelectors").Items() {
		for _, i := range b.roleNodes {
			if other := &b.Nodes[i]; other.Key.Kind == role.Key.Kind && other.Key != role.Key && b.selectorAllows(selector, other.Get("metadata", "labels")) {
				rules = append(rules, readRules(*other)...)
			}
		}
	}
	return rules
}

func readRules(role Node) []rule {
	var rules []rule
	for _, r := range role.Get("rules").Items() {
		rules = append(rules, rule{groups: texts(r.Get("apiGroups")), resources: texts(r.Get("resources")), verbs: texts(r.Get("verbs")), names: texts(r.Get("resourceNames"))})
	}
	return rules
}

// plural returns the resource name of an object's kind: from its CRD or, otherwise,
// the regular English plural.
func (b *builder) plural(n Node) string {
	if def, ok := b.defined[knowledge.GroupKind{Group: n.ID.Group, Kind: n.ID.Kind}]; ok && def.plural != "" {
		return def.plural
	}
	return plural(n.ID.Kind)
}

func plural(kind string) string {
	word := strings.ToLower(kind)
	switch {
	case strings.HasSuffix(word, "s"), strings.HasSuffix(word, "x"), strings.HasSuffix(word, "ch"), strings.HasSuffix(word, "sh"):
		return word + "es"
	case strings.HasSuffix(word, "y") && !strings.ContainsAny(word[max(0, len(word)-2):len(word)-1], "aeiou"):
		return word[:len(word)-1] + "ies"
	}
	return word + "s"
}
