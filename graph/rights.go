package graph

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// grants are the rights of each ServiceAccount, read from the roles and
// bindings of the component. Roles that are not in it tell nothing.
type grants struct {
	rules    map[object.ID][]rule
	bindings map[object.ID][]int // the binding and role nodes
}

// rule is one rule of a Role.
type rule struct{ groups, resources, verbs, names []string }

// allows reports whether the rule gives one of the verbs on a resource.
func (r rule) allows(group, resource string, verbs ...string) bool {
	return containsAny(r.groups, "*", group) && containsAny(r.resources, "*", resource) && (slices.Contains(r.verbs, "*") || containsAny(r.verbs, verbs...))
}

// rights: a workload needs the rights of its account, which come with the
// bindings that name the account.
func (b *builder) rights() {
	for i, n := range b.Nodes {
		for _, tmpl := range n.Kind.Pod.Find(n.Root()) {
			account, ok := accountOf(n, tmpl.Value)
			if !ok {
				continue
			}
			for _, binding := range b.grants.bindings[account] {
				b.refer(Reference{From: i, To: binding, Field: join(tmpl.Field, "spec.serviceAccountName"), Meaning: knowledge.Exists, Why: "has the rights of",
					Source: b.Nodes[binding].Kind.Source})
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

func accountOf(n Node, tmpl object.Value) (object.ID, bool) {
	name := cmp.Or(tmpl.Get("spec", "serviceAccountName").Text(), tmpl.Get("spec", "serviceAccount").Text())
	return object.ID{Kind: "ServiceAccount", Namespace: n.Key.Namespace, Name: name}, name != ""
}

// clusterAdmin is the role that every cluster has and that allows everything
// (https://kubernetes.io/docs/reference/access-authn-authz/rbac/#user-facing-roles).
const clusterAdmin = "cluster-admin"

// granted: who has which rights.
func (b *builder) granted() { b.grants = b.readGrants() }

func (b *builder) readGrants() grants {
	g := grants{rules: map[object.ID][]rule{}, bindings: map[object.ID][]int{}}
	for i := range b.Nodes {
		if b.Nodes[i].Kind.Rights == "role" {
			b.roleNodes = append(b.roleNodes, i)
		}
	}
	for i, n := range b.Nodes {
		if n.Kind.Rights != "binding" || n.IsHook() {
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
		for _, subject := range n.Get("subjects").Items() {
			if subject.Get("kind").Text() != "ServiceAccount" {
				continue
			}
			id := object.ID{Kind: "ServiceAccount", Namespace: subject.Get("namespace").Text(), Name: subject.Get("name").Text()}
			if id.Namespace == "" {
				id.Namespace = n.Key.Namespace
			}
			if id.Namespace == "" {
				id.Namespace = n.home
			}
			g.rules[id] = append(g.rules[id], rules...)
			g.bindings[id] = append(g.bindings[id], i)
		}
	}
	return g
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
		rules = append(rules, rule{texts(r.Get("apiGroups")), texts(r.Get("resources")), texts(r.Get("verbs")), texts(r.Get("resourceNames"))})
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

// registrars are the groups whose objects extend the API server. Who may write
// them serves an API, injects a CA or installs definitions.
var registrars = []struct{ group, resource string }{
	{"admissionregistration.k8s.io", "mutatingwebhookconfigurations"},
	{"admissionregistration.k8s.io", "validatingwebhookconfigurations"},
	{"apiextensions.k8s.io", "customresourcedefinitions"},
	{"apiregistration.k8s.io", "apiservices"},
}

// controllers: a workload is a controller when its rights give it away, or
// when it serves a webhook or API of the component (see backends). The signs are
// those that held on 155 workloads of 85 public charts; rights to everything
// and to aggregated metrics mislead, and rights to a kind that others define
// count only together with its status, which nobody but a controller writes.
func (b *builder) controllers() {
	for i, n := range b.Nodes {
		if !serves(n) {
			continue
		}
		for _, account := range b.accounts(n) {
			if why := b.controls(b.grants.rules[account], n.Part); why != "" {
				b.giveRole(i, knowledge.Controllers, why)
			}
		}
	}
	b.providers()
}

// providers: who is told the name by which a class of the component asks for
// its provider is that provider.
func (b *builder) providers() {
	for c, class := range b.Nodes {
		name := first(class.Kind.Provider, class)
		if class.Kind.Provider.IsZero() || name == "" {
			continue
		}
		for _, i := range b.told(name) {
			b.giveRole(i, knowledge.Controllers, "provides "+class.Key.String())
			b.refer(b.inferred(c, i, class.Kind.Provider.String(), knowledge.Known, "is provided by"))
		}
	}
}

// partners: a controller is rarely ready alone: it waits for siblings that
// write its certificates, keep its data or elect with it. Often no manifest
// says so. So the workloads of its chart, and those it calls in the
// component, stand with it: in one wave they cannot block each other.
func (b *builder) partners() {
	type of struct {
		part   int
		origin string
	}
	leads := map[of]int{} // the first controller of each chart
	var work []int
	for i, n := range b.Nodes {
		if n.Role != knowledge.Controllers {
			continue
		}
		work = append(work, i)
		if _, ok := leads[of{n.Part, origin(n)}]; !ok {
			leads[of{n.Part, origin(n)}] = i
		}
	}
	join := func(i int, why string) {
		if n := &b.Nodes[i]; serves(*n) && n.Role == "" {
			b.giveRole(i, knowledge.Controllers, why)
			n.Partner = true
			work = append(work, i)
		}
	}
	if len(work) == 0 {
		return
	}
	users := b.usersOfResources()
	b.injected(users)
	for i, n := range b.Nodes {
		// Agents on every node cost more than they bring: one node that is not
		// ready would hold up all that comes after the controllers.
		if lead, ok := leads[of{n.Part, origin(n)}]; ok && !users[i] && !n.Kind.Everywhere && alike(b.Nodes[lead], n) {
			join(i, "stands beside "+b.Nodes[lead].Key.String()+", a controller that may need it to start")
		}
	}
	called := map[int][]int{}
	for _, r := range b.References {
		if r.Meaning == knowledge.Known && r.Inferred {
			called[r.From] = append(called[r.From], r.To)
		}
	}
	for ; len(work) > 0; work = work[1:] {
		for _, to := range called[work[0]] {
			if users[to] || b.Nodes[to].Part != b.Nodes[work[0]].Part {
				continue
			}
			join(to, "is called by "+b.Nodes[work[0]].Key.String()+", a controller that may need it to start")
		}
	}
}

// injected adds the workloads whose Pods a fail-closed webhook of another
// workload must admit: they cannot come along with it.
func (b *builder) injected(to map[int]bool) {
	for w, config := range b.Nodes {
		for _, hooks := range config.Kind.Admits.Find(config.Root()) {
			for _, hook := range hooks.Value.Items() {
				backends := b.backendsOf(w, hook)
				asks := readHook(hook)
				if failsOpen(hook) || len(backends) == 0 || !asks.pods {
					continue
				}
				for i, n := range b.Nodes {
					if serves(n) && n.Role == "" && !slices.Contains(backends, i) && b.admitsPods(asks, n) {
						to[i] = true
					}
				}
			}
		}
	}
}

// alike reports whether the labels of two workloads of one origin leave it open
// that they belong together. Within a chart they do; a directory may hold what
// has nothing to do with each other.
func alike(x, y Node) bool {
	for _, label := range []string{"app.kubernetes.io/part-of", "app.kubernetes.io/instance"} {
		if x.Label(label) != "" && x.Label(label) != y.Label(label) {
			return isChart(x) && isChart(y)
		}
	}
	return true
}

// usersOfResources are the nodes that need, directly or not, a custom resource
// which a controller of the component reconciles, such as an application whose
// database an operator beside it makes. None of these can help the controller
// to start.
func (b *builder) usersOfResources() map[int]bool {
	usedBy := map[int][]int{}
	var work []int
	for _, r := range b.References {
		usedBy[r.To] = append(usedBy[r.To], r.From)
		if r.Meaning == knowledge.Healthy && r.Field == "kind" && b.Nodes[r.To].Role == knowledge.Controllers {
			work = append(work, r.From)
		}
	}
	seen := map[int]bool{}
	for ; len(work) > 0; work = work[1:] {
		for _, user := range usedBy[work[0]] {
			if !seen[user] && b.Nodes[user].Role != knowledge.Controllers {
				seen[user] = true
				work = append(work, user)
			}
		}
	}
	return seen
}

// origin is the chart that an object comes from or, outside of charts, the
// directory.
func origin(n Node) string {
	if at := strings.LastIndex(n.File, templates); at >= 0 {
		return n.File[:at]
	}
	return path.Dir(n.File)
}

const templates = "/templates/"

func isChart(n Node) bool { return strings.Contains(n.File, templates) }

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

// reconciled: a custom resource waits for the workload that reconciles its
// kind, unless that workload names the resource as its own configuration: then
// the workload needs the resource.
func (b *builder) reconciled() {
	for c, controller := range b.Nodes {
		if controller.Role != knowledge.Controllers {
			continue
		}
		var rules []rule
		for _, account := range b.accounts(controller) {
			rules = append(rules, b.grants.rules[account]...)
		}
		b.Nodes[c].Reconciles = b.reconciledGroups(rules)
		names := b.configurationNames(c)
		about := byGroup(rules)
		for _, kind := range b.runs {
			if b.base.Builtin(kind.group) || !b.reconciles(about, kind, controller.Part) {
				continue
			}
			for i := kind.from; i < kind.to; i++ {
				n := &b.Nodes[i]
				if !n.InSync() {
					continue
				}
				if field, ok := names[n.ID.Name]; ok {
					b.refer(Reference{From: c, To: i, Field: field, Meaning: knowledge.Exists, Hard: true, Inferred: true, Why: "is configured by"})
					continue
				}
				b.refer(Reference{From: i, To: c, Field: "kind", Meaning: knowledge.Healthy, Inferred: true, Why: "is reconciled by"})
			}
		}
	}
}

// byGroup finds rules by the groups that they are about. Those about every group
// stand under "*" alone.
func byGroup(rules []rule) map[string][]rule {
	all := map[string][]rule{}
	for _, r := range rules {
		if slices.Contains(r.groups, "*") {
			all["*"] = append(all["*"], r)
			continue
		}
		for _, group := range r.groups {
			all[group] = append(all[group], r)
		}
	}
	return all
}

// reconciledGroups are the groups of which rules let their owner watch kinds and
// write their status.
func (b *builder) reconciledGroups(rules []rule) []string {
	var all []string
	for _, r := range rules {
		for _, group := range r.groups {
			if group == "*" || b.base.Builtin(group) || slices.Contains(all, group) {
				continue
			}
			if slices.ContainsFunc(r.resources, func(resource string) bool {
				kind, part, _ := strings.Cut(resource, "/")
				return (resource == "*" || part == "status") && containsAny(r.verbs, "*", "update", "patch") && watches(rules, group, kind)
			}) {
				all = append(all, group)
			}
		}
	}
	return all
}

// reconciles reports whether rules let their owner, which is in a component,
// watch a kind and write it or its status. Rights to every group count for kinds
// that the component defines itself.
func (b *builder) reconciles(rules map[string][]rule, kind run, part int) bool {
	def, own := b.defined[knowledge.GroupKind{Group: kind.group, Kind: b.Nodes[kind.from].ID.Kind}]
	own = own && b.Nodes[def.node].Part == part
	return reconcile(rules, kind.group, kind.plural, own)
}

// reconcile reports whether rules let their owner watch a kind and write its
// status, or only watch it if it is its own.
func reconcile(rules map[string][]rule, group, resource string, own bool) bool {
	watch, write := false, own
	look := func(rules []rule) {
		for _, r := range rules {
			watch = watch || r.allows(group, resource, "watch", "list")
			write = write || r.allows(group, resource+"/status", "update", "patch")
		}
	}
	look(rules[group])
	if own {
		look(rules["*"])
	}
	return watch && write
}

// watched: a controller does not start before the kinds that it reconciles are
// defined. Within a component the rungs see to that.
func (b *builder) watched() {
	for c, controller := range b.Nodes {
		if controller.Role != knowledge.Controllers {
			continue
		}
		for _, account := range b.accounts(controller) {
			about := byGroup(b.grants.rules[account])
			for group := range about {
				for _, def := range b.definedIn(group) {
					if b.Nodes[def.node].Part != controller.Part && reconcile(about, group, def.plural, false) {
						b.refer(Reference{From: c, To: def.node, Field: "spec.template.spec.serviceAccountName", Meaning: knowledge.Healthy, Inferred: true,
							Why: "watches the kind of", Source: "https://pkg.go.dev/sigs.k8s.io/controller-runtime/pkg/cache#Informers"})
					}
				}
			}
		}
	}
}

// configurationNames returns the words of a workload that may be names of
// objects, with the field each stands in.
func (b *builder) configurationNames(i int) map[string]string {
	names := map[string]string{}
	for _, w := range b.words(i) {
		if !w.file && w.value != "" {
			names[w.value] = w.field
		}
	}
	return names
}
