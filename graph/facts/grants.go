package facts

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// grantFacts is what RBAC shows.
type grantFacts struct{ granted memo[grants] }

// Grants returns the permissions of ServiceAccounts by bindings that are not hooks.
func (f *Facts) Grants() map[object.ID][]Rule { return f.grants().rules }

// GrantedTo returns the permissions of a ServiceAccount, including those of its groups.
func (f *Facts) GrantedTo(serviceAccount object.ID) []Rule {
	g := f.grants()
	all, known := g.to[serviceAccount]
	if !known {
		all = slices.Clip(gather(g.rules, serviceAccount))
		g.to[serviceAccount] = all
	}
	return all
}

// BindingsFor returns the bindings that name a ServiceAccount or one of its groups.
func (f *Facts) BindingsFor(serviceAccount object.ID) []int {
	return gather(f.grants().bindings, serviceAccount)
}

// BindingsOf returns the bindings that name a ServiceAccount itself.
func (f *Facts) BindingsOf(serviceAccount object.ID) []int {
	return f.grants().bindings[serviceAccount]
}

// HookBindingsOf returns the bindings that name a ServiceAccount itself and are hooks of a sync.
func (f *Facts) HookBindingsOf(serviceAccount object.ID) (all []int) {
	for _, binding := range f.grants().hookBindings[serviceAccount] {
		if f.Nodes[binding].IsApplied() {
			all = append(all, binding)
		}
	}
	return all
}

// AllBindingsOf returns the bindings that name a ServiceAccount itself, with hooks of every
// phase.
func (f *Facts) AllBindingsOf(serviceAccount object.ID) []int {
	return slices.Concat(f.grants().bindings[serviceAccount], f.grants().hookBindings[serviceAccount])
}

func (f *Facts) grants() *grants {
	f.granted.get(f.readGrants)
	return &f.granted.value
}

