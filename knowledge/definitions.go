package knowledge

import (
	"cmp"
	"slices"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/object"
)

// Definitions are the kinds that an object defines: one, or a list of them.
type Definitions []Definition

// UnmarshalYAML reads one definition or a list of them.
func (d *Definitions) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.SequenceNode {
		return n.Decode((*[]Definition)(d))
	}
	*d = make([]Definition, 1)
	return n.Decode(&(*d)[0])
}

// Definition holds the paths at which an object names a kind that it defines.
type Definition struct {
	// GroupIs is the group where all objects define kinds of the same, or where
	// Group is not set.
	GroupIs string `yaml:"groupIs"`
	Group   Path   `yaml:"group"`
	Kind    Path   `yaml:"kind"`
	Plural  Path   `yaml:"plural"`
	// Scope is the path of the scope, which ends in "Cluster" for kinds without
	// namespace. ScopeIs is the scope where it is not set.
	Scope   Path   `yaml:"scope"`
	ScopeIs string `yaml:"scopeIs"`
	// Versions is the path of the versions of the kind, each with its schema and the
	// columns that kubectl prints, as a CustomResourceDefinition has them.
	Versions Path `yaml:"versions"`
	// Keys is the path of the keys that a Secret can have which such objects write. Any
	// if nothing is there.
	Keys Path `yaml:"keys"`
	// When restricts the record to objects of a certain content.
	When []Condition `yaml:"when"`
	// Objects is what is known about the objects of the kind, for a kind without a
	// record.
	Objects *Objects `yaml:"objects"`
}

// Objects is what is known about the objects of a kind from the kind of what defines
// it.
type Objects struct {
	Rung string `yaml:"rung"`
	Why  string `yaml:"why"`
	// Source is where the facts come from, if that is not the source of the record.
	Source     string      `yaml:"source"`
	References []Reference `yaml:"references"`
	Sees       *Sees       `yaml:"sees"`
}

// Of reports whether an object defines a kind by this record.
func (d Definition) Of(o object.Object) bool {
	return !slices.ContainsFunc(d.When, func(c Condition) bool { return !c.Holds(o) })
}

// Over lays what is known from the definition of a kind over a guess.
func (o *Objects) Over(k Kind) Kind {
	if o == nil {
		return k
	}
	k.Rung, k.Why, k.Source = cmp.Or(o.Rung, k.Rung), cmp.Or(o.Why, k.Why), o.Source
	k.References, k.Sees = o.References, o.Sees
	return k
}

// completeDefines fills in what is known about the objects of kinds that objects of a
// kind define. The list may be shared with another record.
func (f *groupFile) completeDefines(k *Kind) {
	k.Defines = slices.Clone(k.Defines)
	for i := range k.Defines {
		if k.Defines[i].Objects == nil {
			continue
		}
		o := *k.Defines[i].Objects
		o.Source = cmp.Or(o.Source, k.Source)
		o.References = slices.Clone(o.References)
		for j := range o.References {
			f.complete(&o.References[j], o.Source)
		}
		if o.Sees != nil && o.Sees.Source == "" {
			sees := *o.Sees
			sees.Source = o.Source
			o.Sees = &sees
		}
		k.Defines[i].Objects = &o
	}
}
