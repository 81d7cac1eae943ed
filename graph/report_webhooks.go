package graph

import (
	"slices"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/object"
)

// ownPods reports fail-closed webhooks that must admit the Pods of their own backend.
func ownPods(r report) (found []finding.Finding) {
	for _, p := range ownPodsOf(r.Facts) {
		config, server := &r.Nodes[p.webhook.Config], r.Nodes[p.server].Key.String()
		found = append(found, finding.Finding{Severity: finding.Warning, Rule: "own-pods", File: config.File, Line: config.Line,
			Object:  config.Key.String(),
			About:   server,
			Field:   "webhooks[" + p.webhook.Name + "]",
			Message: "it rejects the Pods of its backend " + server + " whenever the backend is down, so it must be applied after the backend",
			Remedy:  "exclude the backend by objectSelector or namespaceSelector, or set failurePolicy: Ignore"})
	}
	return found
}

// earlyWebhooks reports fail-closed webhooks of the PreSync phase that must admit their
// own backend, which Argo CD applies in the Sync phase: the API server rejects the
// backend, because nothing answers yet.
func earlyWebhooks(r report) (found []finding.Finding) {
	hooks := r.Webhooks()
	for at := range hooks {
		h := &hooks[at]
		config := &r.Nodes[h.Config]
		if h.FailsOpen || config.External || !slices.Contains(config.Phases(), object.PreSync) || config.DeletePolicy().Succeeded {
			continue
		}
		for _, server := range h.Servers {
			n := &r.Nodes[server]
			if n.Part != config.Part || n.External || !n.InSync() || !r.AdmitsCreation(h, n) {
				continue
			}
			found = append(found, finding.Finding{Severity: finding.Error, Rule: "other-phase", File: config.File,
				Line: config.Line, Object: config.Key.String(),
				About: n.Key.String(),
				Field: "webhooks[" + h.Name + "]",
				Message: "the configuration is a PreSync hook, and this webhook must admit its backend " + n.Key.String() +
					", which Argo CD applies only after all PreSync hooks, so the API server rejects the backend",
				Remedy: "remove the hook annotation, exclude the backend by objectSelector or namespaceSelector, or set failurePolicy: Ignore"})
		}
	}
	return found
}
