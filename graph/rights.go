package graph

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// grants are the rights of each ServiceAccount and of each group of them, read from
// the roles and bindings of the component. Roles that are not in it tell nothing.
type grants struct {
	rules    map[object.ID][]rule
	bindings map[object.ID][]int // the binding nodes
	// hooks are rights from bindings that are hooks, and may be gone behind them.
	hooks map[object.ID][]rule
}

// rulesFor are the rights of a ServiceAccount, with those of its groups.
func (g grants) rulesFor(account object.ID) []rule { return gather(g.rules, account) }

// bindingsFor are the bindings that name a ServiceAccount or a group of its.
func (g grants) bindingsFor(account object.ID) []int { return gather(g.bindings, account) }

func gather[T any](granted map[object.ID][]T, account object.ID) []T {
	all := granted[account]
	for _, group := range []string{allUsers, allAccounts, allAccounts + ":" + account.Namespace} {
		if more := granted[object.ID{Kind: "Group", Name: group}]; len(more) > 0 {
			all = append(slices.Clip(all), more...)
		}
	}
	return all
}

// allAccounts is the group of all ServiceAccounts; with a namespace behind it, of those
// of the namespace. A ServiceAccount is also a user with such a name
// (https://kubernetes.io/docs/reference/access-authn-authz/rbac/#referring-to-subjects).
const (
	allUsers     = "system:authenticated"
	allAccounts  = "system:serviceaccounts"
	accountUsers = "system:serviceaccount:"
)

// rule is one rule of a Role.
type rule struct {
	groups, resources, verbs, names []string
	// in is the namespace in which it holds, empty for all.
	in string
}

// allows reports whether the rule gives one of the verbs on a resource.
func (r rule) allows(group, resource string, verbs ...string) bool {
	return containsAny(r.groups, "*", group) && containsAny(r.resources, "*", resource) && (slices.Contains(r.verbs, "*") || containsAny(r.verbs, verbs...))
}

// rulesOfNode are the rights of the account of a node; of a hook, with those that come
// with other hooks.
func (b *builder) rulesOfNode(i int) []rule {
	var all []rule
	n := &b.Nodes[i]
	for _, account := range b.accounts(*n) {
		all = append(all, b.grants.rulesFor(account)...)
		if n.IsHook() {
			all = append(all, gather(b.grants.hooks, account)...)
		}
	}
	return all
}

// referToRights: a workload needs the rights of its account, which come with the
// bindings that name the account.
func (b *builder) referToRights() {
	for i, n := range b.Nodes {
		for _, tmpl := range n.Kind.Pod.Find(n.Root()) {
			account, ok := accountOf(n, tmpl.Value)
			if !ok {
				continue
			}
			for _, binding := range b.grants.bindingsFor(account) {
				b.refer(Reference{From: i, To: binding, Field: join(tmpl.Field, "spec.serviceAccountName"), Meaning: knowledge.Exists, Why: "has the permissions of",
					Source: b.Nodes[binding].Kind.Source})
			}
		}
	}
	b.referToGrantedRights()
	b.referToDeployerRights()
}

