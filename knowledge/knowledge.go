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
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/profile"
)

//go:embed names.yaml programs.yaml crd-switches.yaml rungs.yaml kind-order.yaml pods.yaml conventions.yaml schemas.yaml shapes.yaml smokes.yaml charts.yaml packages.yaml kinds/*.yaml
var files embed.FS

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
			return fmt.Errorf("line %d: a reference needs a kind to refer to; write to: Kind, or to: Kind.group", n.Line)
		}
		*t = append(*t, GroupKind{group, kind})
	}
	return nil
}

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

// group is a file of knowledge, decoded on first use.
type group struct {
	name string
	load func() (*groupFile, error)
}

// groupFile is the content of a file under kinds/.
type groupFile struct {
	Group   string `yaml:"group"`
	Builtin bool   `yaml:"builtin"`
	// Complete means that the group has the kinds of the file and Others, and no
	// more, in any release of Kubernetes.
	Complete bool     `yaml:"complete"`
	Others   []string `yaml:"others"`
	// Product is what the group belongs to, in plain words.
	Product string `yaml:"product"`
	Source  string `yaml:"source"`
	// Platform holds for all kinds of the group that do not say otherwise, also for
	// those without a record.
	Platform string `yaml:"platform"`
	// Only means that no other platform has the group, so that an object of it shows
	// where it is to run.
	Only   bool   `yaml:"only"`
	Kinds  []Kind `yaml:"kinds"`
	byKind map[string]*Kind
}

type rungFile struct {
	Rungs []Rung `yaml:"rungs"`
}

// podFile is pods.yaml: what a Pod refers to.
type podFile struct {
	Shape  string `yaml:"shape"`
	Source string `yaml:"source"`
	// Everywhere names what Kubernetes itself puts into every namespace or
	// cluster, as Kind/name, with "*" for any end.
	Everywhere []string    `yaml:"everywhere"`
	References []Reference `yaml:"references"`
}

// conventionFile is conventions.yaml: how custom resources name others.
type conventionFile struct {
	Source      string       `yaml:"source"`
	Conventions []Convention `yaml:"conventions"`
}

// kindOrderFile is kind-order.yaml: the order of kinds within a wave.
type kindOrderFile struct {
	Source string   `yaml:"source"`
	Kinds  []string `yaml:"kinds"`
}

// shapeFile is shapes.yaml: what the name of an unknown kind tells.
type shapeFile struct {
	Shapes []struct {
		Suffix string `yaml:"suffix"`
		Rung   string `yaml:"rung"`
		Why    string `yaml:"why"`
		Source string `yaml:"source"`
	} `yaml:"shapes"`
}

// smokeFile is smokes.yaml: how objects are called that check the rest.
type smokeFile struct {
	Words  []string `yaml:"words"`
	Labels []string `yaml:"labels"`
	Why    string   `yaml:"why"`
	Source string   `yaml:"source"`
}

// Default returns the knowledge that is built in. Its data is checked by the
// tests of this package, so that it always loads; a fault would panic at the
// first use of the group it is in.
func Default() *Base {
	return builtin()
}

var builtin = sync.OnceValue(func() *Base {
	var rungs rungFile
	must(decode("rungs.yaml", &rungs))
	var order kindOrderFile
	must(decode("kind-order.yaml", &order))
	b := &Base{rungs: map[string]Rung{}, ladder: rungs.Rungs, order: map[string]int{}, groups: map[string]*group{}}
	for _, r := range rungs.Rungs {
		b.rungs[r.Name] = r
	}
	for i, kind := range order.Kinds {
		b.order[kind] = i - len(order.Kinds)
	}
	entries, err := files.ReadDir("kinds")
	must(err)
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), ".yaml")
		if name == coreFile {
			name = ""
		}
		if ending, ok := strings.CutPrefix(name, anyGroupFile); ok {
			name = anything + ending
		}
		b.groups[name] = &group{name: name, load: sync.OnceValues(func() (*groupFile, error) { return loadGroup("kinds/" + e.Name()) })}
	}
	b.pods = sync.OnceValues(func() (podFile, error) {
		var f podFile
		err := decode("pods.yaml", &f)
		for i := range f.References {
			(&groupFile{}).complete(&f.References[i], f.Source)
		}
		return f, err
	})
	b.conventions = sync.OnceValues(func() ([]Convention, error) {
		var f conventionFile
		err := decode("conventions.yaml", &f)
		for i := range f.Conventions {
			f.Conventions[i].Source = cmp.Or(f.Conventions[i].Source, f.Source)
		}
		return f.Conventions, err
	})
	b.shapes = sync.OnceValues(func() (f shapeFile, err error) {
		err = decode("shapes.yaml", &f)
		return f, err
	})
	b.smokes = sync.OnceValues(func() (f smokeFile, err error) {
		err = decode("smokes.yaml", &f)
		return f, err
	})
	b.charts = sync.OnceValues(loadCharts)
	b.packages = sync.OnceValue(loadPackages)
	return b
})

// coreFile is the name of the file of the core group, which has no name.
const coreFile = "core"

// anything stands for any kind, and for any beginning of a group's name. In names of
// files, where "*" is not allowed everywhere, it is written "_".
const (
	anything     = "*"
	anyGroupFile = "_"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// decode reads a file strictly: an unknown key is a fault.
func decode(name string, into any) error {
	data, err := files.ReadFile(name)
	if err != nil {
		return err
	}
	d := yaml.NewDecoder(bytes.NewReader(data))
	d.KnownFields(true)
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("knowledge/%s: %w", name, err)
	}
	return nil
}

func loadGroup(name string) (*groupFile, error) {
	f := &groupFile{byKind: map[string]*Kind{}}
	if err := decode(name, f); err != nil {
		return nil, err
	}
	for i := range f.Kinds {
		k := &f.Kinds[i]
		if f.byKind[k.Kind] != nil {
			return nil, fmt.Errorf("knowledge/%s: kind %s is there twice", name, k.Kind)
		}
		f.byKind[k.Kind] = k
	}
	for i := range f.Kinds {
		k := &f.Kinds[i]
		k.Group = f.Group
		if k.Source == "" {
			k.Source = f.Source
		}
		if k.Sees != nil && k.Sees.Source == "" {
			k.Sees.Source = k.Source
		}
		k.Platform = cmp.Or(k.Platform, f.Platform)
		k.Operator.Group = f.targets(k.Operator.Group)
		// The list may be shared with another kind through a YAML alias.
		k.References = append([]Reference(nil), k.References...)
		for j := range k.References {
			f.complete(&k.References[j], k.Source)
		}
		f.completeDefines(k)
	}
	return f, nil
}

// complete fills in what a reference takes from the file it stands in: a kind
// written without a group is one of the same file, or else a core kind.
func (f *groupFile) complete(r *Reference, source string) {
	if r.Source == "" {
		r.Source = source
	}
	if r.Name == "" {
		r.Name = "name"
	}
	r.To, r.Via.To = f.targets(r.To), f.targets(r.Via.To)
}

// targets fills in the group of kinds of the same file.
func (f *groupFile) targets(all Targets) Targets {
	if all == nil {
		return nil
	}
	to := make(Targets, len(all))
	for i, t := range all {
		if t.Group == "" && f.byKind[t.Kind] != nil {
			t.Group = f.Group
		}
		to[i] = t
	}
	return to
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
