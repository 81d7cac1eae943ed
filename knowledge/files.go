package knowledge

import (
	"cmp"
	"embed"
	"fmt"
	"strings"
	"sync"

	"github.com/ladder-cmp/ladder/internal/settings"
)

//go:embed names.yaml programs.yaml crd-switches.yaml rungs.yaml kind-order.yaml pods.yaml conventions.yaml
//go:embed schemas.yaml shapes.yaml smokes.yaml charts.yaml packages.yaml kinds/*.yaml
var files embed.FS

// group is a file under kinds/, decoded on first use.
type group func() *groupFile

// groupFile is the content of a file under kinds/.
type groupFile struct {
	Group   string `yaml:"group"`
	Builtin bool   `yaml:"builtin"`
	// Complete means that the group has no kinds other than those in the file and
	// Others, in any release of Kubernetes.
	Complete bool     `yaml:"complete"`
	Others   []string `yaml:"others"`
	// Product is the product that the group belongs to.
	Product string `yaml:"product"`
	Source  string `yaml:"source"`
	// Observed is the version of the program that was observed on a real node
	// (docs/e2e.md). If empty, the records are based on documentation and
	// source code only.
	Observed string `yaml:"observed"`
	// Platform applies to all kinds of the group that do not set it, including
	// those without a record.
	Platform string `yaml:"platform"`
	// PlatformOnly means that no other platform has the group, so that its objects
	// identify the platform.
	PlatformOnly bool   `yaml:"only"`
	Kinds        []Kind `yaml:"kinds"`
	byKind       map[string]*Kind
}

// podFile is pods.yaml: what a Pod refers to.
type podFile struct {
	Source string `yaml:"source"`
	// Everywhere lists objects that Kubernetes creates in every namespace or
	// cluster, as Kind/name, with "*" for any suffix.
	Everywhere []string    `yaml:"everywhere"`
	References []Reference `yaml:"references"`
}

// conventionFile is conventions.yaml: how custom resources refer to other objects.
type conventionFile struct {
	Source      string       `yaml:"source"`
	Conventions []Convention `yaml:"conventions"`
}

// kindOrderFile is kind-order.yaml: the order of kinds within a wave.
type kindOrderFile struct {
	Source string   `yaml:"source"`
	Kinds  []string `yaml:"kinds"`
}

// shapeFile is shapes.yaml: what the name of an unknown kind implies.
type shapeFile struct {
	Shapes []struct {
		Suffix string `yaml:"suffix"`
		Rung   string `yaml:"rung"`
		Why    string `yaml:"why"`
		Source string `yaml:"source"`
	} `yaml:"shapes"`
}

// smokeFile is smokes.yaml: the names of objects that test the others.
type smokeFile struct {
	Words []string `yaml:"words"`
	// Checks are words of objects that are tests only if they call a program.
	Checks []string `yaml:"checks"`
	Labels []string `yaml:"labels"`
	Why    string   `yaml:"why"`
	Source string   `yaml:"source"`
}

var builtin = sync.OnceValue(func() *Base {
	ladder := decoded[struct {
		Rungs []Rung `yaml:"rungs"`
	}]("rungs.yaml").Rungs
	order := decoded[kindOrderFile]("kind-order.yaml")
	b := &Base{rungs: map[string]Rung{}, rungOrder: ladder, order: map[string]int{}, groups: map[string]group{}}
	for _, r := range ladder {
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
		b.groups[name] = sync.OnceValue(func() *groupFile { return loadGroup("kinds/" + e.Name()) })
	}
	b.conventions = sync.OnceValue(func() []Convention {
		f := decoded[conventionFile]("conventions.yaml")
		for i := range f.Conventions {
			f.Conventions[i].Source = cmp.Or(f.Conventions[i].Source, f.Source)
		}
		return f.Conventions
	})
	b.smokes = sync.OnceValue(func() smokeFile { return *decoded[smokeFile]("smokes.yaml") })
	b.packages = sync.OnceValue(loadPackages)
	return b
})

// pods and shapes are files that a ladder.yaml does not change.
var (
	pods = sync.OnceValue(func() *podFile {
		f := decoded[podFile]("pods.yaml")
		for i := range f.References {
			(&groupFile{}).complete(&f.References[i], f.Source)
		}
		return f
	})
	shapes = sync.OnceValue(func() *shapeFile { return decoded[shapeFile]("shapes.yaml") })
)

// coreFile is the name of the file of the core group, which has no name.
const coreFile = "core"

// anything matches any kind, and any prefix of a group's name. File names contain
// "_" instead of "*", which is not allowed everywhere.
const (
	anything     = "*"
	anyGroupFile = "_"
)

// must panics on errors of embedded files, which the tests verify.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

func decoded[T any](name string) *T {
	text, err := files.ReadFile(name)
	must(err)
	f := settings.Embedded[T](text)
	return &f
}

func loadGroup(name string) *groupFile {
	f := decoded[groupFile](name)
	f.byKind = map[string]*Kind{}
	for i := range f.Kinds {
		k := &f.Kinds[i]
		if f.byKind[k.Kind] != nil {
			panic(fmt.Sprintf("knowledge/%s: duplicate kind %s", name, k.Kind))
		}
		f.byKind[k.Kind] = k
	}
	for i := range f.Kinds {
		k := &f.Kinds[i]
		k.Group, k.Observed = f.Group, f.Observed
		if k.Source == "" {
			k.Source = f.Source
		}
		if k.Status != nil && k.Status.Source == "" {
			k.Status.Source = k.Source
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
	return f
}

// complete completes a reference with data from its file: a kind without a group is
// one of the same file, or else a core kind.
func (f *groupFile) complete(r *Reference, source string) {
	if r.Source == "" {
		r.Source = source
	}
	if r.Name == "" {
		r.Name = "name"
	}
	r.To, r.Via.To = f.targets(r.To), f.targets(r.Via.To)
}

// targets adds the group to kinds of the same file.
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
