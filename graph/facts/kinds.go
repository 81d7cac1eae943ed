package facts

import (
	"slices"

	"github.com/ladder-cmp/ladder/knowledge"
)

// Rules that compare every pair of objects take minutes for a thousand components.
// The indexes below let them iterate over kinds, of which there are few, or look up
// the relevant objects directly.

type kindIndexes struct {
	installers     memo[[]Installer]
	definedByGroup index[string, []DefinedKind]
	definedByPart  index[int, []knowledge.GroupKind]
	jobs, pods     index[int, []int]
	installersOf   index[int, []Installer]     // by component, without packages
	packages       index[int, map[string]bool] // packages by component
}

// index is a map that is filled when a value is first looked up.
type index[K comparable, V any] map[K]V

// at returns the value of a key. build fills the index.
func (x *index[K, V]) at(key K, build func(index[K, V])) V {
	if *x == nil {
		*x = index[K, V]{}
		build(*x)
	}
	return (*x)[key]
}

// KindRange is the range of the nodes of one kind: Nodes is sorted by kind.
type KindRange struct {
	// From is the first node, and To the one after the last.
	From, To int
	// Group is the API group, and Plural the name of the resource.
	Group, Plural string
}

// Kinds returns the kinds of the nodes.
func (f *Facts) Kinds() []KindRange { return f.kindRanges }

func (f *Facts) findKindRanges() []KindRange {
	var all []KindRange
	for i := range f.Nodes {
		n := &f.Nodes[i]
		if last := len(all) - 1; last >= 0 {
			if before := &f.Nodes[all[last].From]; before.ID.Group == n.ID.Group && before.ID.Kind == n.ID.Kind {
				all[last].To = i + 1
				continue
			}
		}
		all = append(all, KindRange{i, i + 1, n.ID.Group, f.Plural(*n)})
	}
	return all
}

// KindOf returns the kind of a range.
func (f *Facts) KindOf(r KindRange) knowledge.GroupKind {
	return knowledge.GroupKind{Group: r.Group, Kind: f.Nodes[r.From].ID.Kind}
}

// NodesOf returns the nodes of a kind. Group "*" matches any group.
func (f *Facts) NodesOf(gk knowledge.GroupKind) []int {
	var all []int
	for _, kind := range f.kindRanges {
		if (kind.Group == gk.Group || gk.Group == "*") && f.Nodes[kind.From].ID.Kind == gk.Kind {
			for i := kind.From; i < kind.To; i++ {
				all = append(all, i)
			}
		}
	}
	return all
}

// Defined returns the definition of a kind, if the components contain it.
func (f *Facts) Defined(gk knowledge.GroupKind) (DefinedKind, bool) {
	def, ok := f.defined[gk]
	return def, ok
}

// LimitsKeys reports whether a definition says which keys of a Secret its objects write.
func (f *Facts) LimitsKeys() bool {
	for _, def := range f.defined {
		if !def.By.Keys.IsZero() {
			return true
		}
	}
	return false
}

