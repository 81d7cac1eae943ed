package compare

import (
	"strconv"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/lazyregexp"
	"github.com/ladder-cmp/ladder/object"
)

// Objects lists added, removed and changed objects. A changed wave alone does not
// count.
type Objects struct {
	Added   []Object  `json:"added"`
	Removed []Object  `json:"removed"`
	Changed []Changed `json:"changed"`
	// Unchanged is the number of equal objects.
	Unchanged int `json:"unchanged"`
}

// Same reports whether no object was added, removed or changed.
func (o Objects) Same() bool { return len(o.Added)+len(o.Removed)+len(o.Changed) == 0 }

// Object is an object in a comparison.
type Object struct {
	Object string `json:"object"`
	Kind   string `json:"kind"`
	// Wave is its wave, or phase and weight for hooks of other phases; empty if
	// unknown.
	Wave string `json:"wave,omitempty"`
}

// Changed is a changed object.
type Changed struct {
	Object
	// OldName is its former name, if it changed: generators add a hash of the content
	// to names.
	OldName string  `json:"was,omitempty"`
	Fields  []Field `json:"fields"`
}

// Manifests compares manifests without a plan, with only their existing waves.
// moved is the number of objects whose wave differs.
func Manifests(before, after []object.Object) (all Objects, moved int) {
	old, now := bare(before), bare(after)
	pairs := match(old.ids(), now.ids())
	for i, n := range now.all {
		if at := pairs.toOld[i]; at >= 0 && old.all[at].row.Wave != n.row.Wave {
			moved++
		}
	}
	return compareObjects(old.all, now.all, pairs), moved
}

// generatedObjects compares Applications of ApplicationSets.
func generatedObjects(before, after []object.Object) Objects {
	all, _ := Manifests(before, after)
	return all
}

// add adds other objects.
func (o *Objects) add(other Objects) {
	o.Added, o.Removed, o.Changed = append(o.Added, other.Added...), append(o.Removed, other.Removed...),
		append(o.Changed, other.Changed...)
	o.Unchanged += other.Unchanged
}

func bare(objs []object.Object) side {
	var s side
	for _, o := range objs {
		p := placed{Object: o, key: o.ID}
		if wave, ok := o.Wave(); ok && o.InSync() {
			p.row.Wave = strconv.Itoa(wave)
		}
		s.all = append(s.all, p)
	}
	return s
}

func (p placed) named() Object {
	return Object{Object: finding.Sanitize(p.key.String()), Kind: finding.Sanitize(p.key.GroupKind()), Wave: p.row.Wave}
}

// pairing maps objects of one side to those of the other; -1 means none.
type pairing struct {
	toNow, toOld []int
}

// match pairs objects by identity, which may not be unique, and others by their
// names without generated hashes.
func match(old, now []object.ID) pairing {
	p := pairing{toNow: none(len(old)), toOld: none(len(now))}
	p.by(old, now, func(id object.ID) (object.ID, bool) { return id, true })
	p.by(old, now, func(id object.ID) (object.ID, bool) {
		base := generated.ReplaceAllString(id.Name, "")
		hashed := base != id.Name
		id.Name = base
		return id, hashed
	})
	return p
}

// generated matches kustomize's name suffix of generated objects: ten characters
// without vowels (kustomize api/hasher, encode).
var generated = lazyregexp.New(`-[2456789bcdfghkmt]{10}$`)

func none(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = -1
	}
	return all
}

// by pairs unpaired objects with equal names, in order.
func (p pairing) by(old, now []object.ID, name func(object.ID) (object.ID, bool)) {
	waiting := map[object.ID][]int{}
	for i, id := range now {
		if called, ok := name(id); ok && p.toOld[i] < 0 {
			waiting[called] = append(waiting[called], i)
		}
	}
	for i, id := range old {
		called, ok := name(id)
		if !ok || p.toNow[i] >= 0 || len(waiting[called]) == 0 {
			continue
		}
		p.toNow[i] = waiting[called][0]
		p.toOld[p.toNow[i]] = i
		waiting[called] = waiting[called][1:]
	}
}

func compareObjects(old, now []placed, pairs pairing) Objects {
	c := Objects{Added: []Object{}, Removed: []Object{}, Changed: []Changed{}}
	for i, o := range old {
		if pairs.toNow[i] < 0 {
			c.Removed = append(c.Removed, o.named())
		}
	}
	for i, n := range now {
		if pairs.toOld[i] < 0 {
			c.Added = append(c.Added, n.named())
			continue
		}
		o := old[pairs.toOld[i]]
		changed := Changed{Object: n.named(), Fields: fields(o.Object, n.Object)}
		if o.key.Name != n.key.Name {
			changed.OldName = finding.Sanitize(o.key.Name)
		}
		if len(changed.Fields) == 0 {
			c.Unchanged++
			continue
		}
		c.Changed = append(c.Changed, changed)
	}
	return c
}
