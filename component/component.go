// Package component reads the description of a component from component.yaml for
// the rollout of a fleet: its name, its destination, its step, its chart.
//
// The file also contains parameters of the rendering, which package plugin reads.
// Both are part of one strict reading, so that unknown keys are reported.
//
// The package is pure: its input is the text.
package component

import (
	"cmp"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/internal/remote"
	"github.com/ladder-cmp/ladder/internal/settings"
)

// File is the name of the file that describes a component.
const File = "component.yaml"

// Description is the content of a component.yaml, apart from parameters. Empty
// fields are not set.
type Description struct {
	// Name is the name of the Application and of the Helm release.
	Name string `yaml:"name"`
	// Namespace is the destination namespace.
	Namespace string `yaml:"namespace"`
	// Project is the AppProject.
	Project string `yaml:"project"`
	// Domain is the part of the platform that the component belongs to; older
	// fleets call it tier.
	Domain string `yaml:"domain"`
	Tier   string `yaml:"tier"`
	// Type is the owners' own term for the kind of component.
	Type string `yaml:"componentType"`
	// DependencyPhase is the owners' own label for the step.
	DependencyPhase string `yaml:"dependencyPhase"`
	// RolloutPhase is its step in the rollout of the fleet; older fleets call it
	// wave.
	RolloutPhase Step `yaml:"rolloutPhase"`
	Wave         Step `yaml:"wave"`
	// CRDs is include, only, skip, or Split for two Applications.
	CRDs string `yaml:"crds"`
	// CRDsPhase is the step of the CRDs of a split component.
	CRDsPhase Step `yaml:"crdsPhase"`
	// Enabled is false for a component that keeps its step but is not deployed.
	Enabled *bool `yaml:"enabled"`
	// Environments are those that it is deployed to, or what differs in them.
	Environments Environments `yaml:"environments"`
	Chart        Chart        `yaml:"chart"`
	// Render is Native if Argo CD renders the component itself, without the plugin; otherwise empty.
	Render string `yaml:"render"`
	// SyncOptions are options of the Application, in addition to the fleet's.
	SyncOptions []string `yaml:"syncOptions"`
	// Server is the URL or name of the cluster to which the component is deployed; empty
	// means that of the fleet.
	Server string `yaml:"server"`
	// ApplicationFields are set on the Application in addition to those of the fleet.
	ApplicationFields `yaml:",inline"`
	Description       string `yaml:"description"`
	Owner             string `yaml:"owner"`

	lines map[string]int
}

// Split is the value of crds for two Applications: one with all CRDs that the
// component can install, and one with the rest.
const Split = "split"

// Native is the value of render for a component that Argo CD renders itself. Its Application has no
// plugin, so its objects have no waves of Ladder.
const Native = "native"

// Chart is the source of the manifests, if it is not the directory of the
// component.yaml.
type Chart struct {
	// RepoURL is the repository; empty means that of the component.yaml.
	RepoURL string `yaml:"repoURL"`
	// Path is a directory in it, relative to its root, or to the component if it
	// starts with "./" or "../".
	Path string `yaml:"path"`
	// Chart is the name of a chart in a registry, Version its version or range.
	Chart   string `yaml:"chart"`
	Version string `yaml:"version"`
	// ValueFiles are relative to the chart or, with the prefix "/" or a name such
	// as "$values/", to the repository of the component.yaml. They may be patterns.
	ValueFiles []string `yaml:"valueFiles"`
	// IgnoreMissing ignores values files that do not exist.
	IgnoreMissing bool `yaml:"ignoreMissingValueFiles"`
	// SkipCRDs excludes CRDs, like crds: skip.
	SkipCRDs bool `yaml:"skipCrds"`
	// ReleaseName is the name of the Helm release, if it is not the name of the component.
	ReleaseName string `yaml:"releaseName"`
}

// Remote reports whether the chart must be fetched.
func (c Chart) Remote() bool { return c.RepoURL != "" || c.Chart != "" }

// Ref returns the remote source. As in Argo CD, a URL without a scheme is that of an
// OCI registry, even if Chart is empty.
func (c Chart) Ref() remote.Ref {
	url := c.RepoURL
	if c.Chart == "" && !strings.HasPrefix(url, oci) {
		return remote.Ref{Kind: remote.Repository, URL: url, Version: c.Version}
	}
	if !strings.Contains(url, "://") {
		url = oci + url
	}
	ref := remote.Ref{Kind: remote.Chart, URL: strings.TrimRight(url, "/"), Chart: c.Chart, Version: c.Version}
	if c.Chart == "" {
		ref.URL, ref.Chart = path.Split(ref.URL)
		ref.URL = strings.TrimRight(ref.URL, "/")
	} else if dir, name := path.Split(c.Chart); dir != "" { // the directory belongs to the registry's URL
		ref.URL, ref.Chart = ref.URL+"/"+strings.TrimRight(dir, "/"), name
	}
	return ref
}

const oci = "oci://"

// Keys lists the keys of Description; some of them are also parameters.
func Keys() []string {
	var names []string
	for _, k := range settings.Keys(reflect.TypeFor[Description]()) {
		names = append(names, k.Name)
	}
	return names
}

