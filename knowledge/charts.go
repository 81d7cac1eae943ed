package knowledge

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/ladder-cmp/ladder/object"
)

// Chart is the knowledge about a chart that is not available locally, such as one
// in a registry: enough to order it relative to others. It describes the chart with
// its default values, plus the switches that enable its CRDs.
type Chart struct {
	// Name is the name of the chart, Others are names of equivalent charts.
	Name   string   `yaml:"name"`
	Others []string `yaml:"others"`
	// Repos are words in the URLs of the registries to which the record applies, if
	// different charts have the same name. A record without Repos applies to all
	// others.
	Repos []string `yaml:"repos"`
	// Manifests means that it is not a chart: its publisher provides manifests instead,
	// in a repository with that name.
	Manifests bool `yaml:"manifests"`
	// Rung is the rung of the chart as a whole.
	Rung string `yaml:"rung"`
	// Provides are API groups or suffixes ("*.crossplane.io") whose CRDs or
	// controllers are in the chart. Needs are groups whose kinds must exist before.
	Provides []string `yaml:"provides"`
	Needs    []string `yaml:"needs"`
	// InstallsAtRuntime means that its program creates the CRDs when it runs, and the chart has none.
	InstallsAtRuntime bool `yaml:"atRuntime"`
	// Network means that it runs the Pod network, which every Pod of a new cluster needs that is
	// not on the network of its node.
	Network bool `yaml:"network"`
	// ClassProviders are names of providers that this chart runs, as they occur in a
	// class, such as the provisioner of a StorageClass.
	ClassProviders []string `yaml:"answers"`
	// Objects are objects of the chart that others refer to, in the form
	// "Kind.group/name" without namespace.
	Objects []string `yaml:"objects"`
	Why     string   `yaml:"why"`
	Source  string   `yaml:"source"`
	// Inferred means that the chart has no record, and what it provides follows from the
	// API group that it is named after.
	Inferred bool `yaml:"-"`
}

// InstallsGroup reports whether the chart installs the kinds of a group, or their
// controller.
func (c Chart) InstallsGroup(group string) bool { return matches(c.Provides, group) }

// ShipsCRDs reports whether the chart contains the CRDs of what it provides, by default or behind
// a switch.
func (c Chart) ShipsCRDs() bool {
	return slices.ContainsFunc(c.Provides, func(group string) bool { return !c.InstallsAtRuntime && !slices.Contains(c.Needs, group) })
}

// Stubs returns the Objects with only their names. Their version is v1, since it is
// unknown.
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

// matches reports whether the record is about a chart in a registry.
func (c Chart) matches(repoURL, name string) bool {
	return (c.Name == name || slices.Contains(c.Others, name)) &&
		(len(c.Repos) == 0 || slices.ContainsFunc(c.Repos, func(word string) bool { return strings.Contains(repoURL, word) }))
}

var charts = sync.OnceValue(func() []Chart {
	return decoded[struct {
		Charts []Chart `yaml:"charts"`
	}]("charts.yaml").Charts
})

// Chart returns the knowledge about a chart in a registry, whose URL may be empty.
// Charts are often copied to other registries, so a record without Repos applies if
// no other does.
func (b *Base) Chart(repoURL, name string) (Chart, bool) {
	var found Chart
	known := false
	for _, c := range b.Charts() {
		if c.matches(repoURL, name) && (!known || len(c.Repos) > 0) {
			found, known = c, true
		}
	}
	return found, known
}

// Charts lists all known charts by name.
func (b *Base) Charts() []Chart { return charts() }
