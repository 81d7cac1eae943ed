package graph

import (
	"fmt"
	"slices"

	"github.com/ladder-cmp/ladder/graph/facts"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/object"
)

// deletion is a phase of the deletion of an Application (finalizeApplicationDeletion in
// argo-cd controller/appcontroller.go): Argo CD creates its hooks all at once.
type deletion struct {
	phase object.Phase
	// isGone reports whether an object is missing when the hooks run.
	isGone func(*facts.Node) bool
	// gone says so, and keep how to keep the object.
	gone, keep string
}

// deletions are the phases. The cascade between them deletes what syncs applied, with hooks
// of other phases.
var deletions = []deletion{
	{object.PreDelete, func(n *facts.Node) bool {
		return n.DeletePolicy().Succeeded || !slices.ContainsFunc(n.Phases(), object.Phase.RunsInSync)
	}, "which does not exist when Argo CD runs PreDelete hooks", "delete HookSucceeded from their delete policies"},
	{object.PostDelete, func(n *facts.Node) bool { return !n.IsKept() },
		"which Argo CD deletes before it runs PostDelete hooks", "keep them with " + object.SyncOptions + ": Delete=false"},
}

// deletedFirst reports hooks of a deletion whose namespace, or an object without which
// their Pods do not start or have no permissions, is gone when they run.
func deletedFirst(r report) (found []finding.Finding) {
	if r.Joined {
		return nil
	}
	needs := r.needsOfPods()
	for i := range r.Nodes {
		n := &r.Nodes[i]
		for _, d := range deletions {
			if !n.External && slices.Contains(n.Phases(), d.phase) {
				found = append(found, d.missing(r, i, needs[i])...)
			}
		}
	}
	return found
}

// need is what a hook of a deletion needs, and what happens without it.
type need struct {
	id                 object.ID
	why, field, effect string
}

// needsOfPods returns, by node, the objects without which its Pods do not start.
func (r report) needsOfPods() [][]need {
	needs := make([][]need, len(r.Nodes))
	reads := r.Reads()
	for i := range reads {
		m := &reads[i]
		if n := &r.Nodes[m.From]; !n.Kind.Pod.IsZero() && n.Kind.Runs != "later" && (m.Record.Starts || m.Record.Hard) {
			needs[m.From] = append(needs[m.From], need{m.ID, m.Record.Why, m.Field, "the Pods of the hook do not start"})
		}
	}
	return needs
}

// missing reports that a hook needs objects that are gone when it runs.
func (d deletion) missing(r report, i int, ofPods []need) []finding.Finding {
	n := &r.Nodes[i]
	needs := append([]need{{object.ID{Kind: "Namespace", Name: n.Key.Namespace}, "is in", namespaceField,
		"the API server rejects the hook"}}, ofPods...)
	var gone []need
	for _, needed := range needs {
		isKnown := slices.ContainsFunc(gone, func(other need) bool { return other.id == needed.id })
		if nodes := r.ByKey(needed.id); !isKnown && len(nodes) > 0 && !slices.ContainsFunc(nodes, func(j int) bool { return !d.misses(r, j) }) {
			gone = append(gone, needed)
		}
	}
	gone = append(gone, d.permissionsGone(r, i)...)
	if len(gone) == 0 {
		return nil
	}
	more := ""
	if len(gone) > 1 {
		more = fmt.Sprintf(" (and %d more that the hook needs)", len(gone)-1)
	}
	first := gone[0]
	return []finding.Finding{{Severity: finding.Warning, Rule: "deleted-first", File: n.File, Line: n.Line,
		Object: n.Key.String(), Field: first.field, About: string(d.phase),
		Message: fmt.Sprintf("it %s %s, %s%s: %s, and the deletion of the Application never finishes", first.why, first.id,
			d.gone, more, first.effect),
		Remedy: fmt.Sprintf("make the objects that the hook needs %s hooks, too, or %s", d.phase, d.keep)}}
}

// misses reports whether an object of the component is missing when the hooks run.
func (d deletion) misses(r report, i int) bool {
	n := &r.Nodes[i]
	return !n.External && len(n.Phases()) > 0 && !slices.Contains(n.Phases(), d.phase) && d.isGone(n)
}

// permissionsGone returns the bindings and roles of a hook's ServiceAccount that are gone, if it
// has no others.
func (d deletion) permissionsGone(r report, i int) (gone []need) {
	for _, serviceAccount := range r.ServiceAccounts(i) {
		for _, binding := range r.AllBindingsOf(serviceAccount) {
			roles := r.RolesOf(binding)
			missing := slices.DeleteFunc(append([]int{binding}, roles...), func(j int) bool { return !d.misses(r, j) })
			if len(missing) == 0 {
				return nil
			}
			for _, j := range missing {
				gone = append(gone, need{r.Nodes[j].Key, "has the permissions of", "spec.template.spec.serviceAccountName",
					"the API server rejects the requests of the hook"})
			}
		}
	}
	return gone
}