// choices lists the values of enumerated keys. crds is also a parameter, and is
// checked there.
var choices = map[string][]string{"render": {Native}}

// Decode decodes the keys of this package. The errors are findings about the file;
// valid keys are decoded anyway.
func Decode(f settings.File, root *yaml.Node) (Description, []error) {
	d := Description{lines: map[string]int{}}
	if root == nil {
		return d, nil
	}
	ours := *root
	ours.Content = nil
	known := Keys()
	var faults []error
	seen := map[string]bool{}
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		if !slices.Contains(known, key.Value) { // a parameter
			d.lines[key.Value] = key.Line
			continue
		}
		if seen[key.Value] { // duplicate keys are reported together
			again := ours
			again.Content = []*yaml.Node{key, value}
			faults = append(faults, f.Check(&again, Description{}, choices)...)
			continue
		}
		seen[key.Value] = true
		d.lines[key.Value] = key.Line
		d.noteLines(key.Value, value)
		one := ours
		one.Content = []*yaml.Node{key, value}
		wrong := f.Check(&one, Description{}, choices)
		if len(wrong) == 0 {
			if err := one.Decode(&d); err != nil {
				wrong = []error{f.Fault(value.Line, key.Value, err.Error(), "use fewer aliases")}
			}
		}
		faults = append(faults, wrong...)
	}
	return d, append(faults, d.contradictions(f)...)
}

// noteLines records the lines of nested keys, such as chart.valueFiles[1].
func (d Description) noteLines(field string, n *yaml.Node) {
	for i, inner := range n.Content {
		switch {
		case n.Kind == yaml.SequenceNode:
			at := fmt.Sprintf("%s[%d]", field, i)
			d.lines[at] = inner.Line
			d.noteLines(at, inner)
		case n.Kind == yaml.MappingNode && i%2 == 1:
			at := field + "." + n.Content[i-1].Value
			d.lines[at] = n.Content[i-1].Line
			d.noteLines(at, inner)
		}
	}
}

// contradictions reports keys that contradict each other.
func (d Description) contradictions(f settings.File) []error {
	var faults []error
	fault := func(key, message, remedy string) {
		faults = append(faults, f.Fault(d.lines[key], key, message, remedy))
	}
	if d.Domain != "" && d.Tier != "" && d.Domain != d.Tier {
		fault("tier", `"tier" and "domain" are the same setting, but have different values: `+d.Tier+" and "+d.Domain,
			"keep one of the two")
	}
	if d.RolloutPhase.Set && d.Wave.Set && d.RolloutPhase.Number != d.Wave.Number {
		fault("wave", `"wave" and "rolloutPhase" are the same setting, but have different values: `+d.Wave.Text+" and "+d.RolloutPhase.Text,
			"keep one of the two")
	}
	if d.CRDsPhase.Set && d.CRDs != Split {
		fault("crdsPhase", "has no effect without crds: "+Split, "remove it, or write crds: "+Split)
	}
	if d.Render == Native && d.CRDs != "" {
		fault("crds", "has no effect with render: "+Native+", because Argo CD renders the component",
			"remove it; of a chart, chart.skipCrds leaves out the CRDs")
	}
	c := d.Chart
	switch {
	case c.Chart != "" && c.Path != "":
		fault("chart", `"chart" and "path" are both set`, `keep either "chart" or "path"`)
	case c.Chart != "" && c.RepoURL == "":
		fault("chart", `"chart" is set without "repoURL"`, `add "repoURL"`)
	case c.RepoURL != "" && c.Chart == "" && c.Path == "":
		fault("chart", `"repoURL" is set without "chart" or "path"`, `add "chart" or "path"`)
	}
	for i, o := range d.SyncOptions {
		if name, value, ok := strings.Cut(o, "="); !ok || name == "" || value == "" {
			faults = append(faults, f.Fault(d.lines["syncOptions"], fmt.Sprintf("syncOptions[%d]", i),
				fmt.Sprintf("option %q is not NAME=VALUE", o), "use an option such as ServerSideApply=true"))
		}
	}
	d.Check(func(key string) bool { return d.lines[key] != 0 }, fault)
	return faults
}

// Step returns the step of the component, from either key.
func (d Description) Step() Step {
	if d.RolloutPhase.Set {
		return d.RolloutPhase
	}
	return d.Wave
}

// StepKey returns the key of the step, or the default key.
func (d Description) StepKey() string {
	if d.Wave.Set && !d.RolloutPhase.Set {
		return "wave"
	}
	return "rolloutPhase"
}

// DomainOrTier returns the domain or the tier.
func (d Description) DomainOrTier() string {
	return cmp.Or(d.Domain, d.Tier)
}

// IsEnabled reports whether the component is deployed.
func (d Description) IsEnabled() bool { return d.Enabled == nil || *d.Enabled }

// IsIn reports whether the component is deployed in an environment.
func (d Description) IsIn(environment string) bool {
	return environment == "" || d.Environments.Has(environment)
}

// Line returns the line of a key in the file; 0 if it does not exist.
func (d Description) Line(key string) int { return d.lines[key] }
