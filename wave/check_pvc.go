package wave

import (
	"fmt"
	"slices"

	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// latePVC reports a PVC in a wave before its first consumer if its StorageClass has
// volumeBindingMode WaitForFirstConsumer.
func (s *simulation) latePVC(i int) []finding.Finding {
	if s.Graph.Nodes[i].Kind.Placement != knowledge.WithConsumer || s.at[i] == never || !s.awaits(i) || len(s.users[i]) == 0 ||
		s.bindsImmediately(i) {
		return nil
	}
	first := s.users[i][0].From
	for _, r := range s.users[i] {
		if s.at[r.From].compare(s.at[first]) < 0 {
			first = r.From
		}
	}
	if s.at[first].compare(s.at[i]) <= 0 {
		return nil
	}
	severity, unless, remedy := finding.Error, "", s.orCompute("put this PVC into the wave of "+s.name(first), i, first)
	class := s.foreignClass(i)
	switch {
	case class != (object.ID{}):
		severity, unless = finding.Warning, fmt.Sprintf(", unless %s binds volumes immediately", class)
	case len(s.classes(i)) == 0:
		severity, unless = finding.Warning, ", unless the default StorageClass of the cluster binds volumes immediately"
	}
	f := s.finding(i, severity, Late,
		fmt.Sprintf("deadlock%s: %s, this PVC stays Pending until %s uses it, but Argo CD applies that object only %s, after the PVC is healthy",
			unless, s.at[i], s.name(first), s.at[first]), remedy)
	f.About = s.Graph.Nodes[first].Key.String()
	if class != (object.ID{}) {
		f.Missing = class.String()
	}
	return []finding.Finding{f}
}

// isConsumed reports whether a PVC is bound where Argo CD applies it: at once, or
// because the sync applies a consumer by then, or a custom resource that probably
// makes one.
func (s *simulation) isConsumed(i int) bool {
	if s.bindsImmediately(i) {
		return true
	}
	return slices.ContainsFunc(s.Graph.References, func(r graph.Reference) bool {
		return r.To == i && !runsLater(&s.Graph.Nodes[r.From], &r) && s.at[r.From].compare(s.at[i]) <= 0
	})
}

// classField is the field with the class of a PVC.
const classField = "spec.storageClassName"

// foreignClass returns the StorageClass that a PVC names if the component does not
// contain it.
func (s *simulation) foreignClass(i int) object.ID {
	n := &s.Graph.Nodes[i]
	name := n.Get("spec", "storageClassName").Text()
	for _, r := range n.Kind.References {
		if r.At.String() == classField && name != "" && len(s.classes(i)) == 0 {
			return object.ID{Group: r.To[0].Group, Kind: r.To[0].Kind, Name: name}
		}
	}
	return object.ID{}
}

// bindsImmediately reports whether a PVC is bound without a consumer: it names its
// volume, wants a volume without a class, or its class is in the component and
// binds immediately.
func (s *simulation) bindsImmediately(i int) bool {
	spec := s.Graph.Nodes[i].Get("spec")
	if class := spec.Get("storageClassName"); spec.Get("volumeName").Text() != "" || class.IsText() && class.Text() == "" {
		return true
	}
	return slices.ContainsFunc(s.classes(i), func(class int) bool { return BindsImmediately(s.Graph.Nodes[class].Object) })
}

// classes returns the component's StorageClasses that a PVC may use: the one it
// names, or the default.
func (s *simulation) classes(i int) []int {
	var all []int
	for _, r := range s.Graph.References {
		if r.From == i && !s.Graph.Nodes[r.To].Kind.Provider.IsZero() {
			all = append(all, r.To)
		}
	}
	if s.Graph.Nodes[i].Get("spec", "storageClassName").Exists() {
		return all
	}
	for class := range s.Graph.Nodes {
		if n := &s.Graph.Nodes[class]; !n.Kind.Provider.IsZero() &&
			n.Get("metadata", "annotations", "storageclass.kubernetes.io/is-default-class").Text() == "true" {
			all = append(all, class)
		}
	}
	return all
}

// BindsImmediately reports whether a StorageClass binds PVCs before a Pod uses them.
func BindsImmediately(class object.Object) bool {
	mode := class.Get("volumeBindingMode").Text()
	return mode == "" || mode == "Immediate"
}
