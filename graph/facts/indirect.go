package facts

import (
	"cmp"

	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// Not every name is that of an object: a label stands for the nodes that have it, and a key is a
// part of the store in which it is. Others stand in a third object.

// applyVia applies a record that holds only if the object refers to a third one with
// certain content, which contains the target.
func (r *fieldReader) applyVia(from int, rec *knowledge.Reference, at object.Value, prefix string) {
	third := &knowledge.Reference{To: rec.Via.To, Name: "name"}
	for _, v := range rec.Via.At.Find(at) {
		m, ok := readName(third, v)
		if !ok || prefix != "" && r.isUnmounted(from, at, v.Field) {
			continue
		}
		for _, by := range r.resolve(r.identify(from, m), third) {
			n := &r.Nodes[by]
			if !rec.Via.Has.IsZero() && len(rec.Via.Has.Find(n.Root())) == 0 {
				continue
			}
			in := at
			if rec.Via.Its {
				in = n.Root()
			}
			for _, its := range rec.At.Find(in) {
				for _, m := range readNames(rec, its) {
					if rec.Via.Its {
						m.field = v.Field
					}
					m.field = Join(prefix, m.field)
					m.namespace = cmp.Or(m.namespace, rec.Via.Namespace.Text(n.Root()), rec.Via.Default)
					r.add(from, rec, m)
				}
			}
		}
	}
}

// applyWithin applies a record about a part of the objects to which another field refers.
func (r *fieldReader) applyWithin(from int, rec *knowledge.Reference, at object.Value, prefix string) {
	whole := &knowledge.Reference{To: rec.To, Name: "name"}
	for _, v := range rec.Within.Find(at) {
		in, ok := readName(whole, v)
		if !ok {
			continue
		}
		for _, v := range rec.At.Find(at) {
			for _, m := range readNames(rec, v) {
				m.gk, m.namespace, m.name, m.field = in.gk, in.namespace, in.name+"["+m.name+"]", Join(prefix, m.field)
				r.add(from, rec, m)
			}
		}
	}
}

// readNames reads the names from a value: one, or that of each label.
func readNames(rec *knowledge.Reference, v knowledge.Found) (all []name) {
	if !rec.Labels {
		if m, ok := readName(rec, v); ok {
			all = append(all, m)
		}
		return all
	}
	add := func(key, value string) {
		all = append(all, name{gk: rec.To[0], name: key + "=" + value, field: knowledge.Join(v.Field, key), optional: rec.Optional})
	}
	for _, label := range v.Value.Fields() {
		add(label.Key, label.Value.Text())
	}
	for _, expression := range v.Value.Items() {
		if expression.Get("operator").Text() == "In" {
			for _, value := range Texts(expression.Get("values")) {
				add(expression.Get("key").Text(), value)
			}
		}
	}
	return all
}
