package knowledge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/object"
)

// WithConsumer is the placement of kinds that share the wave of their first
// consumer, such as PersistentVolumeClaim.
const WithConsumer = "with-consumer"

// First is the placement of what may affect any later object, such as a cluster's
// registry mirrors or an admission policy: in the first possible wave.
const First = "first"

// Meaning says how a reference affects the order.
type Meaning string

const (
	// Exists: the target must have been applied.
	Exists Meaning = "exists"
	// Healthy: the target must be healthy; a gate.
	Healthy Meaning = "healthy"
	// Produces: the object creates the target at run time.
	Produces Meaning = "produces"
	// With: the object shares the wave of the target.
	With Meaning = "with"
	// NoOrder: the reference does not affect the order.
	NoOrder Meaning = "known"
)

// Kind is the knowledge about the objects of a kind.
type Kind struct {
	Group string `yaml:"-"`
	Kind  string `yaml:"kind"`
	// Scope is "cluster" for cluster-scoped kinds.
	Scope string `yaml:"scope"`
	// Rung is the rung of such objects.
	Rung string `yaml:"rung"`
	Why  string `yaml:"why"`
	// Source is the source of the facts.
	Source string `yaml:"source"`
	// Observed is the version of the program that was observed on a real node;
	// empty if the record is based on documentation and source code only.
	Observed string `yaml:"-"`

	// Pod is the path of the Pod template, "." for a Pod itself.
	Pod Path `yaml:"pod"`
	// Runs says how Pods run: "" permanently, "once" until they terminate, "later"
	// on a schedule, so that their dependencies are not needed immediately.
	Runs string `yaml:"runs"`
	// EveryNode means that Pods run on every node, so one unhealthy node prevents the
	// object from becoming healthy.
	EveryNode bool `yaml:"everywhere"`
	// Serves is the path of the API group that the object makes available.
	Serves Path `yaml:"serves"`
	// Immutable means that the API server refuses changes of the Pod template.
	Immutable bool `yaml:"immutable"`
	// Expires is the path of the time after which Kubernetes deletes finished
	// objects.
	Expires Path `yaml:"expires"`
	// AlwaysInstalled means that the kind exists wherever Argo CD runs.
	AlwaysInstalled bool `yaml:"assured"`
	// Deploys is the path of a source in objects that deploy a component, such as
	// Applications.
	Deploys Path `yaml:"deploys"`
	// Selects is the path of a label selector for Pods, in Services.
	Selects Path `yaml:"selects"`
	// Provider is the path of the provider's name in a class.
	Provider Path `yaml:"provider"`
	// Admits is the path of the list of admission webhooks.
	Admits Path `yaml:"admits"`
	// Mutates means that these webhooks may change objects.
	Mutates bool `yaml:"mutates"`
	// Injected are paths that are set if a program that is already running injects
	// the CA of the webhooks into the object.
	Injected []Path `yaml:"injected"`
	// CA is the path of the CA bundle, in base64, without which the API server does not
	// trust what the object registers.
	CA Path `yaml:"ca"`
	// Permissions is "role" for kinds that contain rules and "binding" for kinds that
	// grant them.
	Permissions string `yaml:"rights"`
	// Defines says where an object specifies a kind that it defines.
	Defines DefinedKinds `yaml:"defines"`
	// Installs are patterns of the groups whose kinds such an object installs at
	// run time, such as "*.crossplane.io"; a later pattern with "!" excludes
	// groups.
	Installs []string `yaml:"installs"`
	// Platform is the platform that includes the kind, such as "openshift".
	Platform string `yaml:"platform"`
	// Default is the name of the object that the operator of the kind creates if it finds none
	// of that name when it starts, or of any if Default is "*".
	Default string `yaml:"default"`
	// Placement overrides the wave that follows from the rung: "with-consumer" means the wave of the first
	// consumer, and "first" the first wave.
	Placement string `yaml:"place"`

	// Recreated says what happens if Argo CD deletes an object of the kind and creates it
	// again, as it does with hooks.
	Recreated Recreated `yaml:"recreated"`

	Health     []Health    `yaml:"health"`
	References []Reference `yaml:"references"`
	// Status is set only for kinds without Health: the status for a health check.
	Status *Status `yaml:"sees"`
	// Later is the first release of Argo CD with a health check for the kind, if the Argo CD that
	// Base.For describes has none, such as v3.1.
	Later string `yaml:"-"`
	// Operator is set for kinds that install operators from packages.
	Operator Operator `yaml:"operator"`

	// ChangedBy lists the places in ladder.yaml files that changed the record, from
	// the farthest file to the nearest.
	ChangedBy []string `yaml:"-"`
	// RungChanged means that one of them set the rung, which takes precedence over the
	// role of an object in its component.
	RungChanged bool `yaml:"-"`
}

