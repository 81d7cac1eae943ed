package knowledge

import (
	"cmp"
	"slices"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/object"
)

// DefinedKinds are the kinds that an object defines: one, or a list.
type DefinedKinds []DefinedKind

// UnmarshalYAML reads one record or a list of them.
func (d *DefinedKinds) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.SequenceNode {
		return n.Decode((*[]DefinedKind)(d))
	}
	*d = make([]DefinedKind, 1)
	return n.Decode(&(*d)[0])
}

// DefinedKind contains the paths at which an object, such as a CRD, specifies a kind
// that it defines.
type DefinedKind struct {
	// GroupIs is the group of all objects if the record has no Group, and otherwise of
	// objects without a value at Group.
	GroupIs string `yaml:"groupIs"`
	Group   Path   `yaml:"group"`
	Kind    Path   `yaml:"kind"`
	Plural  Path   `yaml:"plural"`
	// Scope is the path of the scope, whose value ends in "Cluster" for
	// cluster-scoped kinds. ScopeIs is the scope of objects without a value there.
	Scope   Path   `yaml:"scope"`
	ScopeIs string `yaml:"scopeIs"`
	// Versions is the path of the kind's versions, each with its schema and printer
	// columns, in the format of a CRD.
	Versions Path `yaml:"versions"`
	// Keys is the path, in the definition, of the keys of the Secret that objects of
	// the defined kind write. If it has no value, any key is possible.
	Keys Path `yaml:"keys"`
	// When restricts the record to objects with certain content.
	When []Condition `yaml:"when"`
	// Objects is the knowledge about objects of a defined kind without a record.
	Objects *Objects `yaml:"objects"`
}

// Objects is the knowledge about objects of a kind, derived from the object that
// defines the kind.
type Objects struct {
	Rung string `yaml:"rung"`
	Why  string `yaml:"why"`
	// Source is the source of the facts, if it differs from the record's.
	Source     string      `yaml:"source"`
	References []Reference `yaml:"references"`
	Status     *Status     `yaml:"sees"`
}

// AppliesTo reports whether this record applies to an object.
func (d DefinedKind) AppliesTo(o object.Object) bool {
	return hold(d.When, o)
}

// OverrideGuess overrides a guess with the knowledge from the object that defines the
// kind.
func (o *Objects) OverrideGuess(k Kind) Kind {
	if o == nil {
		return k
	}
	k.Rung, k.Why, k.Source = cmp.Or(o.Rung, k.Rung), cmp.Or(o.Why, k.Why), o.Source
	k.References, k.Status = o.References, o.Status
	return k
}

// completeDefines completes the knowledge about defined kinds. The list may be
// shared with another record.
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
		if o.Status != nil && o.Status.Source == "" {
			sees := *o.Status
			sees.Source = o.Source
			o.Status = &sees
		}
		k.Defines[i].Objects = &o
	}
}
