// Package knowledge is Ladder's knowledge about kinds of objects: their purpose,
// their references, and their health in Argo CD.
//
// It is data, in one file per API group under kinds/, each fact with a reason and a
// source. A new operator is a new file; no Go code names its kinds. A file may
// apply to all groups with a suffix ("*.crossplane.io", for providers with a group
// per service), and a record to all kinds of its group ("*"); more specific records
// take precedence. conventions.yaml describes how custom resources of any kind
// usually refer to others. Attributes of records tell code about special kinds
// (with Pods, with permissions, with webhooks).
//
// Facts about health describe Argo CD v3.5.7: its gitops-engine (pkg/health/*.go)
// and resource_customizations/**/health.lua. A kind without a health record has no
// health check, so a wave does not wait for it. For such a kind a sees record can
// describe a health check.
//
// Users extend or override this knowledge in ladder.yaml files, which have the same
// format: see With.
//
// The package is pure. A group's file is decoded when the first object of the group
// is looked up, since a rendering needs only a few of them.
package knowledge

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/object"
)

// Rung is a class of objects, such as secrets or workloads, and the lowest wave of
// such objects.
type Rung struct {
	Name string `yaml:"name"`
	// Wave is the lowest wave of objects on the rung.
	Wave int    `yaml:"wave"`
	Why  string `yaml:"why"`
	// Gates means that all objects on the rung must be healthy before any object of
	// a higher rung is applied, regardless of dependencies. Only users set it.
	Gates bool `yaml:"gates"`
}

// The rungs that code refers to, because they depend on the role of an object in
// its component, not on its kind.
const (
	Controllers = "controllers"
	Secrets     = "secrets"
	Workloads   = "workloads"
	Bootstraps  = "bootstraps"
	Exposure    = "exposure"
	Smokes      = "smokes"
)

// Base is a knowledge base: all records, possibly extended by ladder.yaml files. It
// is safe for concurrent use.
type Base struct {
	rungs       map[string]Rung
	rungOrder   []Rung
	order       map[string]int   // position of a kind in a wave
	groups      map[string]group // by group name or suffix: "*.example.com"
	changed     map[string]group // take precedence, because of a ladder.yaml
	migrations  []string         // in addition to names.yaml
	fleet       FleetSection
	fleetReader FleetReader
	refused     []finding.Finding
	platform    string // from ladder.yaml
	argocd      ArgoCD
	packages    func() packages
	conventions func() []Convention
	smokes      func() smokeFile
}

// Default returns the built-in knowledge. The tests of this package verify that its
// data loads; an error would panic on the first use of its group.
func Default() *Base {
	return builtin()
}

// Rungs returns the rungs from the lowest to the highest.
func (b *Base) Rungs() []Rung { return b.rungOrder }

// Rung returns the rung of that name.
func (b *Base) Rung(name string) (Rung, bool) {
	r, ok := b.rungs[name]
	return r, ok
}

// KindOrder returns the position of a kind within a wave: lower numbers are applied
// first. Kinds that Argo CD does not list have 0 and come last.
func (b *Base) KindOrder(kind string) int { return b.order[kind] }

// Builtin reports whether a group belongs to Kubernetes itself, so that its kinds
// need no CRD.
func (b *Base) Builtin(name string) bool {
	f := b.file(name)
	return f != nil && f.Builtin
}

// Kind returns the record of a kind, and whether there is one.
func (b *Base) Kind(groupName, kind string) (Kind, bool) {
	k, ok := b.file(groupName).kind(kind)
	// Then the files of groups with a suffix, the longest first.
	for rest := groupName; !ok; {
		_, after, more := strings.Cut(rest, ".")
		if !more {
			return Kind{}, false
		}
		rest = after
		k, ok = b.file(anything + "." + rest).kind(kind)
	}
	k.Group, k.Kind = groupName, kind
	if k.Rung == "" { // a ladder.yaml may set other fields only
		k = b.guessRung(k)
	}
	return b.withChecks(k), true
}

// kind returns the record of a kind or, failing that, the record for all kinds of
// the file.
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

// Of returns the knowledge about an object: the record of its kind or, if there is
// none, a guess. A custom resource of an unknown kind counts as a workload, since
// most operators run something for their resources; an unknown built-in kind counts
// as configuration.
func (b *Base) Of(o object.Object) Kind {
	if k, ok := b.Kind(o.ID.Group, o.ID.Kind); ok {
		return k
	}
	return b.Guess(o.ID.Group, o.ID.Kind)
}

// Guess returns the assumptions about a kind without a record.
func (b *Base) Guess(groupName, kind string) Kind {
	return b.withChecks(b.guessRung(Kind{Group: groupName, Kind: kind}))
}

// guessRung sets the rung that the name and group of a kind imply.
func (b *Base) guessRung(k Kind) Kind {
	for _, s := range shapes().Shapes {
		if strings.HasSuffix(k.Kind, s.Suffix) {
			k.Rung, k.Why, k.Source = s.Rung, cmp.Or(k.Why, s.Why), cmp.Or(k.Source, s.Source)
			return k
		}
	}
	why := "custom resources of an unknown kind are treated as workloads"
	k.Rung = Workloads
	if b.Builtin(k.Group) {
		k.Rung, why = "configs", "unknown kinds of Kubernetes are treated as configuration"
	}
	k.Why = cmp.Or(k.Why, why)
	return k
}

// CheckBuiltin returns the kinds of a built-in group, and true if the group has no
// kind of this name. It only applies to groups whose kinds are all known.
func (b *Base) CheckBuiltin(group, kind string) (kinds []string, wrong bool) {
	f := b.file(group)
	if f == nil || !f.Builtin || !f.Complete || f.byKind[kind] != nil || slices.Contains(f.Others, kind) || strings.HasSuffix(kind, "List") {
		return nil, false
	}
	for _, k := range f.Kinds {
		kinds = append(kinds, k.Kind)
	}
	return append(kinds, f.Others...), true
}

// PodReferences returns the references of every Pod template, with paths relative
// to the template.
func (b *Base) PodReferences() []Reference { return pods().References }

// Everywhere reports whether Kubernetes creates an object of that kind and name in
// every namespace or cluster.
func (b *Base) Everywhere(kind, name string) bool {
	return slices.ContainsFunc(pods().Everywhere, func(known string) bool {
		begin, any := strings.CutSuffix(known, "*")
		return known == kind+"/"+name || any && strings.HasPrefix(kind+"/"+name, begin)
	})
}

// Conventions returns the conventions for fields without a record. The first that
// fits a key applies.
func (b *Base) Conventions() []Convention { return b.conventions() }

// Smoke returns a phrase that says why an object counts as a test, such as "has smoke
// in its name"; empty if it does not. calls says that the object calls a program of the
// component: otherwise a check may come before something, too.
func (b *Base) Smoke(o object.Object, calls bool) string {
	f := b.smokes()
	isSeparator := func(r rune) bool { return r == '-' || r == '.' || r == '_' }
	for _, word := range strings.FieldsFunc(o.ID.Name, isSeparator) {
		if slices.Contains(f.Words, word) || calls && slices.Contains(f.Checks, word) {
			return "has " + word + " in its name"
		}
	}
	for _, label := range f.Labels {
		for _, word := range strings.FieldsFunc(o.Label(label), isSeparator) {
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
	return g()
}
