package live

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	argo "github.com/ladder-cmp/ladder/argocd"
	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/graph/facts"
	"github.com/ladder-cmp/ladder/internal/lazyregexp"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// relations are what the objects need of each other, as package graph finds it in manifests.
type relations struct {
	sorted []object.ID
	graph  *graph.Graph
	facts  *facts.Facts
	nodes  map[object.ID]int
}

// relate builds the graph of the objects that people write. What the cluster makes of them, such
// as Pods, would only repeat them.
func (s *scene) relate() {
	s.sorted = slices.SortedFunc(maps.Keys(s.objects), compareIDs)
	var written []object.Object
	for _, id := range s.sorted {
		if o := s.objects[id]; len(o.Get("metadata", "ownerReferences").Items()) == 0 && id.Group != argo.Group {
			written = append(written, o)
		}
	}
	s.nodes = map[object.ID]int{}
	f, found := facts.New([]facts.Part{{Objects: written}}, s.base, facts.Options{})
	if len(found) > 0 {
		return
	}
	s.facts = f
	for i := range f.Nodes {
		s.nodes[f.Nodes[i].ID] = i
	}
	// An invalid annotation of Ladder's hides the graph; facts need none.
	s.graph, _ = graph.Build(written, s.base, graph.Options{})
}

// references returns the references of an object in the graph.
func (s *scene) references(id object.ID) (all []graph.Reference) {
	if s.graph == nil {
		return nil
	}
	for _, r := range s.graph.References {
		if s.graph.Nodes[r.From].ID == id {
			all = append(all, r)
		}
	}
	return all
}

// needed returns the objects that an object needs, and that are there or certainly are not.
func (s *scene) needed(id object.ID) (all []object.ID) {
	if o, ok := s.objects[id]; ok {
		all = leads(o)
	}
	for _, r := range s.references(id) {
		if to := s.graph.Nodes[r.To].ID; r.Need == graph.Needs && !r.Inferred() && !r.IsAboutKind() && r.Fails != graph.Lacks {
			all = append(all, to)
		}
	}
	for _, m := range s.mentions(id) {
		if _, exists := s.objects[m]; !exists && s.isAbsent(m) {
			all = append(all, m)
		}
	}
	return all
}

// mentions returns the objects that the fields of an object name, those that it writes, and
// those of an unknown namespace, excepted.
func (s *scene) mentions(id object.ID) (all []object.ID) {
	i, ok := s.nodes[id]
	if !ok {
		return nil
	}
	for _, m := range s.facts.Reads() {
		if m.From == i && !m.Optional && !m.Anywhere() {
			all = append(all, m.ID)
		}
	}
	return all
}

var (
	anyNotFound = lazyregexp.New(`([A-Za-z]+)\.([a-z0-9.-]+) "([^"]+)" not found`)
	inQuotes    = lazyregexp.New(`["']([a-z0-9-]+)[^"' ]*["']`)
)

// downIn returns the workload that a message names in quotes, such as a plugin of an operator by its
// host name, if it has too few Pods.
func (s *scene) downIn(message string) object.ID {
	for _, m := range inQuotes.FindAllStringSubmatch(message, -1) {
		for _, id := range s.sorted {
			_, isShort := s.shortOf(id)
			if isShort && id.Name == m[1] && (id.GroupKind() == "Deployment.apps" || id.GroupKind() == "StatefulSet.apps") {
				return id
			}
		}
	}
	return object.ID{}
}

// namedIn returns the object that a message names: it says that it was not found, and it was not, or the
// object with the message refers to it. An export cannot know more than the message, whose kind must
// be written as in manifests.
func (s *scene) namedIn(message string, o object.Object) (id object.ID, isGone bool) {
	if m := anyNotFound.FindStringSubmatch(message); m != nil {
		for id := range s.absent {
			if strings.EqualFold(id.Kind, m[1]) && id.Group == m[2] && id.Name == m[3] && (id.Namespace == "" || id.Namespace == o.ID.Namespace) {
				return id, true
			}
		}
		id = object.ID{Group: m[2], Kind: m[1], Namespace: o.ID.Namespace, Name: m[3]}
		if kind, _ := s.base.Kind(id.Group, id.Kind); kind.Scope == "cluster" {
			id.Namespace = ""
		}
		if _, exists := s.objects[id]; s.IsExport && !exists && strings.ToLower(m[1]) != m[1] {
			return id, true
		}
	}
	for _, id := range s.mentions(o.ID) {
		if strings.Contains(message, `"`+id.Name+`"`) {
			return id, false
		}
	}
	return object.ID{}, false
}

// consumer returns the workload that uses a PVC; the zero ID if none is known.
func (s *scene) consumer(claim object.ID) object.ID {
	if s.graph == nil {
		return object.ID{}
	}
	for _, r := range s.graph.References {
		if from := &s.graph.Nodes[r.From]; s.graph.Nodes[r.To].ID == claim && !from.Kind.Pod.IsZero() {
			return from.ID
		}
	}
	return object.ID{}
}

