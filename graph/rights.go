package graph

import (
	"cmp"
	"path"
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
	for _, group := range []string{allAccounts, allAccounts + ":" + account.Namespace} {
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

// rights: a workload needs the rights of its account, which come with the
// bindings that name the account.
func (b *builder) rights() {
	for i, n := range b.Nodes {
		for _, tmpl := range n.Kind.Pod.Find(n.Root()) {
			account, ok := accountOf(n, tmpl.Value)
			if !ok {
				continue
			}
			for _, binding := range b.grants.bindingsFor(account) {
				b.refer(Reference{From: i, To: binding, Field: join(tmpl.Field, "spec.serviceAccountName"), Meaning: knowledge.Exists, Why: "has the rights of",
					Source: b.Nodes[binding].Kind.Source})
			}
		}
	}
	b.grantedRights()
	b.deployerRights()
}

// grantedRights: some objects need the rights of a ServiceAccount that they name.
func (b *builder) grantedRights() {
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
					b.refer(Reference{From: i, To: binding, Field: m.field, Meaning: knowledge.Exists, Why: "has the rights of", Source: b.Nodes[binding].Kind.Source})
				}
			}
		}
	}
}

// deployerRights: Argo CD itself may need rights that the component grants it.
func (b *builder) deployerRights() {
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
				ref := b.inferred(i, binding, "kind", knowledge.Exists, "may be created by Argo CD with the rights of")
				ref.Hard = true
				b.refer(ref)
			}
		}
	}
}

