package knowledge

import (
	"fmt"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/object"
)

// WithConsumer is the place of what stands in the wave of its earliest consumer
// exactly, such as a PersistentVolumeClaim.
const WithConsumer = "with-consumer"

// First is the place of settings without health that whatever runs may use, such as
// where a cluster gets its images from: they stand in the first wave that they can.
const First = "first"

// Meaning says what a reference demands of the order.
type Meaning string

const (
	// Exists: the target must have been applied.
	Exists Meaning = "exists"
	// Healthy: the target must be healthy; a gate.
	Healthy Meaning = "healthy"
	// Produces: the object creates the target at run time.
	Produces Meaning = "produces"
	// With: the object stands in the wave of the target.
	With Meaning = "with"
	// Known: the reference orders nothing by itself.
	Known Meaning = "known"
)

// Kind is what is known about the objects of one kind.
type Kind struct {
	Group string `yaml:"-"`
	Kind  string `yaml:"kind"`
	// Scope is "cluster" for kinds without namespace.
	Scope string `yaml:"scope"`
	// Rung names the rung such objects stand on.
	Rung string `yaml:"rung"`
	Why  string `yaml:"why"`
	// Source is where the facts come from.
	Source string `yaml:"source"`
	// Observed is the version of the program behind the kind that ran on a real node;
	// empty if the record is from what was read alone.
	Observed string `yaml:"-"`

	// Pod is the path of the Pod template in objects that run Pods, "." if
	// the object is a Pod itself.
	Pod Path `yaml:"pod"`
	// Runs says how Pods run: "" for ever, "once" to their end, "later" on a
	// schedule, so that what they need is not needed now.
	Runs string `yaml:"runs"`
	// Everywhere means that Pods run on every node, so that one bad node keeps
	// the object from being healthy.
	Everywhere bool `yaml:"everywhere"`
	// Serves is the path of the API group that the object brings into being.
	Serves Path `yaml:"serves"`
	// Immutable means that the API server refuses a change of the Pods.
	Immutable bool `yaml:"immutable"`
	// Expires is the path of a time after which Kubernetes removes objects that
	// have run to their end.
	Expires Path `yaml:"expires"`
	// Assured means that the kind is there wherever Argo CD runs.
	Assured bool `yaml:"assured"`
	// Deploys is the path of what says where the manifests of a whole component
	// are and where they go, in objects by which Argo CD deploys one.
	Deploys Path `yaml:"deploys"`
	// Selects is the path of a label selector over Pods, in Services.
	Selects Path `yaml:"selects"`
	// Provider is the path of the name of the program behind a class.
	Provider Path `yaml:"provider"`
	// Admits is the path of the list of admission webhooks.
	Admits Path `yaml:"admits"`
	// Injected are paths of what has somebody that runs already write the CA of the
	// webhooks into the object.
	Injected []Path `yaml:"injected"`
	// Rights is "role" for what holds rules and "binding" for what grants.
	Rights string `yaml:"rights"`
	// Defines says where an object that defines a kind names it.
	Defines Definitions `yaml:"defines"`
	// Installs are patterns of the groups whose kinds such an object brings to
	// the cluster at run time, such as "*.crossplane.io"; a later one with "!"
	// takes groups out again.
	Installs []string `yaml:"installs"`
	// Platform names the platform that has the kind by itself, such as "openshift".
	Platform string `yaml:"platform"`
	// Place overrides where the object stands: "with-consumer" puts it into
	// the wave of its earliest consumer exactly, and "first" into the first wave.
	Place string `yaml:"place"`

	Health     []Health    `yaml:"health"`
	References []Reference `yaml:"references"`
	// Sees is set only for kinds without Health: what a check would look at.
	Sees *Sees `yaml:"sees"`
	// Operator is set for kinds that install operators out of packages.
	Operator Operator `yaml:"operator"`

	// ChangedBy names the places in files called ladder.yaml that changed the
	// record, from the farthest file to the nearest.
	ChangedBy []string `yaml:"-"`
	// Moved means that one of them put the kind on another rung, which is more
	// than what an object does in its component tells.
	Moved bool `yaml:"-"`
}

// Operator says how objects of a kind install operators out of packages.
type Operator struct {
	// Package is the path of the name of the package, and Catalog that of the name
	// of where it is listed.
	Package Path `yaml:"package"`
	Catalog Path `yaml:"catalog"`
	// Group is the kind of which the namespace must hold exactly one object.
	Group Targets `yaml:"group"`
	// Manual says which objects wait until somebody approves the installation. All
	// others of the namespace wait with them.
	Manual []Condition `yaml:"manual"`
	// Approved is the resource that somebody changes to approve it.
	Approved string `yaml:"approved"`
	// Progress are words by which scripts ask how far an installation is.
	Progress []string `yaml:"progress"`
	// Retry is the retry strategy that Argo CD needs, as it is written in
	// syncPolicy, and RetryWhy the reason.
	Retry    string `yaml:"retry"`
	RetryWhy string `yaml:"retryWhy"`
}

