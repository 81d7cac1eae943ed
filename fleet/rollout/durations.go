package rollout

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ladder-cmp/ladder/fleet"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/internal/settings"
)

// Durations say how long each Application takes until it is healthy.
type Durations struct {
	// File is where they are from; empty if all are assumed.
	File string
	// Named are those of Applications, by name: all of the time it takes.
	Named map[string]time.Duration
	// Lines are where the file names them.
	Lines map[string]int
	// Observed are those that Argo CD recorded, for what is not named.
	Observed Observed
	// Kinds and Wave are those of what is not named.
	Kinds []Assumed
	Wave  time.Duration
}

// Assumed is how long what is for a rung takes, besides its waves.
type Assumed struct {
	Name string `yaml:"name"`
	// Rungs are what it is for; none means anything.
	Rungs []string `yaml:"rungs"`
	// Holds are kinds of which it has one, such as StatefulSet.apps; none means
	// anything.
	Holds  []string      `yaml:"holds"`
	Takes  time.Duration `yaml:"takes"`
	Why    string        `yaml:"why"`
	Source string        `yaml:"source"`
}

//go:embed durations.yaml
var durationsText []byte

// AssumedDurations are those that hold where nobody says otherwise.
func AssumedDurations() Durations {
	var file struct {
		Wave  Assumed   `yaml:"wave"`
		Kinds []Assumed `yaml:"kinds"`
	}
	dec := yaml.NewDecoder(bytes.NewReader(durationsText))
	dec.KnownFields(true)
	if err := dec.Decode(&file); err != nil {
		panic(err) // no input reaches it, and every test of the package reads it
	}
	return Durations{Named: map[string]time.Duration{}, Lines: map[string]int{}, Kinds: file.Kinds, Wave: file.Wave.Takes}
}

// defaults is the key of file of durations that has those by rung, and
// waveKey the one below it for each wave.
const (
	defaults = "defaults"
	waveKey  = "wave"
)

// longest is more than anybody waits for an Application.
const longest = 30 * 24 * time.Hour

// ReadDurations reads a file with a line for each Application, such as
// "vault: 2m30s", and assumed ones by rung below the key defaults. The error
// joins its faults.
func ReadDurations(name string, text []byte) (Durations, error) {
	d := AssumedDurations()
	f := settings.File{Name: name, Rule: "durations", Description: "file of durations"}
	d.File = name
	root, err := f.Parse(text)
	if err != nil || root == nil {
		return d, err
	}
	faults := f.DuplicateKeys(root, "")
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		if key.Value == defaults && value.Kind == yaml.MappingNode {
			faults = append(faults, d.readDefaults(f, value)...)
			continue
		}
		takes, err := duration(f, key.Value, value)
		faults = append(faults, err)
		d.Named[key.Value], d.Lines[key.Value] = takes, key.Line
	}
	return d, errors.Join(faults...)
}

func (d *Durations) readDefaults(f settings.File, n *yaml.Node) []error {
	var faults []error
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		takes, err := duration(f, defaults+"."+key.Value, value)
		faults = append(faults, err)
		at := slices.IndexFunc(d.Kinds, func(a Assumed) bool { return a.Name == key.Value })
		switch {
		case key.Value == waveKey:
			d.Wave = takes
		case at >= 0:
			d.Kinds[at].Takes = takes
		default:
			names := []string{waveKey}
			for _, a := range d.Kinds {
				names = append(names, a.Name)
			}
			faults = append(faults, f.Fault(key.Line, defaults+"."+key.Value, "unknown default", "use one of "+strings.Join(names, ", ")))
		}
	}
	return faults
}

func duration(f settings.File, field string, n *yaml.Node) (time.Duration, error) {
	const remedy = "write it like 90s or 2m30s"
	if n.Kind != yaml.ScalarNode {
		return 0, f.Fault(n.Line, field, "want a single value, not a list or mapping", remedy)
	}
	d, err := time.ParseDuration(n.Value)
	switch {
	case err != nil:
		return 0, f.Fault(n.Line, field, fmt.Sprintf("%q is not a duration", n.Value), remedy)
	case d < 0 || d > longest:
		return 0, f.Fault(n.Line, field, n.Value+" is not between 0s and 720h", remedy)
	}
	return d, nil
}

// Of is how long an Application takes, and why.
func (d Durations) Of(app *fleet.Application) (time.Duration, string) {
	if takes, ok := d.Named[app.Name]; ok {
		return takes, "given"
	}
	if sync, ok := d.Observed.of(app.Name); ok {
		return sync.Takes(), "measured on " + sync.Start.UTC().Format(time.DateOnly)
	}
	held := map[string]bool{}
	for _, o := range app.Objects {
		held[o.ID.GroupKind()] = true
	}
	for _, a := range d.Kinds {
		fits := len(a.Holds) == 0
		for _, kind := range a.Holds {
			fits = fits || held[kind]
		}
		if !fits || len(a.Rungs) > 0 && !slices.Contains(a.Rungs, app.Rung) {
			continue
		}
		if app.Waves > 1 && d.Wave > 0 {
			return a.Takes + time.Duration(app.Waves-1)*d.Wave, fmt.Sprintf("assumed for %s, and %s for %d waves", a.Name, d.Wave, app.Waves)
		}
		return a.Takes, "assumed for " + a.Name
	}
	return 0, "no assumption"
}

// Unknown lists the names in a file that no Application has, sorted.
func (d Durations) Unknown(f *fleet.Fleet) []string {
	left := maps.Clone(d.Named)
	for _, app := range f.Applications {
		delete(left, app.Name)
	}
	return slices.Sorted(maps.Keys(left))
}
