package graph

import (
	"fmt"
	"slices"

	"github.com/ladder-cmp/ladder/graph/facts"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/object"
)

// ownPods reports fail-closed webhooks that must admit the Pods of their own backend.
func ownPods(r report) (found []finding.Finding) {
	for _, p := range ownPodsOf(r.Facts) {
		config, server := &r.Nodes[p.webhook.Config], r.Nodes[p.server].Key.String()
		found = append(found, finding.Finding{Severity: finding.Warning, Rule: "own-pods", File: config.File, Line: config.Line, Object: config.Key.String(),
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
			found = append(found, finding.Finding{Severity: finding.Error, Rule: "other-phase", File: config.File, Line: config.Line, Object: config.Key.String(),
				About:   n.Key.String(),
				Field:   "webhooks[" + h.Name + "]",
				Message: "the configuration is a PreSync hook, and this webhook must admit its backend " + n.Key.String() + ", which Argo CD applies only after all PreSync hooks, so the API server rejects the backend",
				Remedy:  "remove the hook annotation, exclude the backend by objectSelector or namespaceSelector, or set failurePolicy: Ignore"})
		}
	}
	return found
}

// deletedFirst reports PostDelete hooks whose namespace, or an object without which
// their Pods do not start, Argo CD deletes before: it creates these hooks when the
// other objects of the Application are gone, including hooks of other phases
// (finalizeApplicationDeletion in argo-cd controller/appcontroller.go).
func deletedFirst(r report) (found []finding.Finding) {
	if r.Joined {
		return nil
	}
	needed := make([][]*facts.Mention, len(r.Nodes))
	reads := r.Reads()
	for i := range reads {
		m := &reads[i]
		if n := &r.Nodes[m.From]; !n.Kind.Pod.IsZero() && n.Kind.Runs != "later" && (m.Record.Starts || m.Record.Hard) {
			needed[m.From] = append(needed[m.From], m)
		}
	}
	for i := range r.Nodes {
		n := &r.Nodes[i]
		if n.External || !slices.Contains(n.Phases(), object.PostDelete) {
			continue
		}
		var deleted []object.ID
		namespace := object.ID{Kind: "Namespace", Name: n.Key.Namespace}
		why, field, effect := "is in", namespaceField, "the API server rejects the hook"
		if isDeletedFirst(r.Facts, namespace) {
			deleted = append(deleted, namespace)
		}
		for _, m := range needed[i] {
			if isDeletedFirst(r.Facts, m.ID) && !slices.Contains(deleted, m.ID) {
				if deleted == nil {
					why, field, effect = m.Record.Why, m.Field, "the Pods of the hook do not start"
				}
				deleted = append(deleted, m.ID)
			}
		}
		if deleted == nil {
			continue
		}
		more := ""
		if len(deleted) > 1 {
			more = fmt.Sprintf(" (and %d more that the hook needs)", len(deleted)-1)
		}
		found = append(found, finding.Finding{Severity: finding.Warning, Rule: "deleted-first", File: n.File, Line: n.Line, Object: n.Key.String(), Field: field,
			Message: fmt.Sprintf("it %s %s, which Argo CD deletes before it runs PostDelete hooks%s: %s, and the deletion of the Application never finishes", why, deleted[0], more, effect),
			Remedy:  fmt.Sprintf("make the objects that the hook needs PostDelete hooks, too, or keep them with %s: Delete=false", object.SyncOptions)})
	}
	return found
}

// isDeletedFirst reports whether the component contains an object that is gone when Argo
// CD runs PostDelete hooks: it is neither such a hook nor kept.
func isDeletedFirst(f *facts.Facts, id object.ID) bool {
	isDeleted := func(i int) bool {
		n := &f.Nodes[i]
		return !n.External && len(n.Phases()) > 0 && !slices.Contains(n.Phases(), object.PostDelete) && !n.IsKept()
	}
	nodes := f.ByKey(id)
	return len(nodes) > 0 && !slices.ContainsFunc(nodes, func(i int) bool { return !isDeleted(i) })
}
