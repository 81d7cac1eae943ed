package graph

import (
	"fmt"
	"slices"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/object"
)

// reportDeletedFirst reports PostDelete hooks whose namespace, or an object without which
// their Pods do not start, Argo CD deletes before: it creates these hooks when the
// other objects of the Application are gone, including hooks of other phases
// (finalizeApplicationDeletion in argo-cd controller/appcontroller.go).
func (b *builder) reportDeletedFirst() {
	needed := make([][]read, len(b.Nodes))
	for _, r := range b.reads {
		if n := &b.Nodes[r.From]; !n.Kind.Pod.IsZero() && n.Kind.Runs != "later" && (r.starts || r.Hard) {
			needed[r.From] = append(needed[r.From], r)
		}
	}
	for i := range b.Nodes {
		n := &b.Nodes[i]
		if n.External || !slices.Contains(n.phases, object.PostDelete) {
			continue
		}
		var deleted []object.ID
		namespace := object.ID{Kind: "Namespace", Name: n.Key.Namespace}
		why, field, effect := "is in", namespaceField, "the API server rejects the hook"
		if b.isDeletedFirst(namespace) {
			deleted = append(deleted, namespace)
		}
		for _, r := range needed[i] {
			if b.isDeletedFirst(r.id) && !slices.Contains(deleted, r.id) {
				if deleted == nil {
					why, field, effect = r.Why, r.Field, "the Pods of the hook do not start"
				}
				deleted = append(deleted, r.id)
			}
		}
		if deleted == nil {
			continue
		}
		message := fmt.Sprintf("it %s %s, which Argo CD deletes before it runs PostDelete hooks: %s, and the deletion of the Application never finishes", why, deleted[0], effect)
		if len(deleted) > 1 {
			message = fmt.Sprintf("it %s %s, which Argo CD deletes before it runs PostDelete hooks (and %d more that the hook needs): %s, and the deletion of the Application never finishes", why, deleted[0], len(deleted)-1, effect)
		}
		b.Findings = append(b.Findings, finding.Finding{Severity: finding.Warning, Rule: "deleted-first", File: n.File, Line: n.Line, Object: n.Key.String(), Field: field, Message: message,
			Remedy: fmt.Sprintf("make the objects that the hook needs PostDelete hooks, too, or keep them with %s: Delete=false", object.SyncOptions)})
	}
}

// isDeletedFirst reports whether the component contains an object that is gone when Argo
// CD runs PostDelete hooks: it is neither such a hook nor kept.
func (b *builder) isDeletedFirst(id object.ID) bool {
	isDeleted := func(i int) bool {
		n := &b.Nodes[i]
		return !n.External && len(n.phases) > 0 && !slices.Contains(n.phases, object.PostDelete) && !n.IsKept()
	}
	nodes := b.byKey[id]
	return len(nodes) > 0 && !slices.ContainsFunc(nodes, func(i int) bool { return !isDeleted(i) })
}
