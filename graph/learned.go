package graph

import "github.com/ladder-cmp/ladder/knowledge"

// learn: of a kind without a record is known what the object says that defines it.
func (b *builder) learn() {
	learned := map[knowledge.GroupKind]*knowledge.Kind{}
	for i := range b.Nodes {
		n := &b.Nodes[i]
		gk := knowledge.GroupKind{Group: n.ID.Group, Kind: n.ID.Kind}
		def, defined := b.defined[gk]
		if !defined {
			continue
		}
		if learned[gk] == nil {
			kind := *n.Kind
			if _, known := b.base.Kind(gk.Group, gk.Kind); !known {
				kind = def.by.Objects.Over(kind)
			}
			learned[gk] = &kind
		}
		n.Kind = learned[gk]
	}
}
