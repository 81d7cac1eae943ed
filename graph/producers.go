package graph

import (
	"slices"

	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// Made is a kind that is foreign to all components of a graph, and of which From
// says in a field that it makes objects.
type Made struct {
	From  int
	Kind  knowledge.GroupKind
	Field string
	// Meaning is what From needs of the definition.
	Meaning knowledge.Meaning
	// Why is the verb of a sentence: From, why, Kind.
	Why    string
	Source string
}

// makes: who makes objects later needs the definition of their kind.
func (b *builder) makes(from int, rec knowledge.Reference, manifest object.Value, field string) {
	group, written := writtenGroup(manifest)
	gk := knowledge.GroupKind{Group: group, Kind: manifest.Get("kind").Text()}
	if !written || gk.Kind == "" || b.base.Builtin(group) {
		return
	}
	if def, ok := b.defined[gk]; ok {
		b.refer(Reference{From: from, To: def.node, Field: field, Meaning: rec.Meaning, Why: rec.Why + " " + gk.String() + ", which is defined by", Source: rec.Source})
		if rec.Completes {
			b.completes(from, def.node, field, rec.Source)
		}
		return
	}
	if slices.ContainsFunc(b.Made, func(m Made) bool { return m.From == from && m.Kind == gk }) {
		return
	}
	made := Made{From: from, Kind: gk, Field: field, Meaning: rec.Meaning, Why: rec.Why, Source: rec.Source}
	b.Made = append(b.Made, made)
	for _, by := range b.bringers {
		if by.node != from && by.brings(group) && !b.Nodes[by.node].Kind.Operator.Installs() {
			b.refer(Reference{From: from, To: by.node, Field: field, Meaning: made.Meaning, Inferred: true, Why: made.Why + " " + gk.String() + ", which may come with", Sign: Bringer, Source: by.source})
		}
	}
}

// completes: objects of the kinds that a node defines depend on what says how they are
// made.
func (b *builder) completes(from, defining int, field, source string) {
	for _, kind := range b.runs {
		gk := knowledge.GroupKind{Group: kind.group, Kind: b.Nodes[kind.from].ID.Kind}
		if def, ok := b.defined[gk]; !ok || b.Nodes[def.node].Key != b.Nodes[defining].Key {
			continue
		}
		for i := kind.from; i < kind.to; i++ {
			b.refer(Reference{From: i, To: from, Field: field, Meaning: knowledge.Exists, Why: "may be created as described by", Source: source, Inferred: true})
		}
	}
}

// referToProducers: who reads an object that another object writes at run time waits
// for the writer, unless its own component has a Job that writes the object, too:
// then it starts with what that wrote.
func (b *builder) referToProducers() {
	for _, r := range b.reads {
		producers := b.producers[r.id]
		if len(producers) == 0 && r.anywhere {
			producers = b.producerAnywhere(r.id)
		}
		for _, p := range producers {
			if b.Nodes[p].Part != b.Nodes[r.From].Part && b.writtenBeside(r) {
				continue
			}
			ref := r.Reference
			ref.To, ref.Meaning, ref.Hard, ref.Written = p, knowledge.Healthy, false, r.id
			ref.Why += " " + r.id.String() + ", which is written by"
			b.refer(ref)
		}
		if len(producers) > 0 || len(b.byKey[r.id]) > 0 {
			continue
		}
		for _, p := range b.likely[r.id] {
			ref := b.inferred(r.From, p, r.Field, knowledge.Healthy, r.Why+" "+r.id.String()+", which may be written by")
			ref.Written = r.id
			b.refer(ref)
		}
	}
}

// referToNamespaceMakers: an object in a namespace that an operator makes is refused until
// then, unless the Application goes there, who sees to it.
func (b *builder) referToNamespaceMakers() {
	for i, n := range b.Nodes {
		id := object.ID{Kind: "Namespace", Name: n.Key.Namespace}
		if id.Name == "" || id.Name == n.home || len(b.byKey[id]) > 0 {
			continue
		}
		for _, maker := range b.producers[id] {
			if b.Nodes[maker].Part == n.Part {
				b.refer(Reference{From: i, To: maker, Field: namespaceField, Meaning: knowledge.Healthy, Refused: true, Written: id,
					Why: "is in " + id.String() + ", which is created by", Source: b.Nodes[maker].Kind.Source})
			}
		}
	}
}

// producerAnywhere finds who writes an object of a name in whatever namespace,
// if that is one object only.
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
