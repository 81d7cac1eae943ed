// Package knowledge is what Ladder knows about kinds of objects: what they are
// for, what they refer to, and when Argo CD takes them for healthy.
//
// All of it is data, one file per API group under kinds/, each fact with a
// reason and a source. A new operator is a new file; no Go code names its kinds.
// A file may be about all groups with an ending ("*.crossplane.io", for
// providers that bring a group per service), and a record about all kinds of
// its group ("*"); what is said about one group or kind goes before it. How
// custom resources of any kind tend to name others is in conventions.yaml.
// What code needs to treat specially (kinds with Pods, with rights, with
// webhooks) is told to it by attributes of the record.
//
// Facts about health are about Argo CD v3.5.7: its gitops-engine
// (pkg/health/*.go) and resource_customizations/**/health.lua. A kind without
// a health record has no health check, so that a wave does not wait for it. Of
// such a kind a sees record may say what a health check would look at.
//
// People add to this knowledge, or overrule it, in files called ladder.yaml,
// which have the same format: see With.
//
// The package is pure. A group's file is decoded when the first object of the
// group is asked for, since a rendering meets a handful of the groups.
package knowledge

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/internal/profile"
	"github.com/ladder-cmp/ladder/object"
)

// Rung is a step of the ladder: what objects are for.
type Rung struct {
	Name string `yaml:"name"`
	// Wave is the floor: objects of the rung stand at this wave or above.
	Wave int    `yaml:"wave"`
	Why  string `yaml:"why"`
	// Gates means that what stands on the rung must be healthy before anything of a
	// higher rung comes, whether that needs it or not. Only people say so.
	Gates bool `yaml:"gates"`
}

// The rungs that code refers to, because they follow from what an object does
// in its component and not from its kind.
const (
	Controllers = "controllers"
	Secrets     = "secrets"
	Workloads   = "workloads"
	Bootstraps  = "bootstraps"
	Smokes      = "smokes"
)

// Base is a body of knowledge. It is safe for use by several goroutines.
type Base struct {
	rungs       map[string]Rung
	ladder      []Rung
	order       map[string]int    // kind: its place in a wave
	groups      map[string]*group // by name of the group, or by its ending: "*.example.com"
	changed     map[string]*group // those that go before them, because somebody knows more
	migrations  []string          // words besides those of names.yaml
	fleet       profile.Fleet
	platform    string // what a ladder.yaml says
	charts      func() ([]Chart, error)
	packages    func() packages
	pods        func() (podFile, error)
	conventions func() ([]Convention, error)
	shapes      func() (shapeFile, error)
	smokes      func() (smokeFile, error)
}

// Default returns the knowledge that is built in. Its data is checked by the
// tests of this package, so that it always loads; a fault would panic at the
// first use of the group it is in.
func Default() *Base {
	return builtin()
}

// Ladder returns the rungs from the lowest to the highest.
func (b *Base) Ladder() []Rung { return b.ladder }

// Rung returns the rung of that name.
func (b *Base) Rung(name string) (Rung, bool) {
	r, ok := b.rungs[name]
	return r, ok
}

// KindOrder returns the place of a kind within a wave: what has a lower number
// is applied first. Kinds that Argo CD does not list have 0 and come last.
func (b *Base) KindOrder(kind string) int { return b.order[kind] }

// Builtin reports whether a group belongs to Kubernetes itself, so that no CRD
// is needed for its kinds.
func (b *Base) Builtin(name string) bool {
	f := b.file(name)
	return f != nil && f.Builtin
}

// Kind returns what is known about a kind, and whether anything is.
func (b *Base) Kind(groupName, kind string) (Kind, bool) {
	k, ok := b.file(groupName).kind(kind)
	// Then the files of all groups with an ending, the longest first.
	for rest := groupName; !ok; {
		_, after, more := strings.Cut(rest, ".")
		if !more {
			return Kind{}, false
		}
		rest = after
		k, ok = b.file(anything + "." + rest).kind(kind)
	}
	k.Group, k.Kind = groupName, kind
	if k.Rung == "" { // of a record in a ladder.yaml that says other things
		k = b.guessRung(k)
	}
	return k, true
}

