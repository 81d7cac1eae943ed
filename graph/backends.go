package graph

import (
	"slices"
	"sync"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// referToBackends: webhook configurations, API registrations and conversions name a
// Service; what counts is the workload behind it, which thereby is a
// controller.
func (b *builder) referToBackends() {
	b.selectPods()
	for i, n := range b.Nodes {
		for _, rec := range n.Kind.References {
			if !rec.Behind || n.IsHook() {
				continue
			}
			for _, f := range rec.At.Find(n.Root()) {
				m, ok := readMention(rec, f)
				if !ok {
					continue
				}
				for _, service := range b.resolve(b.identify(i, m), rec) {
					for _, workload := range b.behind[service] {
						b.refer(Reference{From: i, To: workload, Field: m.field, Meaning: rec.Meaning, Why: rec.Why, Source: rec.Source})
						if n.Kind.Defines != nil {
							b.converting[i] = append(b.converting[i], workload)
						}
						if !rec.Address { // whoever has an address is asked, and no part of the API
							b.giveRole(workload, knowledge.Controllers, "serves "+n.Key.String())
						}
					}
				}
			}
		}
	}
}

// orderOwnWebhooks: a fail-closed webhook that must admit the Pods of the workload behind
// it cannot be there before they run: it would refuse them. Then, and only
// then, the configuration comes after its server.
func (b *builder) orderOwnWebhooks() {
	for w, config := range b.Nodes {
		for _, hooks := range config.Kind.Admits.Find(config.Root()) {
			for _, hook := range hooks.Value.Items() {
				if failsOpen(hook) {
					continue
				}
				for _, server := range b.backendsOf(w, hook) {
					if !b.admitsPods(readHook(hook), b.Nodes[server]) {
						continue
					}
					b.comesAfter(w, server, "must admit the Pods of")
					b.Findings = append(b.Findings, finding.Finding{Severity: finding.Warning, Rule: "own-pods", File: config.File, Line: config.Line, Object: config.Key.String(),
						Field:   "webhooks[" + hook.Get("name").Text() + "]",
						Message: "it rejects the Pods of its own server " + b.Nodes[server].Key.String() + " whenever the server is down, so it is applied after the server",
						Remedy:  "exclude the server by objectSelector or namespaceSelector, or set failurePolicy: Ignore"})
				}
			}
		}
	}
}

// comesAfter turns the reference by which a configuration stands with its
// server into one that waits for it.
func (b *builder) comesAfter(config, server int, why string) {
	for _, i := range b.pairs[[2]int{config, server}] {
		if r := &b.References[i]; r.Meaning == knowledge.With {
			r.Meaning, r.Hard, r.Why = knowledge.Healthy, true, why
		}
	}
}

// registerAfter turns the reference by which a configuration stands with its server into
// one that follows it.
func (b *builder) registerAfter(config, server int) {
	for _, i := range b.pairs[[2]int{config, server}] {
		if r := &b.References[i]; r.Meaning == knowledge.With {
			r.Meaning, r.Inferred, r.Sign, r.Why = knowledge.Healthy, true, Registration, "is registered as soon as it can be answered by"
		}
	}
}

func failsOpen(hook object.Value) bool {
	policy := hook.Get("failurePolicy").Text()
	return policy != "" && policy != "Fail"
}

// admitsPods reports whether a webhook is asked when the Pods of a workload are
// created.
func (b *builder) admitsPods(hook hook, workload Node) bool {
	if !hook.pods {
		return false
	}
	for _, tmpl := range workload.Kind.Pod.Find(workload.Root()) {
		if b.selectorAllows(hook.Get("objectSelector"), tmpl.Value.Get("metadata", "labels")) {
			return b.namespaceAllows(hook.Value, workload, false)
		}
	}
	return false
}

// selectPods finds the workloads whose Pods a Service selects. Hooks and tests
// bear the labels of the release in many charts, but serve nobody.
func (b *builder) selectPods() {
	type label struct{ namespace, key, value string }
	bearers := map[label][]int{}
	for w, n := range b.Nodes {
		if !serves(n) {
			continue
		}
		for _, tmpl := range n.Kind.Pod.Find(n.Root()) {
			for _, f := range tmpl.Value.Get("metadata", "labels").Fields() {
				l := label{n.Key.Namespace, f.Key, f.Value.Text()}
				bearers[l] = append(bearers[l], w)
			}
		}
	}
	for s, service := range b.Nodes {
		selectors := service.Kind.Selects.Find(service.Root())
		if len(selectors) == 0 || service.IsHook() {
			continue
		}
		want := selectors[0].Value.Fields()
		if len(want) == 0 {
			continue
		}
		// The label that fewest bear leads to the others.
		rarest := slices.MinFunc(want, func(x, y object.Field) int {
			return len(bearers[label{service.Key.Namespace, x.Key, x.Value.Text()}]) - len(bearers[label{service.Key.Namespace, y.Key, y.Value.Text()}])
		})
		for _, w := range bearers[label{service.Key.Namespace, rarest.Key, rarest.Value.Text()}] {
			workload := b.Nodes[w]
			for _, tmpl := range workload.Kind.Pod.Find(workload.Root()) {
				if hasLabels(tmpl.Value, want) {
					b.behind[s] = append(b.behind[s], w)
				}
			}
		}
	}
}

// serves reports whether a workload runs for ever and outside of hooks.
func serves(n Node) bool {
	return !n.Kind.Pod.IsZero() && n.Kind.Runs == "" && !n.IsHook()
}

func hasLabels(template object.Value, want []object.Field) bool {
	labels := template.Get("metadata", "labels")
	return !slices.ContainsFunc(want, func(f object.Field) bool { return labels.Get(f.Key).Text() != f.Value.Text() })
}

// referToWebhooks: an object that a fail-closed webhook of the component must admit
// waits for the workload behind the webhook. Controllers and what they need are
// exempt: they stand in the wave of the webhook or below, where Argo CD applies
// them before it.
func (b *builder) referToWebhooks() {
	exempted := exemptions{builder: b}
	b.converted(&exempted)
	for w, config := range b.Nodes {
		for _, hooks := range config.Kind.Admits.Find(config.Root()) {
			exempt := exempted.of(config.Part)
			apart := sync.OnceValue(func() bool { return b.registersApart(w) }) // read for few, since it looks at all
			trusted := b.trustedBy(w)
			needed := b.neededBy(trusted)
			for _, hook := range hooks.Value.Items() {
				if failsOpen(hook) {
					continue
				}
				backends := b.backendsOf(w, hook)
				if len(backends) == 0 {
					continue
				}
				hook := readHook(hook)
				name := hook.Get("name").Text()
				for _, kind := range b.runs {
					asked := hook.asked(kind.group, kind.plural)
					for i := kind.from; i < kind.to && (asked || hook.pods); i++ {
						n := &b.Nodes[i]
						if exempt[i] || i == w || !n.InSync() {
							continue
						}
						if !asked || !b.selects(hook, *n) {
							if serves(*n) && b.admitsPods(hook, *n) {
								for _, backend := range backends {
									b.refer(Reference{From: i, To: backend, Field: webhooksField, Meaning: knowledge.Healthy, Refused: n.Kind.Pod.String() == ".",
										Why: "has Pods that must be admitted by webhook " + name + " of", Source: config.Kind.Source})
								}
							}
							continue
						}
						for _, backend := range backends {
							b.refer(Reference{From: i, To: backend, Field: webhooksField, Meaning: knowledge.Healthy, Hard: true, Refused: true,
								Why: "must be admitted by webhook " + name + " of", Source: config.Kind.Source})
							if n.Part == config.Part && apart() {
								b.registerAfter(w, backend)
								r := b.inferred(i, w, webhooksField, knowledge.Healthy, "is admitted by")
								r.Sign = Registration
								b.refer(r)
							}
						}
						for _, j := range trusted {
							if !needed[i] {
								r := b.inferred(i, j, webhooksField, knowledge.Healthy, "must be admitted by webhook "+name+", which cannot answer before")
								r.Refused = true
								b.refer(r)
							}
						}
					}
				}
			}
		}
	}
}

// converted: a custom resource that is not kept in its own version is refused until
// the webhook answers that converts it.
func (b *builder) converted(exempt *exemptions) {
	if len(b.converting) == 0 {
		return
	}
	for i := range b.Nodes {
		n := &b.Nodes[i]
		if !n.InSync() {
			continue
		}
		for _, converter := range b.converters(i) {
			if !exempt.of(b.Nodes[converter].Part)[i] {
				b.refer(Reference{From: i, To: converter, Field: kindField, Meaning: knowledge.Healthy, Hard: true, Refused: true, Why: "is converted by",
					Source: "https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/#webhook-conversion"})
			}
		}
	}
}

// registersApart reports whether a webhook configuration can come after its server,
// in a wave before the first object that the webhook admits. A Deployment is available up
// to a second before kube-proxy leads connections to its Pods, and Argo CD applies the next
// wave at once, so that the first such object would be refused; behind a wave in between it
// waits two seconds. It is for configurations that nobody else has a part in:
//   - A server that completes its own, or waits for it, is not ready without. So whoever is
//     in its wave must have all rights in the component, and none to look at configurations.
//   - A Job that changes it comes in between itself.
//   - Its CA is in it, or comes from cert-manager's cainjector, which runs already. Who else
//     injects one is unknown, and may need the time while the server starts.
//   - Pods that it asks for start beside the server, and have to find it there.
func (b *builder) registersApart(config int) bool {
	c := &b.Nodes[config]
	if len(b.referrers(config)) > 0 {
		return false
	}
	injected := slices.ContainsFunc(c.Kind.Injected, func(p knowledge.Path) bool { return len(p.Find(c.Root())) > 0 })
	var asks []hook
	var servers []int
	for _, hooks := range c.Kind.Admits.Find(c.Root()) {
		for _, h := range hooks.Value.Items() {
			if !injected && h.Get("clientConfig", "caBundle").Text() == "" {
				return false
			}
			asks = append(asks, readHook(h))
			servers = append(servers, b.backendsOf(config, h)...)
		}
	}
	if slices.ContainsFunc(servers, func(server int) bool { return b.Nodes[server].Part != c.Part || !b.showsRights(server) }) {
		return false
	}
	for i := range b.Nodes {
		n := &b.Nodes[i]
		if n.Part != c.Part || n.Kind.Pod.IsZero() {
			continue
		}
		if b.maySeeWebhooks(i) || slices.ContainsFunc(asks, func(h hook) bool { return b.admitsPods(h, *n) }) {
			return false
		}
	}
	return true
}

// maySeeWebhooks reports whether the Pods of a workload may look at webhook configurations.
// Of a controller, and of what starts beside it, the component must show that they may not.
func (b *builder) maySeeWebhooks(workload int) bool {
	if b.Nodes[workload].Role == knowledge.Controllers && !b.showsRights(workload) {
		return true
	}
	return slices.ContainsFunc(b.rulesOfNode(workload), func(r rule) bool {
		return slices.ContainsFunc(registrars, func(reg registrar) bool {
			return reg.group == admission && r.allows(reg.group, reg.resource, "get", "list", "watch", "create", "update", "patch")
		})
	})
}

// unadmitted are the nodes that do not wait for the webhooks of a component: its
// controllers and what they need, and what is applied before everything else. CRDs are
// part of it: the server of a webhook for all kinds may not start without its own, and
// Argo CD applies them before any webhook configuration.
func (b *builder) unadmitted(part int) map[int]bool {
	isController := func(i int) bool { return b.Nodes[i].Part == part && b.Nodes[i].Role == knowledge.Controllers }
	var controllers []int
	for i := range b.Nodes {
		if isController(i) {
			controllers = append(controllers, i)
		}
	}
	exempt := b.neededBy(controllers)
	for s, servers := range b.behind {
		if slices.ContainsFunc(servers, isController) {
			exempt[s] = true
		}
	}
	// What must hold before Pods start, such as a quota, is of no use later.
	lowest := b.base.Ladder()[0].Name
	for i := range b.Nodes {
		if b.Nodes[i].Kind.Rung == lowest {
			exempt[i] = true
		}
	}
	for _, d := range b.defined {
		if b.Nodes[d.node].Key.Group == extensions {
			exempt[d.node] = true
		}
	}
	return exempt
}

// trustedBy returns the Jobs of the sync that write into a webhook
// configuration the CA by which the API server trusts its server.
func (b *builder) trustedBy(config int) []int {
	var jobs []int
	for r := range b.referencesTo(config) {
		if j := &b.Nodes[r.From]; r.Meaning == knowledge.Healthy && j.Kind.Runs == "once" && j.InSync() {
			jobs = append(jobs, r.From)
		}
	}
	return jobs
}

// backendsOf returns the workloads behind one webhook of a configuration.
func (b *builder) backendsOf(config int, hook object.Value) []int {
	service := hook.Get("clientConfig", "service")
	id := object.ID{Kind: "Service", Namespace: service.Get("namespace").Text(), Name: service.Get("name").Text()}
	if id.Namespace == "" {
		id.Namespace = b.Nodes[config].home
	}
	var all []int
	for _, s := range b.byKey[id] {
		all = append(all, b.behind[s]...)
	}
	return all
}

// neededBy returns the given nodes and everything that they refer to, directly
// or not.
func (b *builder) neededBy(nodes []int) map[int]bool {
	seen := map[int]bool{}
	for open := slices.Clone(nodes); len(open) > 0; {
		n := open[len(open)-1]
		open = open[:len(open)-1]
		if !seen[n] {
			seen[n] = true
			for r := range b.referencesOf(n) {
				if r.Meaning == knowledge.Exists || r.Meaning == knowledge.Healthy {
					open = append(open, r.To)
				}
			}
		}
	}
	return seen
}

// selects reports whether the selectors of a webhook let an object through.
func (b *builder) selects(hook hook, n Node) bool {
	return b.selectorAllows(hook.Get("objectSelector"), n.Get("metadata", "labels")) && b.namespaceAllows(hook.Value, n, true)
}

// namespaceAllows applies the namespaceSelector of a webhook, as far as the
// labels of the namespace are known: those it has in the component, and the
// name that Kubernetes writes into one. Of a namespace that comes from
// elsewhere, unknown says whether it bears the labels that are asked for.
func (b *builder) namespaceAllows(hook object.Value, n Node, unknown bool) bool {
	selector := hook.Get("namespaceSelector")
	if n.Key.Namespace == "" || !selector.Exists() {
		return true
	}
	for _, ns := range b.byKey[object.ID{Kind: "Namespace", Name: n.Key.Namespace}] {
		labels := b.Nodes[ns].Get("metadata", "labels")
		return b.allows(selector, func(key string) (string, bool) {
			if key == namespaceNameLabel {
				return n.Key.Namespace, true
			}
			return labels.Get(key).Text(), labels.Get(key).Exists()
		})
	}
	for _, f := range selector.Get("matchLabels").Fields() {
		if f.Key != namespaceNameLabel && !unknown || f.Key == namespaceNameLabel && f.Value.Text() != n.Key.Namespace {
			return false
		}
	}
	for _, e := range selector.Get("matchExpressions").Items() {
		if e.Get("key").Text() == namespaceNameLabel {
			if !holds(e, n.Key.Namespace, true) {
				return false
			}
		} else if !unknown && !holds(e, "", false) {
			return false
		}
	}
	return true
}

// namespaceNameLabel is on every namespace, with its name.
const namespaceNameLabel = "kubernetes.io/metadata.name"

func (b *builder) selectorAllows(selector, labels object.Value) bool {
	return b.allows(selector, func(key string) (string, bool) { return labels.Get(key).Text(), labels.Get(key).Exists() })
}

// allows evaluates a label selector; an absent one allows everything.
func (b *builder) allows(selector object.Value, label func(key string) (string, bool)) bool {
	for _, f := range selector.Get("matchLabels").Fields() {
		if v, ok := label(f.Key); !ok || v != f.Value.Text() {
			return false
		}
	}
	for _, e := range selector.Get("matchExpressions").Items() {
		v, ok := label(e.Get("key").Text())
		if !holds(e, v, ok) {
			return false
		}
	}
	return true
}

// holds evaluates one expression of a label selector.
func holds(expression object.Value, value string, present bool) bool {
	listed := present && slices.Contains(texts(expression.Get("values")), value)
	switch expression.Get("operator").Text() {
	case "In":
		return listed
	case "NotIn":
		return !listed
	case "Exists":
		return present
	case "DoesNotExist":
		return !present
	}
	return false
}

func texts(v object.Value) []string {
	var all []string
	for _, item := range v.Items() {
		all = append(all, item.Text())
	}
	return all
}

func containsAny(list []string, words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(list, w) })
}