// referToGrantedRights: some objects need the rights of a ServiceAccount that they name.
func (b *builder) referToGrantedRights() {
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

// referToDeployerRights: Argo CD itself may need rights that the component grants it.
func (b *builder) referToDeployerRights() {
	for account, rules := range b.grants.rules {
		if account.Kind == "ServiceAccount" && b.base.IsDeployer(account.Name) {
			about := byGroup(rules)
			for _, kind := range b.runs {
				if b.base.Builtin(kind.group) {
					continue
				}
				for i := kind.from; i < kind.to; i++ {
					b.deployedWith(i, kind, account, about[kind.group])
				}
			}
		}
	}
}

// deployedWith refers from a node to the bindings that let an account create it.
func (b *builder) deployedWith(i int, kind run, account object.ID, rules []rule) {
	n := &b.Nodes[i]
	for _, r := range rules {
		if r.in != "" && r.in != n.Key.Namespace || !r.allows(kind.group, kind.plural, "create") {
			continue
		}
		for _, binding := range b.grants.bindings[account] {
			if to := &b.Nodes[binding]; to.Part == n.Part && to.Key.Namespace == r.in && !b.refersTo(binding, i) {
				ref := b.inferred(i, binding, kindField, knowledge.Exists, "may be created by Argo CD with the permissions of")
				ref.Hard = true
				b.refer(ref)
			}
		}
	}
}

// referToServedAPIs: a workload with rights on a group that the component serves through the API
// server uses that API, and mostly when it starts. Whoever serves it does not.
func (b *builder) referToServedAPIs() {
	apis := map[string][]int{}
	for i, n := range b.Nodes {
		if group := first(n.Kind.Serves, n); !n.Kind.Serves.IsZero() && group != "" && n.Get("spec", "service").Exists() && !n.IsHook() {
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
		for _, account := range b.accounts(n) {
			for _, r := range b.grants.rulesFor(account) {
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

// accounts returns the ServiceAccount that a workload's Pods run as.
func (b *builder) accounts(n Node) []object.ID {
	var all []object.ID
	for _, tmpl := range n.Kind.Pod.Find(n.Root()) {
		if account, ok := accountOf(n, tmpl.Value); ok {
			all = append(all, account)
		}
	}
	return all
}

// accountOf is the ServiceAccount of a Pod. One that names none runs as that which
// Kubernetes puts into every namespace, and has rights only if it gets its token.
func accountOf(n Node, tmpl object.Value) (object.ID, bool) {
	name := cmp.Or(tmpl.Get("spec", "serviceAccountName").Text(), tmpl.Get("spec", "serviceAccount").Text())
	id := object.ID{Kind: "ServiceAccount", Namespace: n.Key.Namespace, Name: cmp.Or(name, "default")}
	token := tmpl.Get("spec", "automountServiceAccountToken")
	return id, name != "" || !token.Exists() || token.True()
}

// clusterAdmin is the role that every cluster has and that allows everything
// (https://kubernetes.io/docs/reference/access-authn-authz/rbac/#user-facing-roles).
const clusterAdmin = "cluster-admin"

// showsRights reports whether the component shows all that a workload may do in the
// cluster: its Pods have no token, or a ServiceAccount of the component, some right on the
// whole cluster, and no role that is filled or bound elsewhere. Where a platform team keeps
// the RBAC of an operator, nothing is shown.
func (b *builder) showsRights(workload int) bool {
	return !slices.ContainsFunc(b.accounts(b.Nodes[workload]), func(account object.ID) bool {
		bindings := b.grants.bindingsFor(account)
		everywhere := func(binding int) bool { return b.Nodes[binding].Key.Namespace == "" }
		return len(b.byKey[account]) == 0 || len(gather(b.grants.hooks, account)) > 0 ||
			!slices.ContainsFunc(bindings, everywhere) || slices.ContainsFunc(bindings, b.isFilledElsewhere)
	})
}

// isFilledElsewhere reports whether a binding gives rights that neither the component shows
// nor a role of Kubernetes' own, of which those that count here are read as they are.
func (b *builder) isFilledElsewhere(binding int) bool {
	roles := b.roles(binding)
	if len(roles) == 0 {
		ref := b.Nodes[binding].Get("roleRef")
		return !b.base.Everywhere(ref.Get("kind").Text(), ref.Get("name").Text())
	}
	return slices.ContainsFunc(roles, func(role int) bool { return b.Nodes[role].Get("aggregationRule").Exists() })
}

// findGrants: who has which rights.
func (b *builder) findGrants() { b.grants = b.readGrants() }

func (b *builder) readGrants() grants {
	g := grants{rules: map[object.ID][]rule{}, bindings: map[object.ID][]int{}, hooks: map[object.ID][]rule{}}
	for i := range b.Nodes {
		if b.Nodes[i].Kind.Rights == "role" {
			b.roleNodes = append(b.roleNodes, i)
		}
	}
	for i, n := range b.Nodes {
		if n.Kind.Rights != "binding" {
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

// grantee is the ServiceAccount, or the group of them, to which a subject of a binding
// grants; false if it is a person or a group of others.
func grantee(binding Node, subject object.Value) (object.ID, bool) {
	id := object.ID{Kind: subject.Get("kind").Text(), Name: subject.Get("name").Text()}
	switch id.Kind {
	case "ServiceAccount":
		id.Namespace = cmp.Or(subject.Get("namespace").Text(), binding.Key.Namespace, binding.home)
		return id, true
	case "Group":
		return id, id.Name == allUsers || id.Name == allAccounts || strings.HasPrefix(id.Name, allAccounts+":")
	}
	name, ok := strings.CutPrefix(id.Name, accountUsers)
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

// rulesOf returns the rules of a role. An aggregated role collects those of
// the roles with certain labels; Kubernetes fills it in at run time.
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

// plural returns the resource name of an object's kind: what its definition
// says, or else the English plural that nearly every kind has.
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
