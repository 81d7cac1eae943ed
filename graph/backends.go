package graph

import (
	"slices"
	"strings"
	"sync"

	"github.com/ladder-cmp/ladder/internal/digraph"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// referToBackends adds references from webhook configurations, APIServices and
// conversions to the workloads behind their Services, and makes those workloads
// controllers.
func (b *builder) referToBackends() {
	b.selectPods()
	for i, n := range b.Nodes {
		for _, rec := range n.Kind.References {
			if !rec.ToBackends || n.IsHook() {
				continue
			}
			for _, f := range rec.At.Find(n.Root()) {
				for _, workload := range b.mentionedBackends(i, rec, f) {
					b.refer(Reference{From: i, To: workload, Field: f.Field, Meaning: rec.Meaning, Why: rec.Why, Source: rec.Source})
					if n.Kind.Defines != nil {
						b.convertersOf[i] = append(b.convertersOf[i], workload)
					}
					if !rec.Address { // an object with an address is called by others and is not part of the API
						b.giveRole(workload, knowledge.Controllers, "serves "+n.Key.String())
					}
				}
			}
		}
	}
}

// mentionedBackends returns the workloads behind the Service that a value mentions.
func (b *builder) mentionedBackends(i int, rec knowledge.Reference, f knowledge.Found) []int {
	m, ok := readMention(rec, f)
	if !ok {
		return nil
	}
	id := b.identify(i, m)
	if id == apiServer {
		return b.backendsOfAPI(f.Value.Get("path").Text())
	}
	var all []int
	for _, service := range b.resolve(id, rec) {
		all = append(all, b.backends[service]...)
	}
	return all
}

// orderOwnWebhooks makes a webhook configuration wait for its backend if one of its
// fail-closed webhooks must admit the Pods of that backend: it refuses them until
// they run.
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
					b.waitForBackend(w, server, "must admit the Pods of")
					b.Findings = append(b.Findings, finding.Finding{Severity: finding.Warning, Rule: "own-pods", File: config.File, Line: config.Line, Object: config.Key.String(),
						About:   b.Nodes[server].Key.String(),
						Field:   "webhooks[" + hook.Get("name").Text() + "]",
						Message: "it rejects the Pods of its backend " + b.Nodes[server].Key.String() + " whenever the backend is down, so it must be applied after the backend",
						Remedy:  "exclude the backend by objectSelector or namespaceSelector, or set failurePolicy: Ignore"})
				}
			}
		}
	}
}

// waitForBackend turns the reference by which a configuration shares a wave with its
// backend into one that waits for the backend.
func (b *builder) waitForBackend(config, server int, why string) {
	for _, i := range b.pairs[[2]int{config, server}] {
		if r := &b.References[i]; r.Meaning == knowledge.With {
			r.Meaning, r.Hard, r.Why = knowledge.Healthy, true, why
		}
	}
}

// followBackend turns the reference by which a configuration shares a wave with its
// backend into one that follows it.
func (b *builder) followBackend(config, server int) {
	for _, i := range b.pairs[[2]int{config, server}] {
		if r := &b.References[i]; r.Meaning == knowledge.With {
			r.Meaning, r.Inferred, r.Sign, r.Why = knowledge.Healthy, true, Registration, "is registered after its backend"
		}
	}
}

func failsOpen(hook object.Value) bool {
	policy := hook.Get("failurePolicy").Text()
	return policy != "" && policy != "Fail"
}

// admitsPods reports whether the API server calls a webhook when the Pods of a
// workload are created.
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

// selectPods finds the workloads whose Pods a Service selects. In many charts hooks
// and tests have the labels of the release, but they are not backends.
func (b *builder) selectPods() {
	type label struct{ namespace, key, value string }
	workloads := map[label][]int{}
	for w, n := range b.Nodes {
		if !serves(n) {
			continue
		}
		for _, tmpl := range n.Kind.Pod.Find(n.Root()) {
			for _, f := range tmpl.Value.Get("metadata", "labels").Fields() {
				l := label{n.Key.Namespace, f.Key, f.Value.Text()}
				workloads[l] = append(workloads[l], w)
			}
		}
	}
	for s, service := range b.Nodes {
		selectors := service.Kind.Selects.Find(service.Root())
		if len(selectors) == 0 || service.IsHook() {
			continue
		}
		selector := selectors[0].Value.Fields()
		if len(selector) == 0 {
			continue
		}
		// Start with the label that the fewest workloads have.
		rarest := slices.MinFunc(selector, func(x, y object.Field) int {
			return len(workloads[label{service.Key.Namespace, x.Key, x.Value.Text()}]) - len(workloads[label{service.Key.Namespace, y.Key, y.Value.Text()}])
		})
		for _, w := range workloads[label{service.Key.Namespace, rarest.Key, rarest.Value.Text()}] {
			workload := b.Nodes[w]
			for _, tmpl := range workload.Kind.Pod.Find(workload.Root()) {
				if hasLabels(tmpl.Value, selector) {
					b.backends[s] = append(b.backends[s], w)
				}
			}
		}
	}
}