// Recreated says what happens to an object, or to those that use it, when it is deleted and
// created again.
type Recreated struct {
	// Why says what happens, as a sentence without its end.
	Why string `yaml:"why"`
	// Alone means that it happens even if nothing in the component uses the object.
	Alone bool `yaml:"alone"`
	// Severe means that data is lost, that nothing runs in between, or that a sync waits
	// forever for the deletion.
	Severe bool `yaml:"severe"`
	// Gone says what happens to those that use the object if it is not created again; empty
	// if they do not need it.
	Gone string `yaml:"gone"`
	// Kept means that the object should not be pruned either, once it is not a hook.
	Kept bool `yaml:"kept"`
	// Note and Source are as in a reference.
	Note   string `yaml:"note"`
	Source string `yaml:"source"`
}

// IsDefault reports whether the operator of the kind creates a default unless it finds an
// object of that name.
func (k *Kind) IsDefault(name string) bool {
	return k.Default == "*" || k.Default == name && name != ""
}

// Operator says how objects of a kind install operators from packages.
type Operator struct {
	// Package is the path of the package's name, and Catalog that of its catalog's
	// name.
	Package Path `yaml:"package"`
	Catalog Path `yaml:"catalog"`
	// Group is a kind of which the namespace must contain exactly one object.
	Group Targets `yaml:"group"`
	// Manual selects objects that wait for an approval. All others of the namespace
	// wait with them.
	Manual []Condition `yaml:"manual"`
	// Approved is the resource to change for an approval.
	Approved string `yaml:"approved"`
	// Progress are words of scripts that check the progress of an installation.
	Progress []string `yaml:"progress"`
	// Retry is the retry strategy that Argo CD needs, in the format of syncPolicy,
	// and RetryWhy the reason.
	Retry    string `yaml:"retry"`
	RetryWhy string `yaml:"retryWhy"`
}

// Installs reports whether objects of the kind install operators.
func (o Operator) Installs() bool { return !o.Package.IsZero() }

// IsManual reports whether the installation of an object needs approval.
func (o Operator) IsManual(obj object.Object) bool {
	return len(o.Manual) > 0 && hold(o.Manual, obj)
}

// Health describes when Argo CD considers an object healthy.
type Health struct {
	// When restricts the record to objects with certain content. The first record
	// of a kind whose conditions hold applies; if none does, the object is healthy
	// immediately.
	When []Condition `yaml:"when"`
	// Healthy means that the object is healthy as soon as it is applied.
	Healthy bool `yaml:"healthy"`
	// Waits describes the condition for health.
	Waits string `yaml:"waits"`
	// Can lists the possible states other than Healthy and Progressing.
	Can []string `yaml:"can"`
	// Never says why the object may never become healthy, by design or because of
	// the cluster; empty if it normally does.
	Never string `yaml:"never"`
	// TemporarilyDegraded says why the object is Degraded for a while during a normal
	// start, which fails a sync that waits for it; empty if it is not.
	TemporarilyDegraded string `yaml:"passes"`
	// Early says why the object is healthy before the objects it deploys, and
	// EarlyFix what to do; empty if it becomes healthy after them.
	Early    string `yaml:"early"`
	EarlyFix string `yaml:"earlyFix"`
	// Since is the first release of Argo CD with the check, if later than v2.14.
	Since string `yaml:"since"`
	// Earlier are kinds of a record for all kinds that had a check of their own before.
	Earlier Targets `yaml:"earlier"`
	Note    string  `yaml:"note"`
}

// Uncertain returns the reason why no object should wait for this one; empty if there
// is none.
func (h Health) Uncertain() string {
	return cmp.Or(h.Never, h.TemporarilyDegraded)
}

// Condition tests a value of an object.
type Condition struct {
	At Path     `yaml:"at"`
	In []string `yaml:"in"`
}

// holds reports whether one of the values at the path is allowed. Without a list, any is.
func (c Condition) holds(o object.Object) bool {
	return slices.ContainsFunc(c.At.Find(o.Root()), func(v Found) bool { return len(c.In) == 0 || slices.Contains(c.In, v.Value.Text()) })
}

// hold reports whether all conditions hold.
func hold(all []Condition, o object.Object) bool {
	return !slices.ContainsFunc(all, func(c Condition) bool { return !c.holds(o) })
}

