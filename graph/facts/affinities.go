package facts

import (
	"slices"

	"github.com/ladder-cmp/ladder/object"
)

// SelectedBeside returns the long-running workloads with Pods that a term of the affinity of a Pod
// selects; none if it selects that Pod, too, which may then be the first.
func (f *Facts) SelectedBeside(i int, pod, term object.Value) (all []int) {
	if !term.Get("labelSelector").Exists() {
		return nil
	}
	for to := range f.Nodes {
		n := &f.Nodes[to]
		if to != i && (!n.Serves() || n.Idle || len(n.Phases()) == 0) || !f.isNamespaceOf(term, &f.Nodes[i], n) {
			continue
		}
		for _, tmpl := range n.Kind.Pod.Find(n.Root()) {
			labels := tmpl.Value.Get("metadata", "labels")
			if !selectorAllows(term.Get("labelSelector"), labels) || !hasLabelsOf(pod, term, labels) {
				continue
			}
			if to == i {
				return nil
			}
			all = append(all, to)
		}
	}
	return slices.Compact(all)
}

// isNamespaceOf reports whether a term of the affinity of a Pod of one object is about the namespace
// of another one.
func (f *Facts) isNamespaceOf(term object.Value, from, to *Node) bool {
	named, selects := Texts(term.Get("namespaces")), term.Get("namespaceSelector").Exists()
	if len(named) == 0 && !selects {
		return to.Key.Namespace == from.Key.Namespace
	}
	return slices.Contains(named, to.Key.Namespace) || selects && f.namespaceAllows(term, *to, false)
}

// hasLabelsOf reports whether labels are those of a Pod for the keys that a term says. Kubernetes
// ignores keys that the Pod does not have.
func hasLabelsOf(pod, term, labels object.Value) bool {
	own := pod.Get("metadata", "labels")
	differs := func(key string) bool { return own.Get(key).Exists() && own.Get(key).Text() != labels.Get(key).Text() }
	return !slices.ContainsFunc(Texts(term.Get("matchLabelKeys")), differs) &&
		!slices.ContainsFunc(Texts(term.Get("mismatchLabelKeys")), func(key string) bool { return own.Get(key).Exists() && !differs(key) })
}