// laterWorkload returns the only workload in a namespace that a running sync applies later.
func (s *scene) laterWorkload(namespace string) (id object.ID, wave int, ok bool) {
	found := 0
	for _, app := range s.applications() {
		for _, r := range s.later(app) {
			if r.id.Namespace == namespace && s.runsPods(r.id) {
				id, wave = r.id, r.wave
				found++
			}
		}
	}
	return id, wave, found == 1
}

// runsPods reports whether objects of a kind have Pods.
func (s *scene) runsPods(id object.ID) bool {
	kind, _ := s.base.Kind(id.Group, id.Kind)
	return !kind.Pod.IsZero()
}

// operatorOf returns the workload that reconciles the kind of an object.
func (s *scene) operatorOf(o object.Object) (object.ID, bool) {
	for _, r := range s.references(o.ID) {
		if to := &s.graph.Nodes[r.To]; r.IsAboutKind() && !to.Kind.Pod.IsZero() {
			return to.ID, true
		}
	}
	if s.graph == nil {
		return object.ID{}, false
	}
	for i := range s.graph.Nodes {
		if n := &s.graph.Nodes[i]; slices.Contains(n.Reconciles, o.ID.Group) {
			return n.ID, true
		}
	}
	return object.ID{}, false
}

// listedOperators reports whether the operators of the cluster were read.
func (s *scene) listedOperators() bool {
	return slices.ContainsFunc(s.sorted, func(id object.ID) bool { return id.Kind == "ClusterRoleBinding" })
}

// shortOf says how many Pods a workload lacks.
func (s *scene) shortOf(id object.ID) (text string, is bool) {
	o := s.objects[id]
	want, ready := number(o.Get("spec", "replicas"), 1), number(o.Get("status", "readyReplicas"), 0)
	switch {
	case want == 0:
		return "is scaled to 0", true
	case ready < want:
		return fmt.Sprintf("has %d of %d Pods", ready, want), true
	}
	return "", false
}

// absence says why an object that is needed does not exist: it comes later in the same sync, or
// another object should write it.
func (s *scene) absence(id object.ID) (all []Cause) {
	for _, app := range s.applications() {
		written := false
		for _, r := range s.later(app) {
			place := laterPlace(s.operationOf(app), r.wave)
			cause := Cause{Rule: "wave-deadlock", Object: id, Proof: "status.resources: OutOfSync", Evidence: Missing,
				Command: argocd("manifests", app.ID)}
			switch {
			case r.id == id:
				cause.Text, cause.Fix = "is part of the Application, in "+place+": Argo CD applies it only after what waits for it",
					"move it before what needs it: to an earlier wave, or into its phase"
			case !written && s.mayWrite(r.id, id):
				written = true
				cause.Text = fmt.Sprintf("should be written by %s, which Argo CD applies only in %s, after what waits for it", r.id, place)
				cause.Proof, cause.Fix = "status.resources: "+r.id.String()+" is OutOfSync",
					"move "+r.id.String()+" before it: to an earlier wave, or into its phase"
			default:
				continue
			}
			all = append(all, cause)
		}
	}
	if s.facts != nil {
		for _, i := range s.facts.Producers(id) {
			by := s.facts.Nodes[i].ID
			all = append(all, Cause{Rule: "not-written", Object: id, Text: "should be written by " + by.String(),
				Proof: by.String() + " writes it", Evidence: Missing, Because: by,
				Fix: "see why " + by.String() + " does not write it", Command: kubectl("describe", by)})
		}
	}
	return all
}

// laterPlace says where an object is that the sync applies after the one that it is at.
func laterPlace(op operation, wave int) string {
	if at := op.awaited(); len(at) > 0 && at[0].phase == string(object.PreSync) {
		return fmt.Sprintf("phase Sync, wave %d", wave)
	}
	return fmt.Sprintf("wave %d", wave)
}

// mayWrite reports whether an object of which only the name is known writes another one: its own name
// counts as that of what it writes.
func (s *scene) mayWrite(by, id object.ID) bool {
	kind, _ := s.base.Kind(by.Group, by.Kind)
	return by.Namespace == id.Namespace && slices.ContainsFunc(kind.References, func(ref knowledge.Reference) bool {
		name := strings.ReplaceAll(cmp.Or(ref.Named, "{name}"), "{name}", by.Name)
		return ref.Meaning == knowledge.Produces && name == id.Name && writes(ref, id.Kind)
	})
}

// writes reports whether a reference leads to objects of a kind.
func writes(ref knowledge.Reference, kind string) bool {
	return slices.ContainsFunc(ref.To, func(t knowledge.GroupKind) bool { return t.Kind == kind })
}

// applications returns the Applications of the snapshot that sync.
func (s *scene) applications() (all []object.Object) {
	for _, id := range s.sorted {
		if argo.IsApplication(id) {
			all = append(all, s.objects[id])
		}
	}
	return all
}

// awaitedFor is how long a running sync has been able to wait for an object, in seconds: what was
// ready before the sync began has not been ready for Argo CD. It is 0 if none waits.
func (s *scene) awaitedFor(id object.ID) (longest int64) {
	for _, app := range s.applications() {
		op := s.operationOf(app)
		if slices.ContainsFunc(op.awaited(), func(e entry) bool { return e.id == id && e.state == running }) {
			longest = max(longest, s.Now-op.started)
		}
	}
	return longest
}