// Reference is a way in which objects of a kind refer to others.
type Reference struct {
	// At is the path of the reference: a name, or a mapping with a name and
	// optionally kind, group or apiVersion, namespace and optional.
	At Path `yaml:"at"`
	// Named is a template for the target's name if the object does not contain it,
	// such as "{name}-app".
	Named string `yaml:"named"`
	// Name is the key of the name in a mapping; "name" if empty.
	Name string `yaml:"name"`
	// Default is a template for the name if At is unset.
	Default string `yaml:"default"`
	// To lists the possible kinds. If the reference contains a kind, it must be one
	// of them; otherwise the first applies.
	To Targets `yaml:"to"`
	// Namespace is "any" if the object does not determine the target's namespace, and
	// "every" if it writes the target in every namespace; otherwise it is the one in the
	// reference, or the object's own.
	Namespace string `yaml:"namespace"`
	// Namespaces is the path of the namespaces in which the object writes the target: names
	// or regular expressions, also in one text with commas.
	Namespaces Path `yaml:"namespaces"`
	// Clones is the key, in the value of At, of a selection of objects that are copied
	// under their own names: kinds, namespace and selector.
	Clones string `yaml:"clones"`
	// Early means that the object causes the target to be written whether it is healthy or
	// not.
	Early bool `yaml:"early"`
	// When restricts the reference to objects with certain content.
	When []Condition `yaml:"when"`

	Meaning Meaning `yaml:"meaning"`
	// Labels means that the values are labels, in a mapping or in expressions of a selector.
	// The names are "key=value".
	Labels bool `yaml:"labels"`
	// Within is the path of references to the objects that contain what is named, such as the
	// store of a key. The target is then a part of such an object.
	Within Path `yaml:"within"`
	// Every means all objects of the kinds in To, in the namespace of the object
	// or, with namespace "any", in the component. At is not set.
	Every bool `yaml:"every"`
	// Via restricts the reference to objects that refer to a third one with certain
	// content.
	Via Via `yaml:"via"`
	// Granted means that the object also depends on the permissions of the
	// ServiceAccount that it names.
	Granted bool `yaml:"granted"`
	// Optional means that the object works without the target.
	Optional bool `yaml:"optional"`
	// StaysProgressing means that the object is Progressing, not Degraded, while the
	// target is not healthy.
	StaysProgressing bool `yaml:"patient"`
	// Soft means that the object can be healthy without the target.
	Soft bool `yaml:"soft"`
	// Degrades means that the object reports Degraded as long as the target does not exist
	// or, with meaning healthy, is not healthy.
	Degrades bool `yaml:"degrades"`
	// Hard means that without the target the API server refuses the object, or that
	// the object fails to start and does not recover.
	Hard bool `yaml:"hard"`
	// Unless says when the API server accepts the object despite a hard reference;
	// the text completes "the API server refuses it unless …".
	Unless string `yaml:"unless"`
	// Starts means that a Pod does not start without the target.
	Starts bool `yaml:"starts"`
	// ToBackends refers to the workloads behind the named Service.
	ToBackends bool `yaml:"behind"`
	// Address means that the value is an address, such as a URL, that contains the
	// name of the Service.
	Address bool `yaml:"address"`
	// Qualified means that the value is the name with its namespace, as in
	// "shop/web-tls".
	Qualified bool `yaml:"qualified"`
	// Expected says what happens without the target. It is set if the component should
	// contain the target where it contains others of its kind in the same namespace.
	Expected string `yaml:"expected"`
	// Manifest means that the value is, or names, an object that is created later:
	// the reference is to the CRD of its kind.
	Manifest bool `yaml:"manifest"`
	// Completes means, together with Manifest, that objects of that kind, and of other
	// kinds that the same CRD or package defines, depend on the object.
	Completes bool `yaml:"completes"`
	// Inferred means that it holds for most objects only: certain references take
	// precedence.
	Inferred bool `yaml:"inferred"`
	// Doubt says how the target can prevent the object from becoming healthy.
	Doubt Doubt `yaml:"doubt"`
	// Why is the verb of a sentence: object, why, target.
	Why  string `yaml:"why"`
	Note string `yaml:"note"`
	// Source overrides the source of the file.
	Source string `yaml:"source"`
}

// hasOneTarget reports whether the record specifies the target in exactly one way.
func (r Reference) hasOneTarget() bool {
	ways := 0
	for _, way := range []bool{!r.At.IsZero(), r.Named != "", r.Every} {
		if way {
			ways++
		}
	}
	return ways == 1
}

