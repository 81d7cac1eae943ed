package knowledge

import (
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/object"
)

// Package is a package of operators, as named in a Subscription.
type Package struct {
	Name string `yaml:"package"`
	// Catalog is its catalog; empty if unknown.
	Catalog string `yaml:"catalog"`
	// Installs are the groups whose kinds it installs, or "Kind.group" for single
	// kinds of a group.
	Installs []string `yaml:"brings"`
	Source   string   `yaml:"source"`
	Note     string   `yaml:"note"`
}

// String returns the name and the catalog.
func (p Package) String() string {
	if p.Catalog == "" {
		return p.Name
	}
	return p.Name + " (" + p.Catalog + ")"
}

// packageFile is packages.yaml.
type packageFile struct {
	Catalogs []struct {
		Name     string `yaml:"name"`
		Platform string `yaml:"platform"`
	} `yaml:"catalogs"`
	Packages []Package `yaml:"packages"`
}

// packages indexes the known packages by their kinds.
type packages struct {
	all      []Package
	byKind   map[string][]Package
	platform map[string]string // by catalog
}

func loadPackages() packages {
	f := decoded[packageFile]("packages.yaml")
	p := packages{platform: map[string]string{}}
	for _, c := range f.Catalogs {
		p.platform[c.Name] = c.Platform
	}
	return p.with(f.Packages)
}

// with adds packages, which replace those of the same name.
func (p packages) with(more []Package) packages {
	rest := slices.DeleteFunc(slices.Clone(p.all), func(old Package) bool {
		return slices.ContainsFunc(more, func(again Package) bool { return again.Name == old.Name })
	})
	p.all, p.byKind = slices.Concat(more, rest), map[string][]Package{}
	slices.SortFunc(p.all, func(x, y Package) int { return strings.Compare(x.Name, y.Name) })
	for _, one := range p.all {
		for _, what := range one.Installs {
			p.byKind[what] = append(p.byKind[what], one)
		}
	}
	return p
}

// HasPackage reports whether it is known what a package installs.
func (b *Base) HasPackage(name string) bool {
	return slices.ContainsFunc(b.packages().all, func(p Package) bool { return p.Name == name })
}

// Origin says how a kind gets into a cluster: with a platform, or with one of the
// packages. If there are packages for exactly this kind, the platform of its group
// does not include it. For most kinds neither is known.
func (b *Base) Origin(group, kind string) (platform string, from []Package) {
	k, ok := b.Kind(group, kind)
	if f := b.file(group); !ok && f != nil {
		k.Platform = f.Platform
	}
	byKind := b.packages().byKind
	from = byKind[GroupKind{Group: group, Kind: kind}.String()]
	if len(from) > 0 {
		k.Platform = ""
	}
	from = slices.Concat(from, byKind[group])
	slices.SortFunc(from, func(x, y Package) int { return strings.Compare(x.Name, y.Name) })
	return k.Platform, from
}

// Platform returns the platform set in a ladder.yaml, or "".
func (b *Base) Platform() string { return b.platform }

// RequiredPlatform returns the platform that an object requires, because only this
// platform has its kind or its catalog; empty if there is none.
func (b *Base) RequiredPlatform(o object.Object) string {
	k, _ := b.Kind(o.ID.Group, o.ID.Kind)
	if k.Operator.Installs() {
		return b.packages().platform[k.Operator.Catalog.Text(o.Root())]
	}
	if f := b.file(o.ID.Group); f == nil || !f.PlatformOnly {
		return ""
	}
	platform, _ := b.Origin(o.ID.Group, o.ID.Kind)
	return platform
}
