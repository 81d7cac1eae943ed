package knowledge

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/internal/profile"
	"github.com/ladder-cmp/ladder/object"
)

// Chart is what is known of a chart that is not at hand, such as one in a
// registry: enough to say what comes before it and after it. It is about the
// chart with its default values, and those switches on by which it ships its
// definitions.
type Chart struct {
	// Name is that of the chart, Others are names of charts that bring the same.
	Name   string   `yaml:"name"`
	Others []string `yaml:"others"`
	// Repos are words of the addresses of the registries that the record is
	// about, where charts of one name differ. A record without is about all
	// others.
	Repos []string `yaml:"repos"`
	// Manifests means that it is no chart: its publisher has files, in a repository of
	// that name.
	Manifests bool `yaml:"manifests"`
	// Rung is what it is for.
	Rung string `yaml:"rung"`
	// Provides are the API groups whose kinds come with it, or their endings
	// ("*.crossplane.io"): it brings their definitions or reconciles them. Needs
	// are those whose kinds must be there before.
	Provides []string `yaml:"provides"`
	Needs    []string `yaml:"needs"`
	// Answers are the names by which classes of any Application ask for it, as
	// a StorageClass does for its provisioner.
	Answers []string `yaml:"answers"`
	// Objects are what others name of what comes with it, written
	// "Kind.group/name" and without namespace.
	Objects []string `yaml:"objects"`
	Why     string   `yaml:"why"`
	Source  string   `yaml:"source"`
	// Guessed means that there is no record of it, but signs.
	Guessed bool `yaml:"-"`
}

// Brings reports whether the kinds of a group come with the chart.
func (c Chart) Brings(group string) bool { return brings(c.Provides, group) }

// Stubs returns the Objects with nothing in them but their names. Their version
// is v1, since none is known.
func (c Chart) Stubs() ([]object.Object, error) {
	var all []object.Object
	for _, written := range c.Objects {
		what, name, named := strings.Cut(written, "/")
		kind, group, grouped := strings.Cut(what, ".")
		if !named || !grouped {
			return nil, fmt.Errorf("chart %s: %q is not an object; write Kind.group/name", c.Name, written)
		}
		stub, err := object.Parse("chart "+c.Name, 0, fmt.Sprintf("apiVersion: %s/v1\nkind: %s\nmetadata: {name: %s}\n", group, kind, name))
		if err != nil {
			return nil, err
		}
		all = append(all, stub...)
	}
	return all, nil
}

// is reports whether the record is about charts of a name in a registry.
func (c Chart) is(repoURL, name string) bool {
	return (c.Name == name || slices.Contains(c.Others, name)) &&
		(len(c.Repos) == 0 || slices.ContainsFunc(c.Repos, func(word string) bool { return strings.Contains(repoURL, word) }))
}

// chartFile is charts.yaml.
type chartFile struct {
	Charts []Chart `yaml:"charts"`
}

func loadCharts() ([]Chart, error) {
	var f chartFile
	err := decode("charts.yaml", &f)
	return f.Charts, err
}

// Chart returns what is known of the chart of that name in a registry, whose
// address may be empty. Charts are copied to registries of all names, so a
// record of no registry holds wherever none of the registry does.
func (b *Base) Chart(repoURL, name string) (Chart, bool) {
	var found Chart
	known := false
	for _, c := range b.Charts() {
		if c.is(repoURL, name) && (!known || len(c.Repos) > 0) {
			found, known = c, true
		}
	}
	return found, known
}

// Charts lists all that are known, by name.
func (b *Base) Charts() []Chart {
	all, err := b.charts()
	must(err)
	return all
}

// Fleet is what the nearest ladder.yaml says that speaks of a fleet.
func (b *Base) Fleet() profile.Fleet { return b.fleet }
