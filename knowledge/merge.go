package knowledge

import (
	"maps"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/internal/settings"
)

// mergeGroup returns a group with additional records that override existing ones.
func (b *Base) mergeGroup(name string, records map[string]addition) *groupFile {
	f := &groupFile{Group: name, byKind: map[string]*Kind{}}
	if existing := b.file(name); existing != nil {
		*f = *existing
		f.byKind = maps.Clone(existing.byKind)
	}
	overrides := make([]Kind, 0, len(records))
	guessed := map[string]bool{}
	for _, kind := range slices.Sorted(maps.Keys(records)) {
		k, ok := b.Kind(name, kind)
		if !ok && kind != anything { // kinds matched by "*" are guessed individually
			k = b.Guess(name, kind)
		}
		k.Group, k.Kind, guessed[kind] = name, kind, !ok
		overrides = append(overrides, k)
		f.byKind[kind] = &overrides[len(overrides)-1] // before merging, since records may refer to each other
	}
	for i := range overrides {
		f.merge(&overrides[i], records[overrides[i].Kind], guessed[overrides[i].Kind])
	}
	f.Kinds = slices.DeleteFunc(slices.Clone(f.Kinds), func(k Kind) bool { _, again := records[k.Kind]; return again })
	f.Kinds = append(f.Kinds, overrides...)
	slices.SortFunc(f.Kinds, func(x, y Kind) int { return strings.Compare(x.Kind, y.Kind) })
	return f
}

// merge overrides an existing record, or a guess.
func (f *groupFile) merge(k *Kind, a addition, guessed bool) {
	before := *k
	k.References = nil
	merged := userKind{Kind: *k}
	must(a.node.Decode(&merged)) // it was decoded before
	*k = merged.Kind
	k.Group = f.Group
	if k.Scope == namespaced {
		k.Scope = ""
	}
	k.ChangedBy = append(slices.Clip(before.ChangedBy), a.place)
	placed := k.Rung != before.Rung || guessed && settings.Value(a.node, "rung") != nil
	k.RungChanged = before.RungChanged || k.Rung != before.Rung
	if placed && settings.Value(a.node, "why") == nil {
		k.Why = "is assigned to this rung by " + a.place
	}
	source := a.place
	if n := settings.Value(a.node, "source"); n != nil {
		source = k.Source
	} else if k.Source == "" || placed || k.Why != before.Why {
		k.Source = a.place
	}
	for i := range k.References {
		f.complete(&k.References[i], source)
	}
	k.Operator.Group = f.targets(k.Operator.Group)
	f.completeDefines(k)
	own := k.References
	k.References = slices.DeleteFunc(slices.Clone(before.References), func(ref Reference) bool {
		return slices.ContainsFunc(own, func(o Reference) bool {
			return o.At.String() == ref.At.String() && o.Named == ref.Named && (!o.Every || slices.Equal(o.To, ref.To))
		})
	})
	k.References = append(k.References, own...)
}

// has reports whether a group has a record for exactly this kind.
func (b *Base) has(groupName, kind string) bool {
	f := b.file(groupName)
	return f != nil && f.byKind[kind] != nil
}

// groupsOf lists the groups with a record of a kind.
func (b *Base) groupsOf(kind string) []string {
	var all []string
	for _, g := range b.Groups() {
		if b.has(g.Name, kind) {
			all = append(all, g.Name)
		}
	}
	return all
}