// Installs reports whether objects of the kind install operators.
func (o Operator) Installs() bool { return !o.Package.IsZero() }

// IsManual reports whether somebody must approve what an object installs.
func (o Operator) IsManual(obj object.Object) bool {
	return len(o.Manual) > 0 && !slices.ContainsFunc(o.Manual, func(c Condition) bool { return !c.Holds(obj) })
}

// Health is what Argo CD waits for before it takes an object for healthy.
type Health struct {
	// When restricts the record to objects of a certain content. The first
	// record of a kind whose conditions hold counts; if none does, the object
	// is healthy at once.
	When []Condition `yaml:"when"`
	// Healthy means that the object is healthy as soon as it is applied.
	Healthy bool `yaml:"healthy"`
	// Waits says in words what makes the object healthy.
	Waits string `yaml:"waits"`
	// Can lists the states other than Healthy and Progressing it can take.
	Can []string `yaml:"can"`
	// Never says why the object may never become healthy, by design or by
	// the cluster; empty if it normally does.
	Never string `yaml:"never"`
	// Passes says how the object passes through Degraded in a normal start,
	// which fails a sync that waits for it; empty if it does not.
	Passes string `yaml:"passes"`
	// Early says what makes the object healthy although what it deploys is not, and
	// EarlyFix what to do about it; empty if it is healthy last.
	Early    string `yaml:"early"`
	EarlyFix string `yaml:"earlyFix"`
	// Since is the first release of Argo CD with the check, if not v2.14.
	Since string `yaml:"since"`
	Note  string `yaml:"note"`
}

// Uncertain says why nothing should wait for the object; empty if it may.
func (h Health) Uncertain() string {
	if h.Never != "" {
		return h.Never
	}
	return h.Passes
}

// Condition tests a value of an object.
type Condition struct {
	At Path     `yaml:"at"`
	In []string `yaml:"in"`
}

// Holds reports whether some value at the path is among the allowed ones.
func (c Condition) Holds(o object.Object) bool {
	for _, v := range c.At.Find(o.Root()) {
		for _, want := range c.In {
			if v.Value.Text() == want {
				return true
			}
		}
	}
	return false
}

// Reference is one way in which objects of a kind name other objects.
type Reference struct {
	// At is the path of the reference: a name, or a mapping with a name and
	// perhaps kind, group or apiVersion, namespace and optional.
	At Path `yaml:"at"`
	// Named is a template for the target's name where the object does not
	// write it, such as "{name}-app".
	Named string `yaml:"named"`
	// Name is the key of the name in a mapping; "name" if empty.
	Name string `yaml:"name"`
	// Default is a template for the name where At is unset.
	Default string `yaml:"default"`
	// To lists the kinds meant. Where the reference writes a kind, it must be
	// one of them; where it writes none, the first is meant.
	To Targets `yaml:"to"`
	// Namespace is "any" where the target's namespace cannot be known from
	// the object; otherwise it is the one written, or the object's own.
	Namespace string `yaml:"namespace"`

	Meaning Meaning `yaml:"meaning"`
	// Every means all objects of the kinds in To, in the namespace of the object or,
	// with namespace "any", in the component. At is not set.
	Every bool `yaml:"every"`
	// Via restricts the reference to objects that refer to a third one of a certain
	// content.
	Via Via `yaml:"via"`
	// Granted means that the object also needs the rights of the ServiceAccount that
	// is named.
	Granted bool `yaml:"granted"`
	// Optional means that the object does without the target until it comes.
	Optional bool `yaml:"optional"`
	// Patient means that the object is Progressing, and not Degraded, while the
	// target is not healthy.
	Patient bool `yaml:"patient"`
	// Hard means that without the target the API server refuses the object,
	// or its start cannot succeed later by itself.
	Hard bool `yaml:"hard"`
	// Unless says when the API server takes the object all the same, where a hard
	// reference is only so for some: the end of a sentence that says it refuses it.
	Unless string `yaml:"unless"`
	// Starts means that a Pod does not start while the target is missing.
	Starts bool `yaml:"starts"`
	// Behind means the workloads behind the Service that is named.
	Behind bool `yaml:"behind"`
	// Address means that the value is an address, such as a URL: the name of the
	// Service stands in it.
	Address bool `yaml:"address"`
	// Manifest means that the value is, or names, an object that is made later:
	// what is meant is the definition of its kind.
	Manifest bool `yaml:"manifest"`
	// Completes means, beside Manifest, that objects of that kind, and of others with
	// the same definition, depend on the object.
	Completes bool `yaml:"completes"`
	// Inferred means that it holds for most objects only: it yields to what is sure.
	Inferred bool `yaml:"inferred"`
	// Doubt says how the target can keep the object from becoming healthy.
	Doubt Doubt `yaml:"doubt"`
	// Why is the verb of a sentence: object, why, target.
	Why  string `yaml:"why"`
	Note string `yaml:"note"`
	// Source overrides the source of the file.
	Source string `yaml:"source"`
}