// grants are the permissions of each ServiceAccount and group of ServiceAccounts,
// read from the roles and bindings of the component. Roles outside the component
// are unknown.
type grants struct {
	rules    map[object.ID][]Rule
	to       map[object.ID][]Rule // those that GrantedTo found
	bindings map[object.ID][]int  // the nodes of bindings
	// hooks are permissions from hookBindings, bindings that are hooks, which may be deleted
	// afterwards.
	hooks        map[object.ID][]Rule
	hookBindings map[object.ID][]int
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

// Rule is a rule of a Role.
type Rule struct {
	Groups, Resources, Verbs, Names []string
	// In is the namespace of the rule, empty for all.
	In string
}

// Allows reports whether the rule allows one of the verbs on a resource.
func (r Rule) Allows(group, resource string, verbs ...string) bool {
	return HasAny(r.Groups, "*", group) && HasAny(r.Resources, "*", resource) && (slices.Contains(r.Verbs, "*") || HasAny(r.Verbs, verbs...))
}

// RulesOfNode returns the permissions of a node's ServiceAccount; for a hook,
// including those from other hooks.
func (f *Facts) RulesOfNode(i int) []Rule {
	var all []Rule
	n := &f.Nodes[i]
	for _, serviceAccount := range f.ServiceAccounts(i) {
		all = append(all, f.GrantedTo(serviceAccount)...)
		if n.IsHook() {
			all = append(all, gather(f.grants().hooks, serviceAccount)...)
		}
	}
	return all
}

// ServiceAccounts returns the ServiceAccounts of a workload's Pods.
func (f *Facts) ServiceAccounts(i int) []object.ID {
	var all []object.ID
	n := &f.Nodes[i]
	for _, tmpl := range n.Kind.Pod.Find(n.Root()) {
		if serviceAccount, ok := ServiceAccountOf(n, tmpl.Value); ok {
			all = append(all, serviceAccount)
		}
	}
	return all
}

// ServiceAccountOf returns the ServiceAccount of a Pod. The default ServiceAccount has
// permissions only if its token is mounted.
func ServiceAccountOf(n *Node, tmpl object.Value) (object.ID, bool) {
	name := cmp.Or(tmpl.Get("spec", "serviceAccountName").Text(), tmpl.Get("spec", "serviceAccount").Text())
	id := object.ID{Kind: "ServiceAccount", Namespace: n.Key.Namespace, Name: cmp.Or(name, "default")}
	token := tmpl.Get("spec", "automountServiceAccountToken")
	return id, name != "" || !token.Exists() || token.True()
}

// clusterAdmin is a built-in role that allows everything
// (https://kubernetes.io/docs/reference/access-authn-authz/rbac/#user-facing-roles).
const clusterAdmin = "cluster-admin"

// UsesPermissions reports whether a workload probably fails, or is never ready, without the
// permissions that its ServiceAccount has: it runs once, or elects a leader by a Lease
// (https://kubernetes.io/docs/concepts/architecture/leases/#leader-election).
func (f *Facts) UsesPermissions(workload int) bool {
	electsLeader := func(r Rule) bool { return r.Allows("coordination.k8s.io", "leases", "create", "update") }
	return f.Nodes[workload].Kind.Runs == "once" || slices.ContainsFunc(f.ServiceAccounts(workload), func(serviceAccount object.ID) bool {
		return slices.ContainsFunc(f.GrantedTo(serviceAccount), electsLeader) ||
			slices.ContainsFunc(gather(f.grants().hooks, serviceAccount), electsLeader)
	})
}

// ShowsPermissions reports whether the component shows all permissions of a workload:
// its Pods have no token, or all of the following hold: their ServiceAccount is in the
// component, has a cluster-wide binding and none that is a hook, and all its roles are
// in the component or built-in. If a platform team manages the RBAC of an operator,
// the component does not show it.
func (f *Facts) ShowsPermissions(workload int) bool {
	return !slices.ContainsFunc(f.ServiceAccounts(workload), func(serviceAccount object.ID) bool {
		bindings := f.BindingsFor(serviceAccount)
		isClusterWide := func(binding int) bool { return f.Nodes[binding].Key.Namespace == "" }
		return len(f.byKey[serviceAccount]) == 0 || len(gather(f.grants().hooks, serviceAccount)) > 0 ||
			!slices.ContainsFunc(bindings, isClusterWide) || slices.ContainsFunc(bindings, f.isExternal)
	})
}

// isExternal reports whether a binding grants permissions that neither the
// component nor the known built-in roles show.
func (f *Facts) isExternal(binding int) bool {
	roles := f.RolesOf(binding)
	if len(roles) == 0 {
		ref := f.Nodes[binding].Get("roleRef")
		return !f.Base.Everywhere(ref.Get("kind").Text(), ref.Get("name").Text())
	}
	return slices.ContainsFunc(roles, func(role int) bool { return f.Nodes[role].Get("aggregationRule").Exists() })
}

func (f *Facts) readGrants() grants {
	g := grants{rules: map[object.ID][]Rule{}, to: map[object.ID][]Rule{}, bindings: map[object.ID][]int{},
		hooks: map[object.ID][]Rule{}, hookBindings: map[object.ID][]int{}}
	var roleNodes []int
	for i := range f.Nodes {
		if f.Nodes[i].Kind.Permissions == "role" {
			roleNodes = append(roleNodes, i)
		}
	}
	for i, n := range f.Nodes {
		if n.Kind.Permissions != "binding" {
			continue
		}
		var rules []Rule
		roles := f.RolesOf(i)
		for _, r := range roles {
			rules = append(rules, f.rulesOf(f.Nodes[r], roleNodes)...)
		}
		if len(roles) == 0 && n.Get("roleRef", "name").Text() == clusterAdmin {
			rules = append(rules, Rule{Groups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}})
		}
		for r := range rules {
			rules[r].In = n.Key.Namespace
		}
		for _, subject := range n.Get("subjects").Items() {
			id, ok := grantee(n, subject)
			switch {
			case ok && n.IsHook():
				g.hooks[id] = append(g.hooks[id], rules...)
				g.hookBindings[id] = append(g.hookBindings[id], i)
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
		id.Namespace = cmp.Or(subject.Get("namespace").Text(), binding.Key.Namespace, binding.Destination)
		return id, true
	case "Group":
		return id, id.Name == allUsers || id.Name == allServiceAccounts || strings.HasPrefix(id.Name, allServiceAccounts+":")
	}
	name, ok := strings.CutPrefix(id.Name, serviceAccountUsers)
	namespace, name, named := strings.Cut(name, ":")
	return object.ID{Kind: "ServiceAccount", Namespace: namespace, Name: name}, ok && named
}

// RolesOf returns the roles that a binding grants.
func (f *Facts) RolesOf(binding int) []int {
	n := f.Nodes[binding]
	ref := n.Get("roleRef")
	id := object.ID{Group: n.ID.Group, Kind: ref.Get("kind").Text(), Name: ref.Get("name").Text()}
	if !f.ClusterScoped(knowledge.GroupKind{Group: id.Group, Kind: id.Kind}) {
		id.Namespace = n.Key.Namespace
	}
	return f.byKey[id]
}

// rulesOf returns the rules of a role. An aggregated role contains the rules of
// roles with certain labels; Kubernetes fills it at run time.
func (f *Facts) rulesOf(role Node, roleNodes []int) []Rule {
	rules := readRules(role)
	for _, selector := range role.Get("aggregationRule", "clusterRoleSelectors").Items() {
		for _, i := range roleNodes {
			if other := &f.Nodes[i]; other.Key.Kind == role.Key.Kind && other.Key != role.Key &&
				selectorAllows(selector, other.Get("metadata", "labels")) {
				rules = append(rules, readRules(*other)...)
			}
		}
	}
	return rules
}

func readRules(role Node) []Rule {
	var rules []Rule
	for _, r := range role.Get("rules").Items() {
		rules = append(rules, Rule{Groups: Texts(r.Get("apiGroups")), Resources: Texts(r.Get("resources")),
			Verbs: Texts(r.Get("verbs")), Names: Texts(r.Get("resourceNames"))})
	}
	return rules
}

// ByGroup indexes rules by API group. Rules for every group are only listed as "*".
func ByGroup(rules []Rule) map[string][]Rule {
	all := map[string][]Rule{}
	for _, r := range rules {
		if slices.Contains(r.Groups, "*") {
			all["*"] = append(all["*"], r)
			continue
		}
		for _, group := range r.Groups {
			all[group] = append(all[group], r)
		}
	}
	return all
}

// MayChange reports whether a workload may write an object, by name or in general.
func (f *Facts) MayChange(i int, id object.ID) bool {
	for _, serviceAccount := range f.ServiceAccounts(i) {
		for _, r := range f.GrantedTo(serviceAccount) {
			if r.Allows(id.Group, knowledge.Plural(id.Kind), "create", "update", "patch") &&
				(len(r.Names) == 0 || slices.Contains(r.Names, id.Name)) {
				return true
			}
		}
	}
	return false
}

// MayUpdate reports whether a workload has the permission to change an object.
func (f *Facts) MayUpdate(workload, i int) bool {
	n := &f.Nodes[i]
	return slices.ContainsFunc(f.RulesOfNode(workload), func(r Rule) bool {
		return (r.In == "" || r.In == n.Key.Namespace) && r.Allows(n.Key.Group, f.Plural(*n), "update", "patch") &&
			(len(r.Names) == 0 || slices.Contains(r.Names, n.Key.Name))
	})
}
