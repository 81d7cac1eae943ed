package graph

import (
	"slices"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/object"
)

// reportEarlyWebhooks reports fail-closed webhooks of the PreSync phase that must admit their
// own backend, which Argo CD applies in the Sync phase: the API server rejects the
// backend, because nothing answers yet.
func (b *builder) reportEarlyWebhooks() {
	for w := range b.Nodes {
		config := &b.Nodes[w]
		if config.External || !slices.Contains(config.phases, object.PreSync) || config.EndsOnSuccess() {
			continue
		}
		for _, hooks := range config.Kind.Admits.Find(config.Root()) {
			for _, v := range hooks.Value.Items() {
				if failsOpen(v) {
					continue
				}
				for _, server := range b.backendsOf(w, v) {
					n := &b.Nodes[server]
					if n.Part != config.Part || n.External || !n.InSync() || !b.admitsCreation(v, n) {
						continue
					}
					b.Findings = append(b.Findings, finding.Finding{Severity: finding.Error, Rule: "other-phase", File: config.File, Line: config.Line, Object: config.Key.String(),
						About:   n.Key.String(),
						Field:   "webhooks[" + v.Get("name").Text() + "]",
						Message: "the configuration is a PreSync hook, and this webhook must admit its backend " + n.Key.String() + ", which Argo CD applies only after all PreSync hooks, so the API server rejects the backend",
						Remedy:  "remove the hook annotation, exclude the backend by objectSelector or namespaceSelector, or set failurePolicy: Ignore"})
				}
			}
		}
	}
}

// admitsCreation reports whether the API server certainly calls a webhook when it creates an
// object.
func (b *builder) admitsCreation(webhook object.Value, n *Node) bool {
	return !webhook.Get("matchConditions").Exists() && b.selectorAllows(webhook.Get("objectSelector"), n.Get("metadata", "labels")) &&
		b.showsLabels(n.Key.Namespace, webhook.Get("namespaceSelector")) && b.namespaceAllows(webhook, *n, false) &&
		slices.ContainsFunc(webhook.Get("rules").Items(), func(r object.Value) bool {
			return containsAny(texts(r.Get("operations")), "*", "CREATE") && containsAny(texts(r.Get("apiGroups")), "*", n.Key.Group) &&
				containsAny(texts(r.Get("resources")), "*", "*/*", b.plural(*n)) && r.Get("scope").Text() != "Cluster"
		})
}

// showsLabels reports whether the labels of a namespace that a selector reads are known.
func (b *builder) showsLabels(namespace string, selector object.Value) bool {
	isOther := func(key string) bool { return key != namespaceNameLabel }
	return len(b.byKey[object.ID{Kind: "Namespace", Name: namespace}]) > 0 ||
		!slices.ContainsFunc(selector.Get("matchLabels").Fields(), func(f object.Field) bool { return isOther(f.Key) }) &&
			!slices.ContainsFunc(selector.Get("matchExpressions").Items(), func(e object.Value) bool { return isOther(e.Get("key").Text()) })
}