// AppliesTo reports whether the record applies to an object.
func (r *Reference) AppliesTo(o object.Object) bool { return hold(r.When, o) }

// Doubt is about an object whose health depends on the content of another one, such
// as a certificate on its issuer's challenge.
type Doubt struct {
	// At is the path in the target, and Why the reason for the doubt if it is set.
	At  Path   `yaml:"at"`
	Why string `yaml:"why"`
	// Absent is the reason for the doubt if the target is not in the component, so
	// that its content is unknown.
	Absent string `yaml:"absent"`
	// TemporarilyDegraded says why the object is Degraded for a while if the target is
	// in the component. Only objects that would fail without the object still wait for
	// it.
	TemporarilyDegraded string `yaml:"passes"`
}

// Via is a third object that connects an object with its target.
type Via struct {
	// At is the path of the reference to it, and To its kinds.
	At Path    `yaml:"at"`
	To Targets `yaml:"to"`
	// Has is a path that must be set in it.
	Has Path `yaml:"has"`
	// Its means that At of the reference is a path in it.
	Its bool `yaml:"its"`
	// Namespace is the path of the target's namespace in it, and Default that
	// namespace if the path is unset.
	Namespace Path   `yaml:"namespace"`
	Default   string `yaml:"default"`
}

// Convention is a key by which custom resources of any kind refer to other objects,
// at any depth. A record of the kind for the same field takes precedence.
type Convention struct {
	// Key is the key, with "*" as a prefix or suffix for any text.
	Key string `yaml:"key"`
	// Name is the key of the name in the value, which is then a mapping or a list
	// of mappings; "" if the value is itself the name or a list of names.
	Name string `yaml:"name"`
	// To lists the possible kinds. If the value contains a kind, it must be one of
	// them; otherwise the first applies.
	To      Targets `yaml:"to"`
	Meaning Meaning `yaml:"meaning"`
	// Why is the verb of a sentence: object, why, target.
	Why string `yaml:"why"`
	// Note describes uses of the key that are not references.
	Note   string `yaml:"note"`
	Source string `yaml:"source"`
}

// Fits reports whether the convention applies to a key.
func (c Convention) Fits(key string) bool {
	if end, ok := strings.CutPrefix(c.Key, "*"); ok {
		return strings.HasSuffix(key, end)
	}
	if begin, ok := strings.CutSuffix(c.Key, "*"); ok {
		return strings.HasPrefix(key, begin)
	}
	return key == c.Key
}

// GroupKind names a kind in its group.
type GroupKind struct{ Group, Kind string }

func (gk GroupKind) String() string {
	return object.ID{Group: gk.Group, Kind: gk.Kind}.GroupKind()
}

// Targets is a list of kinds in the form "Kind" for the record's own group or core,
// or "Kind.group".
type Targets []GroupKind

// UnmarshalYAML reads one name or a list of names.
func (t *Targets) UnmarshalYAML(n *yaml.Node) error {
	*t = nil // replaces the previous content
	names := []string{n.Value}
	if n.Kind == yaml.SequenceNode {
		names = nil
		for _, item := range n.Content {
			if item.Kind == yaml.AliasNode {
				item = item.Alias
			}
			names = append(names, item.Value)
		}
	}
	for _, name := range names {
		kind, group, _ := strings.Cut(name, ".")
		if kind == "" {
			return fmt.Errorf("line %d: %w", n.Line, finding.Fault("a reference needs a kind to refer to", `set "to" to Kind or Kind.group`))
		}
		*t = append(*t, GroupKind{group, kind})
	}
	return nil
}

// IsAwaited reports whether Argo CD waits for every object of the kind, regardless of
// its content.
func (k Kind) IsAwaited() bool {
	return slices.ContainsFunc(k.Health, func(h Health) bool { return len(h.When) == 0 && !h.Healthy })
}

// HealthOf returns what Argo CD waits for with this object, and false if the object
// is healthy as soon as it is applied.
func (k Kind) HealthOf(o object.Object) (Health, bool) {
	for _, h := range k.Health {
		if hold(h.When, o) {
			return h, !h.Healthy
		}
	}
	return Health{}, false
}

// InstallsGroup reports whether objects of the kind install kinds of a group at run time.
func (k Kind) InstallsGroup(group string) bool { return matches(k.Installs, group) }

func matches(patterns []string, group string) bool {
	matches := false
	for _, pattern := range patterns {
		pattern, not := strings.CutPrefix(pattern, "!")
		if end, ending := strings.CutPrefix(pattern, "*"); group == pattern || ending && strings.HasSuffix(group, end) {
			matches = !not
		}
	}
	return matches
}
