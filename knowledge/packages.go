package knowledge

import (
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/object"
)

// Package is a package of operators, as a Subscription names it.
type Package struct {
	Name string `yaml:"package"`
	// Catalog is where it is listed; empty if that is not known.
	Catalog string `yaml:"catalog"`
	// Brings are the groups whose kinds come with it, or kinds as "Kind.group" of
	// groups of which it brings no more.
	Brings []string `yaml:"brings"`
	Source string   `yaml:"source"`
	Note   string   `yaml:"note"`
}

// String is the name, and where it is listed.
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

// packages are the known packages, by what they bring.
type packages struct {
	all      []Package
	by       map[string][]Package
	platform map[string]string // by catalog
}

func loadPackages() packages {
	var f packageFile
	must(decode("packages.yaml", &f))
	p := packages{platform: map[string]string{}}
	for _, c := range f.Catalogs {
		p.platform[c.Name] = c.Platform
	}
	return p.with(f.Packages)
}

// with adds packages, which take the place of those of the same name.
func (p packages) with(more []Package) packages {
	rest := slices.DeleteFunc(slices.Clone(p.all), func(old Package) bool {
		return slices.ContainsFunc(more, func(again Package) bool { return again.Name == old.Name })
	})
	p.all, p.by = slices.Concat(more, rest), map[string][]Package{}
	slices.SortFunc(p.all, func(x, y Package) int { return strings.Compare(x.Name, y.Name) })
	for _, one := range p.all {
		for _, what := range one.Brings {
			p.by[what] = append(p.by[what], one)
		}
	}
	return p
}

// Packages lists the known packages by name.
func (b *Base) Packages() []Package { return b.packages().all }

// Brought says how a kind comes to a cluster: with a platform, or with one of some
// packages of operators, and then with no others. Of most kinds neither is known. A
// kind that a package brings by itself does not come with the platform of its group.
func (b *Base) Brought(group, kind string) (platform string, from []Package) {
	k, ok := b.Kind(group, kind)
	if f := b.file(group); !ok && f != nil {
		k.Platform = f.Platform
	}
	by := b.packages().by
	from = by[GroupKind{Group: group, Kind: kind}.String()]
	if len(from) > 0 {
		k.Platform = ""
	}
	from = slices.Concat(from, by[group])
	slices.SortFunc(from, func(x, y Package) int { return strings.Compare(x.Name, y.Name) })
	return k.Platform, from
}

// Platform is the platform that a ladder.yaml names; empty if none does.
func (b *Base) Platform() string { return b.platform }

// Shows is the platform that an object shows its cluster to be of: because no other
// has its kind, or the catalog that it installs an operator from; empty if none.
func (b *Base) Shows(o object.Object) string {
	k, _ := b.Kind(o.ID.Group, o.ID.Kind)
	if k.Operator.Installs() {
		for _, v := range k.Operator.Catalog.Find(o.Root()) {
			return b.packages().platform[v.Value.Text()]
		}
		return ""
	}
	if f := b.file(o.ID.Group); f == nil || !f.Only {
		return ""
	}
	platform, _ := b.Brought(o.ID.Group, o.ID.Kind)
	return platform
}