// named reports whether it is said in exactly one way which objects are meant.
func (r Reference) named() bool {
	ways := 0
	for _, way := range []bool{!r.At.IsZero(), r.Named != "", r.Every} {
		if way {
			ways++
		}
	}
	return ways == 1
}

// Doubt is about an object whose health depends on what another one says, such
// as a certificate on how its issuer tests who asks.
type Doubt struct {
	// At is where the target says it, and Why the reason for the doubt if it
	// does.
	At  Path   `yaml:"at"`
	Why string `yaml:"why"`
	// Absent is a reason to wait for the object only with need, if the target
	// is not in the component and what it says is not known.
	Absent string `yaml:"absent"`
	// Passes says how the object passes through Degraded if the target is in the
	// component. Only what would fail without the object waits for it all the same.
	Passes string `yaml:"passes"`
}

// Via is a third object on the way of a reference.
type Via struct {
	// At is the path of the reference to it, and To its kinds.
	At Path    `yaml:"at"`
	To Targets `yaml:"to"`
	// Has is a path that it must have.
	Has Path `yaml:"has"`
	// Namespace is the path of the namespace of the target in it, and Default that
	// namespace where the path is unset.
	Namespace Path   `yaml:"namespace"`
	Default   string `yaml:"default"`
}

// Convention is a key by which custom resources of any kind name other objects,
// at whatever depth it stands. What a record of the kind says about the same
// field goes before it.
type Convention struct {
	// Key is the key, with "*" before or after it for any beginning or end.
	Key string `yaml:"key"`
	// Name is the key of the name in the value, which is then a mapping or a
	// list of mappings; "" if the value is itself the name or a list of names.
	Name string `yaml:"name"`
	// To lists the kinds meant. Where the value writes a kind, it must be one
	// of them; where it writes none, the first is meant.
	To      Targets `yaml:"to"`
	Meaning Meaning `yaml:"meaning"`
	// Why is the verb of a sentence: object, why, target.
	Why string `yaml:"why"`
	// Note says what bears the key and is no such reference.
	Note   string `yaml:"note"`
	Source string `yaml:"source"`
}

// Fits reports whether the convention is about a key.
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

// Targets is a list of kinds, written "Kind" for the record's own group or
// core, or "Kind.group".
type Targets []GroupKind

// UnmarshalYAML reads one name or a list of names.
func (t *Targets) UnmarshalYAML(n *yaml.Node) error {
	*t = nil // what is read takes the place of what was there
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
			return fmt.Errorf("line %d: %w", n.Line, finding.Fault("a reference needs a kind to refer to", "write to: Kind, or to: Kind.group"))
		}
		*t = append(*t, GroupKind{group, kind})
	}
	return nil
}

// Waited reports whether Argo CD waits for every object of the kind, and not
// only for those of a certain content.
func (k Kind) Waited() bool {
	return slices.ContainsFunc(k.Health, func(h Health) bool { return len(h.When) == 0 && !h.Healthy })
}

// HealthOf returns what Argo CD waits for with this object, and false when it
// takes the object for healthy as soon as it is applied.
func (k Kind) HealthOf(o object.Object) (Health, bool) {
	for _, h := range k.Health {
		holds := true
		for _, c := range h.When {
			holds = holds && c.Holds(o)
		}
		if holds {
			return h, !h.Healthy
		}
	}
	return Health{}, false
}

// Brings reports whether objects of the kind bring kinds of a group to the
// cluster at run time.
func (k Kind) Brings(group string) bool { return brings(k.Installs, group) }

func brings(patterns []string, group string) bool {
	brings := false
	for _, pattern := range patterns {
		pattern, not := strings.CutPrefix(pattern, "!")
		if end, ending := strings.CutPrefix(pattern, "*"); group == pattern || ending && strings.HasSuffix(group, end) {
			brings = !not
		}
	}
	return brings
}