// serves reports whether a workload is long-running and not a hook.
func serves(n Node) bool {
	return !n.Kind.Pod.IsZero() && n.Kind.Runs == "" && !n.IsHook()
}

func hasLabels(template object.Value, selector []object.Field) bool {
	labels := template.Get("metadata", "labels")
	return !slices.ContainsFunc(selector, func(f object.Field) bool { return labels.Get(f.Key).Text() != f.Value.Text() })
}

// referToWebhooks makes an object that a fail-closed webhook of the component must
// admit wait for the workload behind the webhook, unless it is exempt.
func (b *builder) referToWebhooks() {
	exemptions := exemptions{builder: b}
	b.referToConverters(&exemptions)
	for w, config := range b.Nodes {
		for _, hooks := range config.Kind.Admits.Find(config.Root()) {
			canRegisterAfterBackend := sync.OnceValue(func() bool { return b.canRegisterAfterBackend(w) }) // computed on demand, since it looks at all webhooks
			writers := b.caWriters(w)
			dependencies := digraph.Reachable(writers, b.dependenciesOf)
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
				for _, kind := range b.kindRanges {
					covers := hook.covers(kind.group, kind.plural)
					for i := kind.from; i < kind.to && (covers || hook.pods); i++ {
						n := &b.Nodes[i]
						if i == w || !n.InSync() || exemptions.isExempt(i, config.Part, backends) {
							continue
						}
						if !covers || !b.selects(hook, *n) {
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
							if n.Part == config.Part && canRegisterAfterBackend() {
								b.followBackend(w, backend)
								r := b.inferredReference(i, w, webhooksField, knowledge.Healthy, "is admitted by")
								r.Sign = Registration
								b.refer(r)
							}
						}
						for _, j := range writers {
							if !dependencies[i] {
								r := b.inferredReference(i, j, webhooksField, knowledge.Healthy, "must be admitted by webhook "+name+", which is not available before")
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

// referToConverters makes a custom resource that is not in the storage version of its
// kind wait for the conversion webhook: the API server refuses it until the webhook
// responds.
func (b *builder) referToConverters(exempt *exemptions) {
	if len(b.convertersOf) == 0 {
		return
	}
	for i := range b.Nodes {
		n := &b.Nodes[i]
		if !n.InSync() {
			continue
		}
		for _, converter := range b.converters(i) {
			if !exempt.isExempt(i, b.Nodes[converter].Part, []int{converter}) {
				b.refer(Reference{From: i, To: converter, Field: kindField, Meaning: knowledge.Healthy, Hard: true, Refused: true, Why: "is converted by",
					Source: "https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/#webhook-conversion"})
			}
		}
	}
}

// canRegisterAfterBackend reports whether a webhook configuration can be applied after its
// backend, in a wave before the first object that the webhook admits. A Deployment
// is available up to a second before kube-proxy routes connections to its Pods, and
// Argo CD applies the next wave at once, so the first such object would be refused.
// A wave in between adds two seconds. It returns false if anything else may depend on
// the configuration:
//   - A backend that modifies its own configuration, or waits for it, is not ready
//     without it. So the component must show all permissions of the workloads in
//     its wave, and none to read configurations.
//   - A Job that changes the configuration must run between the two.
//   - The CA must be in the configuration, or come from cert-manager's cainjector,
//     which is already running. Other injectors are unknown, and may need the time
//     while the backend starts.
//   - Pods that it admits start together with the backend, and need it then.
func (b *builder) canRegisterAfterBackend(config int) bool {
	c := &b.Nodes[config]
	if len(b.referrers(config)) > 0 {
		return false
	}
	injected := isInjected(c)
	var webhooks []hook
	var servers []int
	for _, hooks := range c.Kind.Admits.Find(c.Root()) {
		for _, h := range hooks.Value.Items() {
			if !injected && h.Get("clientConfig", "caBundle").Text() == "" {
				return false
			}
			webhooks = append(webhooks, readHook(h))
			servers = append(servers, b.backendsOf(config, h)...)
		}
	}
	if slices.ContainsFunc(servers, func(server int) bool { return b.Nodes[server].Part != c.Part || !b.showsPermissions(server) }) {
		return false
	}
	for i := range b.Nodes {
		n := &b.Nodes[i]
		if n.Part != c.Part || n.Kind.Pod.IsZero() {
			continue
		}
		if b.maySeeWebhooks(i) || slices.ContainsFunc(webhooks, func(h hook) bool { return b.admitsPods(h, *n) }) {
			return false
		}
	}
	return true
}

// maySeeWebhooks reports whether the Pods of a workload may read webhook
// configurations. For a controller and its companions, the component must show that
// they may not.
func (b *builder) maySeeWebhooks(workload int) bool {
	if b.Nodes[workload].Role == knowledge.Controllers && !b.showsPermissions(workload) {
		return true
	}
	return slices.ContainsFunc(b.rulesOfNode(workload), func(r rule) bool {
		return slices.ContainsFunc(registrars, func(reg registrar) bool {
			return reg.group == admission && r.allows(reg.group, reg.resource, "get", "list", "watch", "create", "update", "patch")
		})
	})
}

// caWriters returns the Jobs of the Sync phase that write the backend's CA into a
// webhook configuration.
func (b *builder) caWriters(config int) []int {
	var jobs []int
	for r := range b.referencesTo(config) {
		if j := &b.Nodes[r.From]; r.Meaning == knowledge.Healthy && j.Kind.Runs == "once" && j.InSync() {
			jobs = append(jobs, r.From)
		}
	}
	return jobs
}

// backendsOf returns the workloads behind a webhook of a configuration.
func (b *builder) backendsOf(config int, hook object.Value) []int {
	service := hook.Get("clientConfig", "service")
	id := object.ID{Kind: "Service", Namespace: service.Get("namespace").Text(), Name: service.Get("name").Text()}
	if id.Namespace == "" {
		id.Namespace = b.Nodes[config].destination
	}
	if id == apiServer {
		return b.backendsOfAPI(service.Get("path").Text())
	}
	var all []int
	for _, s := range b.byKey[id] {
		all = append(all, b.backends[s]...)
	}
	return all
}

// apiServer is the Service of the API server
// (https://kubernetes.io/docs/tasks/run-application/access-api-from-pod/).
var apiServer = object.ID{Kind: "Service", Namespace: "default", Name: "kubernetes"}

// backendsOfAPI returns the workloads that serve a path of the API server, such as
// /apis/GROUP/VERSION/RESOURCE, by an APIService of the component.
func (b *builder) backendsOfAPI(path string) []int {
	rest, isAPI := strings.CutPrefix(path, "/apis/")
	group, _, _ := strings.Cut(rest, "/")
	var all []int
	for i := range b.Nodes {
		n := &b.Nodes[i]
		if !isAPI || n.Kind.Serves.IsZero() || n.Kind.Serves.Text(n.Root()) != group {
			continue
		}
		for _, rec := range n.Kind.References {
			if !rec.ToBackends {
				continue
			}
			for _, f := range rec.At.Find(n.Root()) {
				all = append(all, b.mentionedBackends(i, rec, f)...)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// dependenciesOf returns the direct dependencies of a node.
func (b *builder) dependenciesOf(node int) []int {
	var all []int
	for r := range b.referencesOf(node) {
		if r.Meaning == knowledge.Exists || r.Meaning == knowledge.Healthy {
			all = append(all, r.To)
		}
	}
	return all
}

// selects reports whether the selectors of a webhook match an object.
func (b *builder) selects(hook hook, n Node) bool {
	return b.selectorAllows(hook.Get("objectSelector"), n.Get("metadata", "labels")) && b.namespaceAllows(hook.Value, n, true)
}

// namespaceAllows applies the namespaceSelector of a webhook, as far as the labels
// of the namespace are known: those in the component, and the name label that
// Kubernetes adds. For a namespace outside the component, unknown says whether to
// assume that it has the required labels.
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

// namespaceNameLabel is the label with the name of the namespace, which Kubernetes
// sets.
const namespaceNameLabel = "kubernetes.io/metadata.name"

func (b *builder) selectorAllows(selector, labels object.Value) bool {
	return b.allows(selector, func(key string) (string, bool) { return labels.Get(key).Text(), labels.Get(key).Exists() })
}

// allows evaluates a label selector; an absent one matches everything.
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

// holds evaluates a match expression of a label selector.
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
