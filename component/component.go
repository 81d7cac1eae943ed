// Package component reads what a component.yaml says about a component to those
// who roll out a fleet: what it is called, where it goes, which phase it stands
// in, where its chart is.
//
// The file also holds parameters of the rendering, which package plugin reads;
// the two share one strict reading, so that no key is passed over.
//
// The package is pure: it is given the text.
package component

import (
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/internal/remote"
	"github.com/ladder-cmp/ladder/internal/settings"
)

// File is the name under which a component describes itself.
const File = "component.yaml"

// Description is what a component.yaml says, apart from parameters. Empty fields
// mean that nobody said anything.
type Description struct {
	// Name is that of the Application, and of the Helm release.
	Name string `yaml:"name"`
	// Namespace is the destination.
	Namespace string `yaml:"namespace"`
	// Project is the AppProject.
	Project string `yaml:"project"`
	// Domain is the part of the platform that the component belongs to; older
	// fleets call it its tier.
	Domain string `yaml:"domain"`
	Tier   string `yaml:"tier"`
	// Type says in its owners' words what the component is.
	Type string `yaml:"componentType"`
	// DependencyPhase is a label that its owners use for what a phase means.
	DependencyPhase string `yaml:"dependencyPhase"`
	// RolloutPhase is its place in the rollout of the fleet; older fleets call
	// it its wave.
	RolloutPhase Phase `yaml:"rolloutPhase"`
	Wave         Phase `yaml:"wave"`
	// CRDs is include, only, skip, or Split for two Applications.
	CRDs string `yaml:"crds"`
	// CRDsPhase is the phase of the definitions of a split component.
	CRDsPhase Phase `yaml:"crdsPhase"`
	// Enabled is false for a component that keeps its place and is not deployed.
	Enabled *bool `yaml:"enabled"`
	// Environments are where it is deployed; none means everywhere.
	Environments []string `yaml:"environments"`
	Chart        Chart    `yaml:"chart"`
	// SyncOptions are those of the Application, besides the fleet's.
	SyncOptions []string `yaml:"syncOptions"`
	// Server is the cluster that the component goes to, by its URL or its name; that of
	// the fleet if empty.
	Server string `yaml:"server"`
	// ApplicationFields are those of the Application, besides the fleet's.
	ApplicationFields `yaml:",inline"`
	Description       string `yaml:"description"`
	Owner             string `yaml:"owner"`

	lines map[string]int
}

// Split as the value of crds makes two Applications of a component: one with
// all definitions that it can ship, and one with the rest.
const Split = "split"

// Chart says where the manifests come from, if not from the directory of the
// component.yaml.
type Chart struct {
	// RepoURL is the repository; empty means the one of the component.yaml.
	RepoURL string `yaml:"repoURL"`
	// Path is a directory in it, relative to its root, or to the component if
	// it begins with "./" or "../".
	Path string `yaml:"path"`
	// Chart is the name of a chart in a registry, Version the one to take.
	Chart   string `yaml:"chart"`
	Version string `yaml:"version"`
	// ValueFiles are relative to the chart; with "/" or a name such as "$values/"
	// in front, to the repository of the component.yaml. They may be patterns.
	ValueFiles []string `yaml:"valueFiles"`
	// IgnoreMissing passes over values files that are not there.
	IgnoreMissing bool `yaml:"ignoreMissingValueFiles"`
	// SkipCRDs leaves out the definitions, as crds: skip does.
	SkipCRDs bool `yaml:"skipCrds"`
	// ReleaseName is that of the Helm release, if it is not the name of the component.
	ReleaseName string `yaml:"releaseName"`
}

// Remote reports whether the chart has to be fetched from somewhere.
func (c Chart) Remote() bool { return c.RepoURL != "" || c.Chart != "" }

// Ref is what has to be fetched. As for Argo CD, an address without a scheme is
// that of a registry, and so is what names a registry and no chart.
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
	} else if dir, name := path.Split(c.Chart); dir != "" { // part of the directory in a registry
		ref.URL, ref.Chart = ref.URL+"/"+strings.TrimRight(dir, "/"), name
	}
	return ref
}

