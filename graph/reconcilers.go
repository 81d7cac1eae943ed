package graph

import (
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// referToControllers makes a custom resource wait for its controller only if the API
// server may refuse it before (see refuses). Otherwise it is reconciled whenever the
// controller starts. If they are in different components, the custom resource always
// waits for the controller. If the workload names the resource as its own
// configuration, or can only read its kind, the workload depends on the resource.
func (b *builder) referToControllers() {
	type candidate struct {
		controller int
		rules      map[string][]rule
		kind       kindRange
	}
	var all []candidate
	named := map[[2]int]bool{}
	for c, controller := range b.Nodes {
		if controller.Role != knowledge.Controllers {
			continue
		}
		var rules []rule
		for _, serviceAccount := range b.serviceAccounts(controller) {
			rules = append(rules, b.grants.rulesFor(serviceAccount)...)
		}
		b.Nodes[c].Reconciles = b.reconciledGroups(rules)
		names := b.configurationNames(c)
		grouped := byGroup(rules)
		for _, kind := range b.kindRanges {
			if b.base.Builtin(kind.group) || !b.reconciles(grouped, kind, controller.Part) {
				continue
			}
			all = append(all, candidate{c, grouped, kind})
			for i := kind.from; i < kind.to; i++ {
				if field, ok := names[b.Nodes[i].ID.Name]; ok && b.Nodes[i].InSync() {
					b.refer(Reference{From: c, To: i, Field: field, Meaning: knowledge.Exists, Hard: true, Inferred: true, Sign: Configuration, Why: "is configured by"})
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
			r := Reference{From: i, To: in.controller, Field: kindField, Meaning: knowledge.NoOrder, Inferred: true, Why: "is reconciled by"}
			evidence := b.refuses(in.controller, i, in.kind, in.rules)
			if evidence != none && exempt.isExempt(i, b.Nodes[in.controller].Part, []int{in.controller}) {
				b.refer(r)
				continue
			}
			switch {
			case evidence == bySign:
				r.Meaning, r.Refused = knowledge.Healthy, true
			case b.Nodes[i].Part != b.Nodes[in.controller].Part:
				// A component is healthy when its custom resources are, so it
				// follows the component that reconciles them.
				r.Meaning = knowledge.Healthy
			case evidence == none && b.statusless(i) && !writes(in.rules, in.kind):
				b.refer(Reference{From: in.controller, To: i, Field: kindField, Meaning: knowledge.Exists, Inferred: true, Why: "reads",
					Source: "https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#status-subresource"})
			}
			b.refer(r)
		}
	}
}

// evidence is the reason to assume that the API server refuses an object while a
// workload does not respond.
type evidence int

const (
	none    evidence = iota
	bySign           // webhooks that get their rules at run time
	byRules          // the rules of a webhook, to which the object has its own reference
)

// refuses says whether the API server refuses a custom resource while a controller
// of its kind does not respond: the controller serves a fail-closed webhook for the
// resource, or converts it, or serves webhooks whose rules are set at run time,
// which probably cover only kinds with a status.
func (b *builder) refuses(c, i int, kind kindRange, rules map[string][]rule) evidence {
	n := &b.Nodes[i]
	own := b.webhooksOf(c)
	for _, h := range own.static {
		if h.covers(kind.group, kind.plural) && b.selects(h, *n) {
			return byRules
		}
	}
	_, defined := b.defined[knowledge.GroupKind{Group: n.ID.Group, Kind: n.ID.Kind}]
	switch {
	case slices.Contains(b.converters(i), c):
		return byRules
	case n.CRDMissing && mayDefine(rules):
		return bySign // the kind probably comes with the controller
	case b.statusless(i):
		return none
	case own.rulesAtRunTime, defined && b.mayRegister(rules, own):
		return bySign
	}
	return none
}

// mayDefine reports whether rules allow creating CRDs, as for operators that
// install their own at startup.
func mayDefine(rules map[string][]rule) bool {
	return slices.ContainsFunc(rules[extensions], func(r rule) bool { return r.allows(extensions, "customresourcedefinitions", "create") })
}

// extensions is the API group of CRDs.
const extensions = "apiextensions.k8s.io"

// mayRegister reports whether rules allow creating webhooks whose rules the
// component does not show. A workload that may only update them and serves webhooks
// with rules writes the CA.
func (b *builder) mayRegister(rules map[string][]rule, own ownHooks) bool {
	for _, reg := range registrars {
		if reg.group != admission {
			continue
		}
		for _, r := range rules[reg.group] {
			switch {
			case r.allows(reg.group, reg.resource, "create"):
				return true
			case !r.allows(reg.group, reg.resource, "update", "patch"), len(own.static) > 0:
			default:
				return true
			}
		}
	}
	return false
}

// ownHooks are the fail-closed webhooks that a workload serves.
type ownHooks struct {
	static []hook
	// rulesAtRunTime means that one of them gets its rules at run time.
	rulesAtRunTime bool
}

func (b *builder) webhooksOf(workload int) ownHooks {
	if b.hooksServed == nil {
		b.findHooksServed()
	}
	return b.hooksServed[workload]
}

func (b *builder) findHooksServed() {
	b.hooksServed = map[int]ownHooks{}
	add := func(workload int, h hook, rulesAtRunTime bool) {
		s := b.hooksServed[workload]
		if rulesAtRunTime {
			s.rulesAtRunTime = true
		} else {
			s.static = append(s.static, h)
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
	// Workloads that may change configurations and name them set their rules and
	// backends.
	for i, n := range b.Nodes {
		if !serves(n) {
			continue
		}
		for _, serviceAccount := range b.serviceAccounts(n) {
			for _, r := range b.grants.rulesFor(serviceAccount) {
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

// statusless reports whether the CRD of a custom resource, if it is in the
// component, defines no status subresource for its version. Workloads read such a
// resource and write nothing back.
func (b *builder) statusless(i int) bool {
	version, ok := b.versionOf(i)
	return ok && !version.Get("subresources", "status").Exists()
}

// versionOf returns the version of a custom resource in its CRD.
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

// converters returns the workloads that must convert a custom resource before it is
// stored: the backends of its CRD's conversion webhook, if its version is not the
// storage version, or if the CRD does not contain the version.
func (b *builder) converters(i int) []int {
	n := &b.Nodes[i]
	def, ok := b.defined[knowledge.GroupKind{Group: n.ID.Group, Kind: n.ID.Kind}]
	if !ok || len(b.convertersOf[def.node]) == 0 {
		return nil
	}
	if v, ok := b.versionOf(i); ok && v.Get("storage").True() {
		return nil
	}
	return b.convertersOf[def.node]
}

// writes reports whether rules allow writing objects of a kind.
func writes(rules map[string][]rule, kind kindRange) bool {
	allows := func(r rule) bool {
		return slices.ContainsFunc([]string{kind.plural, kind.plural + "/status", kind.plural + "/finalizers"}, func(resource string) bool {
			return r.allows(kind.group, resource, "create", "update", "patch", "delete")
		})
	}
	return slices.ContainsFunc(rules[kind.group], allows) || slices.ContainsFunc(rules["*"], allows)
}

// byGroup indexes rules by API group. Rules for every group are only listed as "*".
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

// reconciledGroups returns the groups for which rules allow watching kinds and
// writing their status.
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

// reconciles reports whether rules of a workload in a component allow watching a
// kind and writing it or its status. Permissions for every group count for kinds
// that the component defines itself.
func (b *builder) reconciles(rules map[string][]rule, kind kindRange, part int) bool {
	def, own := b.defined[knowledge.GroupKind{Group: kind.group, Kind: b.Nodes[kind.from].ID.Kind}]
	own = own && b.Nodes[def.node].Part == part
	return rulesAllowReconciling(rules, kind.group, kind.plural, own)
}

// rulesAllowReconciling reports whether rules allow watching a kind and writing its status; for
// its own kind, watching is sufficient.
func rulesAllowReconciling(rules map[string][]rule, group, resource string, own bool) bool {
	watch, write := false, own
	collect := func(rules []rule) {
		for _, r := range rules {
			watch = watch || r.allows(group, resource, "watch", "list")
			write = write || r.allows(group, resource+"/status", "update", "patch")
		}
	}
	collect(rules[group])
	if own {
		collect(rules["*"])
	}
	return watch && write
}

// configurationNames returns the words of a workload that may be names of objects,
// with their fields.
func (b *builder) configurationNames(i int) map[string]string {
	names := map[string]string{}
	for _, w := range b.words(i) {
		if !w.file && w.value != "" && !b.isNamespace(w.value) {
			names[w.value] = w.field
		}
	}
	return names
}