// served: a workload with rights on a group that the component serves through the API
// server uses that API, and mostly when it starts. Whoever serves it does not.
func (b *builder) served() {
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

// granted: who has which rights.
func (b *builder) granted() { b.grants = b.readGrants() }

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
		return id, id.Name == allAccounts || strings.HasPrefix(id.Name, allAccounts+":")
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

// admission is the group of webhook configurations.
const admission = "admissionregistration.k8s.io"

// registrars are the groups whose objects extend the API server. Who may write
// them serves an API, injects a CA or installs definitions.
var registrars = []struct{ group, resource string }{
	{admission, "mutatingwebhookconfigurations"},
	{admission, "validatingwebhookconfigurations"},
	{"apiextensions.k8s.io", "customresourcedefinitions"},
	{"apiregistration.k8s.io", "apiservices"},
}

// controllers: a workload is a controller when its rights give it away, or
// when it serves a webhook or API of the component (see backends). The signs are
// those that held on 155 workloads of 85 public charts; rights to everything
// and to aggregated metrics mislead, and rights to a kind that others define
// count only together with its status, which nobody but a controller writes. What
// runs on every node is one only if it serves: its rights say what it does there, and
// one node that is not ready would hold up the sync.
func (b *builder) controllers() {
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

// MayNeed is the reason of a reference from a controller to a workload that only
// stands beside it.
const MayNeed = "may need"

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
		// Agents on every node cost more than they bring: one node that is not
		// ready would hold up all that comes after the controllers.
		if n := &b.Nodes[i]; serves(*n) && n.Role == "" && !n.Kind.Everywhere {
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
	controllers := map[of][]int{}
	for _, i := range work {
		at := of{b.Nodes[i].Part, origin(b.Nodes[i])}
		controllers[at] = append(controllers[at], i)
	}
	for i, n := range b.Nodes {
		at := of{n.Part, origin(n)}
		if lead, ok := leads[at]; ok && !users[i] && (n.Role == knowledge.Controllers || alike(b.Nodes[lead], n)) {
			join(i, "stands beside "+b.Nodes[lead].Key.String()+", a controller that may need it to start")
			// Controllers of one origin may need each other, too: one of them often
			// writes the certificates that another one serves with.
			for _, c := range controllers[at] {
				if c != i && b.Nodes[i].Role == knowledge.Controllers && !b.Nodes[i].Kind.Everywhere {
					b.refer(b.inferred(c, i, "spec.template", knowledge.Known, MayNeed))
				}
			}
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

// alike reports whether two workloads of one origin belong together. Within a chart
// they do; a directory may hold what has nothing to do with each other, so that there
// their labels must say so.
func alike(x, y Node) bool {
	if isChart(x) && isChart(y) {
		return true
	}
	shared := false
	for _, label := range []string{"app.kubernetes.io/part-of", "app.kubernetes.io/instance"} {
		if x.Label(label) != "" && x.Label(label) != y.Label(label) {
			return false
		}
		shared = shared || x.Label(label) != ""
	}
	return shared
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
		if (r.Meaning == knowledge.Healthy || r.Meaning == knowledge.Known) && r.Field == "kind" && b.Nodes[r.To].Role == knowledge.Controllers {
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
	source := sourceOf(n)
	if at := strings.LastIndex(source, templates); at >= 0 {
		return source[:at]
	}
	return path.Dir(n.File)
}

// sourceOf is the template that an object was rendered from, as Helm writes it
// above the object, so that it is known of what was rendered before, too; or else
// the file.
func sourceOf(n Node) string {
	if comment, ok := strings.CutPrefix(n.Text(), "# Source: "); ok {
		source, _, _ := strings.Cut(comment, "\n")
		return strings.TrimSpace(source)
	}
	return n.File
}

const templates = "/templates/"

func isChart(n Node) bool { return strings.Contains(sourceOf(n), templates) }

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

// reconciled: which workload reconciles a custom resource. The resource waits for it
// only if the API server may refuse the resource before (see refuses); otherwise it is
// reconciled whenever the workload comes. Between components, one comes behind the
// other all the same. If the workload names the resource as its
// own configuration, or can only read its kind, it is the workload that needs the
// resource.
func (b *builder) reconciled() {
	type interest struct {
		controller int
		rules      map[string][]rule
		kind       run
	}
	var all []interest
	named := map[[2]int]bool{}
	for c, controller := range b.Nodes {
		if controller.Role != knowledge.Controllers {
			continue
		}
		var rules []rule
		for _, account := range b.accounts(controller) {
			rules = append(rules, b.grants.rulesFor(account)...)
		}
		b.Nodes[c].Reconciles = b.reconciledGroups(rules)
		names := b.configurationNames(c)
		about := byGroup(rules)
		for _, kind := range b.runs {
			if b.base.Builtin(kind.group) || !b.reconciles(about, kind, controller.Part) {
				continue
			}
			all = append(all, interest{c, about, kind})
			for i := kind.from; i < kind.to; i++ {
				if field, ok := names[b.Nodes[i].ID.Name]; ok && b.Nodes[i].InSync() {
					b.refer(Reference{From: c, To: i, Field: field, Meaning: knowledge.Exists, Hard: true, Inferred: true, Why: "is configured by"})
					named[[2]int{c, i}] = true
				}
			}
		}
	}
	exempt := exemptions{builder: b}
	for _, in := range all {
		for i := in.kind.from; i < in.kind.to; i++ {
			if !b.Nodes[i].InSync() || named[[2]int{in.controller, i}] {
				continue
			}
			r := Reference{From: i, To: in.controller, Field: "kind", Meaning: knowledge.Known, Inferred: true, Why: "is reconciled by"}
			switch sure := b.refuses(in.controller, i, in.kind, in.rules); {
			case sure != none && !exempt.of(b.Nodes[in.controller].Part)[i]:
				r.Meaning, r.Refused, r.Inferred = knowledge.Healthy, true, sure != byRules
			case sure == none && b.Nodes[i].Part != b.Nodes[in.controller].Part:
				// A component is healthy when its resources are, so that it comes
				// behind the one that reconciles them.
				r.Meaning = knowledge.Healthy
			case sure == none && b.statusless(i) && !writes(in.rules, in.kind):
				b.refer(Reference{From: in.controller, To: i, Field: "kind", Meaning: knowledge.Exists, Inferred: true, Why: "reads",
					Source: "https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#status-subresource"})
			}
			b.refer(r)
		}
	}
}

// exemptions are the nodes that do not wait for webhooks, by component.
type exemptions struct {
	*builder
	byPart map[int]map[int]bool
}

func (e *exemptions) of(part int) map[int]bool {
	if _, known := e.byPart[part]; !known {
		if e.byPart == nil {
			e.byPart = map[int]map[int]bool{}
		}
		e.byPart[part] = e.unadmitted(part)
	}
	return e.byPart[part]
}

// evidence is what says that the API server refuses an object while a workload does
// not answer.
type evidence int

const (
	none    evidence = iota
	bySign           // webhooks that get their rules at run time
	byRules          // the rules of a webhook
)

// refuses says whether the API server refuses a custom resource while a controller
// that reconciles its kind does not answer: a fail-closed webhook that it serves is
// asked about the resource, or it converts the resource, or it serves webhooks whose
// rules come at run time, which only kinds with a status are likely to be under.
func (b *builder) refuses(c, i int, kind run, rules map[string][]rule) evidence {
	n := &b.Nodes[i]
	own := b.webhooksOf(c)
	for _, h := range own.ruled {
		if h.asked(kind.group, kind.plural) && b.selects(h, *n) {
			return byRules
		}
	}
	_, defined := b.defined[knowledge.GroupKind{Group: n.ID.Group, Kind: n.ID.Kind}]
	switch {
	case slices.Contains(b.converters(i), c):
		return byRules
	case n.Foreign && mayDefine(rules):
		return bySign // the kind is likely to come with the controller
	case b.statusless(i):
		return none
	case own.open, defined && b.mayRegister(rules, own):
		return bySign
	}
	return none
}

// mayDefine reports whether rules let their owner create definitions of kinds, as
// operators do that bring their own when they start.
func mayDefine(rules map[string][]rule) bool {
	return slices.ContainsFunc(rules[extensions], func(r rule) bool { return r.allows(extensions, "customresourcedefinitions", "create") })
}

// extensions is the group of definitions.
const extensions = "apiextensions.k8s.io"

// mayRegister reports whether rules let their owner bring webhooks of which the
// component does not say what they ask. Who only changes what is there, and serves
// webhooks with rules, writes the CA into them.
func (b *builder) mayRegister(rules map[string][]rule, own ownHooks) bool {
	for _, reg := range registrars {
		if reg.group != admission {
			continue
		}
		for _, r := range rules[reg.group] {
			switch {
			case r.allows(reg.group, reg.resource, "create"):
				return true
			case !r.allows(reg.group, reg.resource, "update", "patch"), len(own.ruled) > 0:
			default:
				return true
			}
		}
	}
	return false
}

// ownHooks are the fail-closed webhooks that a workload serves.
type ownHooks struct {
	ruled []hook
	// open means that one of them gets its rules at run time.
	open bool
}

func (b *builder) webhooksOf(workload int) ownHooks {
	if b.hooksServed == nil {
		b.findHooksServed()
	}
	return b.hooksServed[workload]
}

func (b *builder) findHooksServed() {
	b.hooksServed = map[int]ownHooks{}
	add := func(workload int, h hook, open bool) {
		s := b.hooksServed[workload]
		if open {
			s.open = true
		} else {
			s.ruled = append(s.ruled, h)
		}
		b.hooksServed[workload] = s
	}
	empty := map[string][]string{} // names of configurations without webhooks, by resource
	for w, config := range b.Nodes {
		if config.Kind.Admits.IsZero() {
			continue
		}
		any := false
		for _, hooks := range config.Kind.Admits.Find(config.Root()) {
			for _, v := range hooks.Value.Items() {
				any = true
				if failsOpen(v) {
					continue
				}
				h := readHook(v)
				for _, backend := range b.backendsOf(w, v) {
					add(backend, h, len(v.Get("rules").Items()) == 0)
				}
			}
		}
		if !any {
			empty[b.plural(config)] = append(empty[b.plural(config)], config.ID.Name)
		}
	}
	if len(empty) == 0 {
		return
	}
	// What they ask, and whom, is written by who may change them and names them.
	for i, n := range b.Nodes {
		if !serves(n) {
			continue
		}
		for _, account := range b.accounts(n) {
			for _, r := range b.grants.rulesFor(account) {
				for resource, names := range empty {
					if !slices.Contains(r.groups, "*") && r.allows(admission, resource, "update", "patch") &&
						(containsAny(r.names, names...) || slices.ContainsFunc(b.words(i), func(w word) bool { return slices.Contains(names, w.value) })) {
						add(i, hook{}, true)
					}
				}
			}
		}
	}
}

// statusless reports whether the definition of a custom resource, which is in the
// component, gives its version no status subresource. Who is interested in such a
// resource reads it; there is nothing to write back.
func (b *builder) statusless(i int) bool {
	version, ok := b.versionOf(i)
	return ok && !version.Get("subresources", "status").Exists()
}

// versionOf is the version of a custom resource in its definition.
func (b *builder) versionOf(i int) (object.Value, bool) {
	n := &b.Nodes[i]
	def, ok := b.defined[knowledge.GroupKind{Group: n.ID.Group, Kind: n.ID.Kind}]
	if !ok || !b.base.Builtin(b.Nodes[def.node].ID.Group) {
		return object.Value{}, false
	}
	_, name := cutVersion(n.Get("apiVersion").Text())
	for _, v := range b.Nodes[def.node].Get("spec", "versions").Items() {
		if v.Get("name").Text() == name {
			return v, true
		}
	}
	return object.Value{}, false
}

func cutVersion(apiVersion string) (group, version string) {
	if group, version, ok := strings.Cut(apiVersion, "/"); ok {
		return group, version
	}
	return "", apiVersion
}

// converters are the workloads that must convert a custom resource before it is
// stored: they stand behind the webhook of its definition, and its version is not the
// one in which it is kept, or the definition does not tell.
func (b *builder) converters(i int) []int {
	n := &b.Nodes[i]
	def, ok := b.defined[knowledge.GroupKind{Group: n.ID.Group, Kind: n.ID.Kind}]
	if !ok || len(b.converting[def.node]) == 0 {
		return nil
	}
	if v, ok := b.versionOf(i); ok && v.Get("storage").True() {
		return nil
	}
	return b.converting[def.node]
}

// writes reports whether rules let their owner write objects of a kind.
func writes(rules map[string][]rule, kind run) bool {
	allows := func(r rule) bool {
		return slices.ContainsFunc([]string{kind.plural, kind.plural + "/status", kind.plural + "/finalizers"}, func(resource string) bool {
			return r.allows(kind.group, resource, "create", "update", "patch", "delete")
		})
	}
	return slices.ContainsFunc(rules[kind.group], allows) || slices.ContainsFunc(rules["*"], allows)
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

// configurationNames returns the words of a workload that may be names of
// objects, with the field each stands in.
func (b *builder) configurationNames(i int) map[string]string {
	names := map[string]string{}
	for _, w := range b.words(i) {
		if !w.file && w.value != "" && !b.isNamespace(w.value) {
			names[w.value] = w.field
		}
	}
	return names
}