const oci = "oci://"

// Keys are the keys of a component.yaml that are no parameters of a rendering,
// or more than that.
func Keys() []string {
	var names []string
	for _, k := range settings.Keys(reflect.TypeFor[Description]()) {
		names = append(names, k.Name)
	}
	return names
}

// choices are the values of keys that take only some. crds is a parameter, too,
// and so checked there.
var choices = map[string][]string{}

// Decode reads the keys of a component.yaml that are this package's. The faults
// are findings of the file; what has none is read all the same.
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
		if !slices.Contains(known, key.Value) {
			continue
		}
		if seen[key.Value] { // a key twice is reported with all others
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
				wrong = []error{f.Fault(value.Line, key.Value, err.Error(), "write less by aliases")}
			}
		}
		faults = append(faults, wrong...)
	}
	return d, append(faults, d.contradictions(f)...)
}

// noteLines remembers where what is below a key stands, as in chart.valueFiles[1].
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

// contradictions are things said twice, or not together.
func (d Description) contradictions(f settings.File) []error {
	var faults []error
	fault := func(key, message, remedy string) {
		faults = append(faults, f.Fault(d.lines[key], key, message, remedy))
	}
	if d.Domain != "" && d.Tier != "" && d.Domain != d.Tier {
		fault("tier", "the tier is "+d.Tier+" and the domain "+d.Domain+", which are two names for one thing", "keep one of the two")
	}
	if d.RolloutPhase.Set && d.Wave.Set && d.RolloutPhase.Number != d.Wave.Number {
		fault("wave", "the wave is "+d.Wave.Text+" and the rolloutPhase "+d.RolloutPhase.Text+", which are two names for one thing", "keep one of the two")
	}
	if d.CRDsPhase.Set && d.CRDs != Split {
		fault("crdsPhase", "has no effect without crds: "+Split, "drop it, or write crds: "+Split)
	}
	c := d.Chart
	switch {
	case c.Chart != "" && c.Path != "":
		fault("chart", "it names a chart of a registry and a path in a repository", "keep chart or path")
	case c.Chart != "" && c.RepoURL == "":
		fault("chart", "it names a chart and no registry", "add repoURL")
	case c.RepoURL != "" && c.Chart == "" && c.Path == "":
		fault("chart", "it names a repository and nothing in it", "add chart, or path")
	}
	for i, o := range d.SyncOptions {
		if name, value, ok := strings.Cut(o, "="); !ok || name == "" || value == "" {
			faults = append(faults, f.Fault(d.lines["syncOptions"], fmt.Sprintf("syncOptions[%d]", i), fmt.Sprintf("unknown option %q with a value", o), "write it like ServerSideApply=true"))
		}
	}
	d.Check(func(key string) bool { return d.lines[key] != 0 }, fault)
	return faults
}

// Phase is the place of the component, whichever key has it.
func (d Description) Phase() Phase {
	if d.RolloutPhase.Set {
		return d.RolloutPhase
	}
	return d.Wave
}

// PhaseKey is the key that has the phase, or that would.
func (d Description) PhaseKey() string {
	if d.Wave.Set && !d.RolloutPhase.Set {
		return "wave"
	}
	return "rolloutPhase"
}

// Part is the domain, or the tier.
func (d Description) Part() string {
	if d.Domain != "" {
		return d.Domain
	}
	return d.Tier
}

// On reports whether the component is deployed.
func (d Description) On() bool { return d.Enabled == nil || *d.Enabled }

// In reports whether the component is deployed in an environment.
func (d Description) In(environment string) bool {
	return environment == "" || len(d.Environments) == 0 || slices.Contains(d.Environments, environment)
}

// Line is where a key stands in the file; 0 if it is not there.
func (d Description) Line(key string) int { return d.lines[key] }
