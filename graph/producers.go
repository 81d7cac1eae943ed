package graph

import (
	"slices"

	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// Creation is a kind that no component of a graph defines, and of which From creates
// objects according to one of its fields.
type Creation struct {
	From  int
	Kind  knowledge.GroupKind
	Field string
	// Meaning is the kind of dependency of From on the CRD.
	Meaning knowledge.Meaning
	// Why is the verb of a sentence: From, why, Kind.
	Why    string
	Source string
}

// referToManifestKind makes an object that later creates another object depend on the
// CRD of the other object.
func (b *builder) referToManifestKind(from int, rec knowledge.Reference, manifest object.Value, field string) {
	group, written := writtenGroup(manifest)
	gk := knowledge.GroupKind{Group: group, Kind: manifest.Get("kind").Text()}
	if !written || gk.Kind == "" || b.base.Builtin(group) {
		return
	}
	if def, ok := b.defined[gk]; ok {
		b.refer(Reference{From: from, To: def.node, Field: field, Meaning: rec.Meaning, Why: rec.Why + " " + gk.String() + ", which is defined by", Source: rec.Source})
		if rec.Completes {
			b.referToCompletion(from, def.node, field, rec.Source)
		}
		return
	}
	if slices.ContainsFunc(b.Creations, func(m Creation) bool { return m.From == from && m.Kind == gk }) {
		return
	}
	creation := Creation{From: from, Kind: gk, Field: field, Meaning: rec.Meaning, Why: rec.Why, Source: rec.Source}
	b.Creations = append(b.Creations, creation)
	for _, by := range b.installers {
		if by.node != from && by.installsGroup(group) && !b.Nodes[by.node].Kind.Operator.Installs() {
			b.refer(Reference{From: from, To: by.node, Field: field, Meaning: creation.Meaning, Inferred: true, Why: creation.Why + " " + gk.String() + ", which may come with", Sign: Installation, Source: by.source})
		}
	}
}

// referToCompletion makes objects of the kinds that a node defines depend on the
// object that says how to create them.
func (b *builder) referToCompletion(from, defining int, field, source string) {
	for _, kind := range b.kindRanges {
		gk := knowledge.GroupKind{Group: kind.group, Kind: b.Nodes[kind.from].ID.Kind}
		if def, ok := b.defined[gk]; !ok || b.Nodes[def.node].Key != b.Nodes[defining].Key {
			continue
		}
		for i := kind.from; i < kind.to; i++ {
			b.refer(Reference{From: i, To: from, Field: field, Meaning: knowledge.Exists, Why: "may be created as described by", Source: source, Inferred: true})
		}
	}
}

// referToProducers makes an object that reads what another one writes at run time wait
// for the writer, unless its own component has a Job that also writes it and runs
// first.
func (b *builder) referToProducers() {
	for _, r := range b.reads {
		producers := b.producers[r.id]
		if len(producers) == 0 && r.anywhere {
			producers = b.producerAnywhere(r.id)
		}
		for _, p := range producers {
			if b.Nodes[p].Part != b.Nodes[r.From].Part && b.hasOwnWriter(r) {
				continue
			}
			ref := r.Reference
			ref.To, ref.Meaning, ref.Hard, ref.Product = p, knowledge.Healthy, false, r.id
			ref.Why += " " + r.id.String() + ", which is written by"
			b.refer(ref)
		}
		if len(producers) > 0 || len(b.byKey[r.id]) > 0 {
			continue
		}
		for _, p := range b.likelyProducers[r.id] {
			ref := b.inferredReference(r.From, p, r.Field, knowledge.Healthy, r.Why+" "+r.id.String()+", which may be written by")
			ref.Product = r.id
			b.refer(ref)
		}
	}
}

// referToNamespaceMakers makes objects in a namespace that an operator creates wait
// for the operator: the API server refuses them until the namespace exists. It leaves
// out the destination of the Application, which exists.
func (b *builder) referToNamespaceMakers() {
	for i, n := range b.Nodes {
		id := object.ID{Kind: "Namespace", Name: n.Key.Namespace}
		if id.Name == "" || id.Name == n.destination || len(b.byKey[id]) > 0 {
			continue
		}
		for _, maker := range b.producers[id] {
			if b.Nodes[maker].Part == n.Part {
				b.refer(Reference{From: i, To: maker, Field: namespaceField, Meaning: knowledge.Healthy, Refused: true, Product: id,
					Why: "is in " + id.String() + ", which is created by", Source: b.Nodes[maker].Kind.Source})
			}
		}
	}
}

// producerAnywhere finds the writer of an object by name in any namespace, if there
// is exactly one.
func (b *builder) producerAnywhere(id object.ID) []int {
	var all []int
	for other, producers := range b.producers {
		if other.Group == id.Group && other.Kind == id.Kind && other.Name == id.Name {
			all = append(all, producers...)
		}
	}
	if len(all) == 1 {
		return all
	}
	return nil
}
