package graph

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// Objects that Pods read and no manifest contains are often created by a workload
// of the component: a Job that creates certificates, a hook, a sibling. Only
// permissions, and sometimes words, show which.

// writer is a workload that may write objects of a kind in a namespace.
type writer struct {
	node int
	// creates means that its permissions are not limited to certain names.
	creates bool
	// beforeSync means that it terminates before the Sync phase.
	beforeSync bool
}

// partID is an object of a component.
type partID struct {
	part int
	id   object.ID
}

// writersOf returns the workloads of a component that may write objects of a kind
// in a namespace, and run before or in the Sync phase.
func (b *builder) writersOf(part int, id object.ID) []writer {
	id.Name = ""
	at := partID{part, id}
	if known, ok := b.writers[at]; ok {
		return known
	}
	var all []writer
	resource := plural(id.Kind)
	for _, i := range b.podsOf(part) {
		n := &b.Nodes[i]
		beforeSync := slices.Contains(n.phases, object.PreSync)
		if n.Kind.Runs == "later" || !beforeSync && !n.InSync() {
			continue
		}
		w := writer{node: i, beforeSync: beforeSync}
		writes := false
		for _, r := range b.rulesOfNode(i) {
			if r.in == "" || r.in == id.Namespace {
				writes = writes || r.allows(id.Group, resource, "create", "update", "patch")
				w.creates = w.creates || len(r.names) == 0 && r.allows(id.Group, resource, "create")
			}
		}
		if writes {
			all = append(all, w)
		}
	}
	b.writers[at] = all
	return all
}

// mayWrite reports whether the ServiceAccount of a workload may write an object,
// and its permissions or words name it.
func (b *builder) mayWrite(i int, id object.ID) bool {
	if b.startsOnlyWith(i, id) {
		return false
	}
	resource := plural(id.Kind)
	return slices.ContainsFunc(b.rulesOfNode(i), func(r rule) bool {
		return (r.in == "" || r.in == id.Namespace) && r.allows(id.Group, resource, "create", "update", "patch") &&
			(slices.Contains(r.names, id.Name) || b.tokens(i)[id.Name])
	})
}

// startsOnlyWith reports whether the Pods of a node do not start without an object, so
// they cannot create it.
func (b *builder) startsOnlyWith(i int, id object.ID) bool {
	return slices.Contains(b.blockedBy.at(id, func(all index[object.ID, []int]) {
		for _, r := range b.reads {
			if r.starts {
				all[r.id] = append(all[r.id], r.From)
			}
		}
	}), i)
}

// tokens returns the words of a workload and its scripts that may be names of
// objects.
func (b *builder) tokens(i int) map[string]bool {
	if known, ok := b.tokensOf[i]; ok {
		return known
	}
	all := map[string]bool{}
	for _, w := range b.words(i) {
		all[w.value] = true
		for _, token := range strings.FieldsFunc(w.value, func(r rune) bool { return r > 127 || !isHostByte(byte(r)) }) {
			all[strings.Trim(token, "-.")] = true
		}
	}
	maps.DeleteFunc(all, func(token string, _ bool) bool { return b.isNamespace(token) })
	b.tokensOf[i] = all
	return all
}

// soleJob returns the only Job of the Sync phase that may create a Secret that no
// workload names. No earlier hook and no other Job may create it.
func (b *builder) soleJob(part int, id object.ID) (int, bool) {
	if id.Group != "" || id.Kind != "Secret" {
		return 0, false
	}
	var jobs []int
	for _, w := range b.writersOf(part, id) {
		n := &b.Nodes[w.node]
		switch {
		case !w.creates || n.Kind.Runs != "once" || b.startsOnlyWith(w.node, id):
		case w.beforeSync:
			return 0, false
		case n.Key.Namespace == id.Namespace:
			jobs = append(jobs, w.node)
		}
	}
	if len(jobs) != 1 {
		return 0, false
	}
	return jobs[0], true
}

// creatorsFor returns the workloads of a component, other than the reader, that may
// create what it reads: those that name it, or else the Jobs before the Sync phase that
// may create any Secret, or else the only workload that may. before reports whether one
// of them terminates before the reader's phase.
func (b *builder) creatorsFor(r read) (all []int, before bool) {
	reader := &b.Nodes[r.From]
	var creators, firstJobs []int
	for _, w := range b.writersOf(reader.Part, r.id) {
		n := &b.Nodes[w.node]
		if w.node == r.From || b.startsOnlyWith(w.node, r.id) {
			if w.creates {
				creators = append(creators, w.node)
			}
			continue
		}
		if !w.beforeSync && slices.Contains(reader.phases, object.PreSync) {
			continue
		}
		if w.creates {
			creators = append(creators, w.node)
			if w.beforeSync && n.Kind.Runs == "once" {
				firstJobs = append(firstJobs, w.node)
			}
		}
		if b.mayWrite(w.node, r.id) {
			all = append(all, w.node)
			before = before || w.beforeSync && n.Kind.Runs == "once"
		}
	}
	if len(all) > 0 || r.id.Group != "" || r.id.Kind != "Secret" || len(b.inAnyNamespace(r.id)) > 0 {
		return all, before
	}
	if len(firstJobs) > 0 { // one of them may create it, under a name that it composes
		return firstJobs, true
	}
	if job, ok := b.soleJob(reader.Part, r.id); ok && job != r.From {
		return []int{job}, false
	}
	if len(creators) == 1 && creators[0] != r.From && !b.startsOnlyWith(creators[0], r.id) {
		return creators, false
	}
	return nil, false
}