// kind returns the record of a kind or, failing that, of all kinds of the file.
func (f *groupFile) kind(name string) (Kind, bool) {
	if f == nil {
		return Kind{}, false
	}
	k := f.byKind[name]
	if k == nil {
		k = f.byKind[anything]
	}
	if k == nil {
		return Kind{}, false
	}
	return *k, true
}

// Of returns what is known about an object: the record of its kind or, where
// there is none, what its shape tells. A custom resource of an unknown kind is
// taken for a workload, since most operators run something for their
// resources; an unknown kind of Kubernetes itself for configuration.
func (b *Base) Of(o object.Object) Kind {
	if k, ok := b.Kind(o.ID.Group, o.ID.Kind); ok {
		return k
	}
	return b.Guess(o.ID.Group, o.ID.Kind)
}

// Guess returns what is taken for true of a kind without a record.
func (b *Base) Guess(groupName, kind string) Kind {
	return b.guessRung(Kind{Group: groupName, Kind: kind})
}

// guessRung puts a kind on the rung that its name and group tell.
func (b *Base) guessRung(k Kind) Kind {
	shapes, err := b.shapes()
	must(err)
	for _, s := range shapes.Shapes {
		if strings.HasSuffix(k.Kind, s.Suffix) {
			k.Rung, k.Why, k.Source = s.Rung, cmp.Or(k.Why, s.Why), cmp.Or(k.Source, s.Source)
			return k
		}
	}
	why := "custom resources of an unknown kind are taken for workloads"
	k.Rung = Workloads
	if b.Builtin(k.Group) {
		k.Rung, why = "configs", "unknown kinds of Kubernetes are taken for configuration"
	}
	k.Why = cmp.Or(k.Why, why)
	return k
}

// Misspelt reports whether Kubernetes has no such kind in a group of its own, and
// which it has. It knows only the groups whose kinds are all known.
func (b *Base) Misspelt(group, kind string) (kinds []string, wrong bool) {
	f := b.file(group)
	if f == nil || !f.Builtin || !f.Complete || f.byKind[kind] != nil || slices.Contains(f.Others, kind) || strings.HasSuffix(kind, "List") {
		return nil, false
	}
	for _, k := range f.Kinds {
		kinds = append(kinds, k.Kind)
	}
	return append(kinds, f.Others...), true
}

// PodReferences is what every Pod template refers to, with paths that begin at
// the template.
func (b *Base) PodReferences() []Reference {
	f, err := b.pods()
	must(err)
	return f.References
}

// Everywhere reports whether Kubernetes itself puts an object of that kind and name
// into every namespace or cluster.
func (b *Base) Everywhere(kind, name string) bool {
	f, err := b.pods()
	must(err)
	return slices.ContainsFunc(f.Everywhere, func(known string) bool {
		begin, any := strings.CutSuffix(known, "*")
		return known == kind+"/"+name || any && strings.HasPrefix(kind+"/"+name, begin)
	})
}

// Conventions is how custom resources name other objects where no record of
// their kind says so. The first that fits a key counts.
func (b *Base) Conventions() []Convention {
	all, err := b.conventions()
	must(err)
	return all
}

// Smoke says by which word in its name or labels an object is called a test;
// empty if it is not.
func (b *Base) Smoke(o object.Object) string {
	f, err := b.smokes()
	must(err)
	isWord := func(r rune) bool { return r == '-' || r == '.' || r == '_' }
	for _, word := range strings.FieldsFunc(o.ID.Name, isWord) {
		if slices.Contains(f.Words, word) {
			return "has " + word + " in its name"
		}
	}
	for _, label := range f.Labels {
		for _, word := range strings.FieldsFunc(o.Label(label), isWord) {
			if slices.Contains(f.Words, word) {
				return "is labelled " + label + ": " + o.Label(label)
			}
		}
	}
	return ""
}

func (b *Base) file(name string) *groupFile {
	g := b.changed[name]
	if g == nil {
		g = b.groups[name]
	}
	if g == nil {
		return nil
	}
	f, err := g.load()
	must(err)
	return f
}