// Definitions returns the nodes that define kinds, in order.
func (f *Facts) Definitions() []int {
	var all []int
	for _, def := range f.defined {
		all = append(all, def.Node)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// DefinedIn returns the kinds of a group that the components define.
func (f *Facts) DefinedIn(group string) []DefinedKind {
	return f.definedByGroup.at(group, func(all index[string, []DefinedKind]) {
		for gk, def := range f.defined {
			all[gk.Group] = append(all[gk.Group], def)
		}
	})
}

// DefinedBy returns the kinds that a component defines.
func (f *Facts) DefinedBy(part int) []knowledge.GroupKind {
	return f.definedByPart.at(part, func(all index[int, []knowledge.GroupKind]) {
		for gk, def := range f.defined {
			at := f.Nodes[def.Node].Part
			all[at] = append(all[at], gk)
		}
	})
}

// PodsOf returns the nodes of a component that have Pods.
func (f *Facts) PodsOf(part int) []int {
	return f.pods.at(part, f.byPart(func(n *Node) bool { return !n.Kind.Pod.IsZero() }))
}

// JobsOf returns the nodes of a component that run once.
func (f *Facts) JobsOf(part int) []int {
	return f.jobs.at(part, f.byPart(func(n *Node) bool { return n.Kind.Runs == "once" }))
}

// byPart fills an index of some nodes by their component.
func (f *Facts) byPart(is func(*Node) bool) func(index[int, []int]) {
	return func(all index[int, []int]) {
		for i := range f.Nodes {
			if n := &f.Nodes[i]; is(n) {
				all[n.Part] = append(all[n.Part], i)
			}
		}
	}
}

// Plural returns the resource name of an object's kind: from its CRD or, otherwise,
// the regular English plural.
func (f *Facts) Plural(n Node) string {
	if def, ok := f.defined[knowledge.GroupKind{Group: n.ID.Group, Kind: n.ID.Kind}]; ok && def.Plural != "" {
		return def.Plural
	}
	return knowledge.Plural(n.ID.Kind)
}

// Installer is a node that installs kinds at run time.
type Installer struct {
	Node          int
	InstallsGroup func(group string) bool
	Source        string
}

// Installers returns the nodes that install kinds at run time, by their own kind or by
// their program.
func (f *Facts) Installers() []Installer {
	return f.installers.get(func() (all []Installer) {
		for i := range f.Nodes {
			if installsGroup, source := f.installedGroups(f.Nodes[i]); installsGroup != nil {
				all = append(all, Installer{i, installsGroup, source})
			}
		}
		return all
	})
}

// installedGroups returns a function that reports whether a node installs the kinds of
// a group at run time, by its own kind or by its program, and the source of that fact;
// nil if it installs none.
func (f *Facts) installedGroups(n Node) (installsGroup func(group string) bool, source string) {
	if len(n.Kind.Installs) > 0 {
		return n.Kind.InstallsGroup, n.Kind.Source
	}
	for _, tmpl := range n.Kind.Pod.Find(n.Root()) {
		for _, list := range []string{"initContainers", "containers"} {
			for _, c := range tmpl.Value.Get("spec", list).Items() {
				if i, ok := f.Base.Installer(c.Get("image").Text()); ok {
					return i.InstallsGroup, i.Source
				}
			}
		}
	}
	return nil, ""
}

// InstallsKind reports whether an installer installs a kind for a component. A known
// package installs the kinds that are known for it, and nothing else. A kind
// that Ladder does not know may come with any unknown package of its component, unless
// another object there provides it.
func (f *Facts) InstallsKind(by Installer, kind KindRange, part int) bool {
	n := &f.Nodes[by.Node]
	if !by.InstallsGroup(kind.Group) {
		return false
	}
	if f.isPackaged(by, kind) || !n.Kind.Operator.Installs() && !installsAnything(n) {
		return true
	}
	if f.Base.HasPackage(n.Kind.Operator.Package.Text(n.Root())) {
		return false
	}
	gk := f.KindOf(kind)
	from := f.origin(gk)
	_, defined := f.defined[gk]
	_, known := f.Base.Kind(gk.Group, gk.Kind)
	if defined || known || len(from.packages) > 0 || from.platform != "" || n.Part != part {
		return false
	}
	return !slices.ContainsFunc(f.otherInstallers(part), func(other Installer) bool {
		o := &f.Nodes[other.Node]
		return (o.ID.Group != gk.Group || o.ID.Kind != gk.Kind) && !installsAnything(o) && other.InstallsGroup(gk.Group)
	})
}

// installsAnything reports whether nothing tells which kinds an installer brings.
func installsAnything(n *Node) bool { return slices.Contains(n.Kind.Installs, "*") }

// isPackaged reports whether an installer installs a package that is known for a kind.
func (f *Facts) isPackaged(by Installer, kind KindRange) bool {
	n := &f.Nodes[by.Node]
	return n.Kind.Operator.Installs() && slices.Contains(f.origin(f.KindOf(kind)).packages, n.Kind.Operator.Package.Text(n.Root()))
}

// IsOnlySource reports whether a kind certainly belongs to the package of an installer: no
// other package that the component installs is known for it.
func (f *Facts) IsOnlySource(by Installer, kind KindRange) bool {
	if !f.isPackaged(by, kind) {
		return false
	}
	known := 0
	for _, name := range f.origin(f.KindOf(kind)).packages {
		if f.packagesOf(f.Nodes[by.Node].Part)[name] {
			known++
		}
	}
	return known == 1
}

// packagesOf returns the packages that a component installs.
func (f *Facts) packagesOf(part int) map[string]bool {
	return f.packages.at(part, func(all index[int, map[string]bool]) {
		for _, by := range f.Installers() {
			n := &f.Nodes[by.Node]
			if !n.Kind.Operator.Installs() {
				continue
			}
			if all[n.Part] == nil {
				all[n.Part] = map[string]bool{}
			}
			all[n.Part][n.Kind.Operator.Package.Text(n.Root())] = true
		}
	})
}

// origins says how a kind gets into a cluster.
type origins struct {
	platform string
	packages []string
}

func (f *Facts) origin(gk knowledge.GroupKind) origins {
	from, known := f.originsByKind[gk]
	if !known {
		var packages []knowledge.Package
		from.platform, packages = f.Base.Origin(gk.Group, gk.Kind)
		for _, p := range packages {
			from.packages = append(from.packages, p.Name)
		}
		f.originsByKind[gk] = from
	}
	return from
}

// otherInstallers returns the installers of a component other than packages.
func (f *Facts) otherInstallers(part int) []Installer {
	return f.installersOf.at(part, func(all index[int, []Installer]) {
		for _, by := range f.Installers() {
			if n := &f.Nodes[by.Node]; !n.Kind.Operator.Installs() {
				all[n.Part] = append(all[n.Part], by)
			}
		}
	})
}