// referToWrittenSecrets makes readers of Secrets wait for the Job that creates them. A
// Job that may write Secrets creates those that it names, if others read them and
// nothing else creates them. The only Job with that permission also creates those
// that Pods need to start.
func (b *builder) referToWrittenSecrets(j int) {
	job := &b.Nodes[j]
	for _, r := range b.readIn(job.Key.Namespace) {
		if len(b.byKey[r.id]) > 0 || r.From == j || b.base.Everywhere(r.id.Kind, r.id.Name) ||
			slices.ContainsFunc(b.producers[r.id], func(p int) bool { return b.Nodes[p].Part == job.Part }) {
			continue
		}
		if !b.mayWrite(j, r.id) {
			if !r.starts || b.Nodes[r.From].Part != job.Part || b.needsHealthy(j, r.From) {
				continue
			}
			if all, _ := b.creatorsFor(r); !slices.Equal(all, []int{j}) {
				continue
			}
		}
		ref := b.inferredReference(r.From, j, r.Field, knowledge.Healthy, r.Why+" "+r.id.String()+", which is written by")
		ref.Product = r.id
		b.refer(ref)
	}
}

func (b *builder) needsHealthy(from, to int) bool {
	return slices.ContainsFunc(b.pairs[[2]int{from, to}], func(i int) bool { return b.References[i].Meaning == knowledge.Healthy })
}

// hasOwnWriter reports whether a Job of the component that reads an object may
// write it.
func (b *builder) hasOwnWriter(r read) bool {
	for _, j := range b.jobsOf(b.Nodes[r.From].Part) {
		if j != r.From && b.Nodes[j].Key.Namespace == r.id.Namespace && b.mayWrite(j, r.id) {
			return true
		}
	}
	return false
}

// hasPVCTemplate reports whether a workload creates a PVC itself: the volume of a template
// replaces one of the same name in the Pods
// (https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/stateful-set-v1/#StatefulSetSpec).
func hasPVCTemplate(n Node, name string) bool {
	return slices.ContainsFunc(n.Get("spec", "volumeClaimTemplates").Items(), func(v object.Value) bool {
		return v.Get("metadata", "name").Text() == name
	})
}

// findAbsent finds objects that Pods need to start, or another object needs to be
// healthy, and that the component neither contains nor creates. Objects that a
// workload may create at run time are not absent for Pods, which start as soon as they
// exist. They are absent for an object that is checked only once, which may be
// Degraded until they exist.
func (b *builder) findAbsent() {
	for _, r := range b.reads {
		n := &b.Nodes[r.From]
		pods := !n.Kind.Pod.IsZero()
		needed := pods && (r.starts || r.Hard) && b.namespaced(r.id) || !pods && n.HasHealth && isData(r.id)
		if !needed || len(b.byKey[r.id]) > 0 || len(b.producers[r.id]) > 0 || len(b.likelyProducers[r.id]) > 0 || b.base.Everywhere(r.id.Kind, r.id.Name) || b.isFromTemplate(r.id) || hasPVCTemplate(*n, r.id.Name) {
			continue
		}
		others := b.inAnyNamespace(r.id)
		if r.anywhere && (len(others) > 0 || len(b.producerAnywhere(r.id)) > 0) {
			continue
		}
		creatorsFor, before := b.creatorsFor(r)
		if before || pods && len(creatorsFor) > 0 {
			for _, m := range creatorsFor {
				if maker := &b.Nodes[m]; maker.Kind.Runs != "" || !maker.InSync() {
					continue // a Job, see writtenSecrets
				}
				b.refer(b.inferredReference(r.From, m, r.Field, knowledge.Exists, r.Why+" "+r.id.String()+", which may be written by"))
			}
			continue
		}
		a := Absent{From: r.From, ID: r.id, Field: r.Field, Why: r.Why, Starts: pods, Makers: creatorsFor}
		if len(others) > 0 {
			a.OtherNamespace = b.Nodes[others[0]].Key
		}
		b.Absent = append(b.Absent, a)
	}
	slices.SortFunc(b.Absent, func(x, y Absent) int {
		return cmp.Or(cmp.Compare(x.From, y.From), compareIDs(x.ID, y.ID), cmp.Compare(x.Field, y.Field), cmp.Compare(x.Why, y.Why))
	})
}

// inAnyNamespace returns the objects of a kind and name in any namespace.
func (b *builder) inAnyNamespace(id object.ID) []int {
	id.Namespace = ""
	return b.byName[id]
}

// isData reports whether an object only contains data that others read.
func isData(id object.ID) bool {
	return id.Group == "" && (id.Kind == "Secret" || id.Kind == "ConfigMap")
}

func (b *builder) namespaced(id object.ID) bool {
	return !b.clusterScoped(knowledge.GroupKind{Group: id.Group, Kind: id.Kind})
}

// isFromTemplate reports whether a workload of the component creates a PVC from a
// template: its name consists of the names of template and workload, and a number
// (https://kubernetes.io/docs/concepts/workloads/controllers/statefulset/#stable-storage).
func (b *builder) isFromTemplate(id object.ID) bool {
	if k, _ := b.base.Kind(id.Group, id.Kind); k.Placement != knowledge.WithConsumer {
		return false
	}
	name, number, ok := cutLast(id.Name, "-")
	return ok && strings.Trim(number, "0123456789") == "" && b.ownPVCs.at([2]string{id.Namespace, name}, func(all index[[2]string, bool]) {
		for _, n := range b.Nodes {
			for _, t := range n.Get("spec", "volumeClaimTemplates").Items() {
				all[[2]string{n.Key.Namespace, t.Get("metadata", "name").Text() + "-" + n.ID.Name}] = true
			}
		}
	})
}

func cutLast(text, separator string) (before, after string, found bool) {
	if i := strings.LastIndex(text, separator); i >= 0 {
		return text[:i], text[i+len(separator):], true
	}
	return text, "", false
}
