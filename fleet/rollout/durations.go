package rollout

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/settings"
)

// Durations contains the time that each Application takes until it is healthy.
type Durations struct {
	// File is the file that they were read from; empty if all are assumed.
	File string
	// ByName maps names of Applications to their total durations.
	ByName map[string]time.Duration
	// Lines maps names of Applications to their lines in File.
	Lines map[string]int
	// Kinds and Wave apply to all other Applications.
	Kinds []Assumption
	Wave  time.Duration
}

// Assumption is the assumed duration of Applications of some rungs, without the time between
// waves.
type Assumption struct {
	// Name identifies it in the defaults of a file.
	Name string `yaml:"name"`
	// Title is its name in texts; empty means Name.
	Title string `yaml:"title"`
	// Rungs limits it to Applications of these rungs; empty means any.
	Rungs []string `yaml:"rungs"`
	// Kinds limits it to Applications with an object of one of these kinds, such as
	// StatefulSet.apps; empty means any.
	Kinds    []string      `yaml:"holds"`
	Duration time.Duration `yaml:"takes"`
	Why      string        `yaml:"why"`
	Source   string        `yaml:"source"`
}

//go:embed durations.yaml
var durationsText []byte

// AssumedDurations returns the durations that apply without a file.
func AssumedDurations() Durations {
	file := settings.Embedded[struct {
		Wave  Assumption   `yaml:"wave"`
		Kinds []Assumption `yaml:"kinds"`
	}](durationsText)
	return Durations{ByName: map[string]time.Duration{}, Lines: map[string]int{}, Kinds: file.Kinds, Wave: file.Wave.Duration}
}

// defaults is the key for assumed durations in a durations file. waveKey is the key
// below it for the time between waves.
const (
	defaults = "defaults"
	waveKey  = "wave"
)

// longest limits a duration, to catch typing errors.
const longest = 30 * 24 * time.Hour

// ReadDurations reads a file with durations of Applications, such as "vault: 2m30s",
// and assumed durations below the key defaults. It reports all faults.
func ReadDurations(name string, text []byte) (Durations, error) {
	d := AssumedDurations()
	f := settings.File{Name: name, Rule: finding.BadSettings, Description: "durations file"}
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
		d.ByName[key.Value], d.Lines[key.Value] = takes, key.Line
	}
	return d, errors.Join(faults...)
}

func (d *Durations) readDefaults(f settings.File, n *yaml.Node) []error {
	var faults []error
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		takes, err := duration(f, defaults+"."+key.Value, value)
		faults = append(faults, err)
		at := slices.IndexFunc(d.Kinds, func(a Assumption) bool { return a.Name == key.Value })
		switch {
		case key.Value == waveKey:
			d.Wave = takes
		case at >= 0:
			d.Kinds[at].Duration = takes
		default:
			names := []string{waveKey}
			for _, a := range d.Kinds {
				names = append(names, a.Name)
			}
			faults = append(faults, f.Fault(key.Line, defaults+"."+key.Value, "unknown default",
				"use a default that docs/fleet.md lists").Asking(finding.Suggest(key.Value, names)))
		}
	}
	return faults
}

func duration(f settings.File, field string, n *yaml.Node) (time.Duration, error) {
	const remedy = "use a duration such as 90s or 2m30s"
	if n.Kind != yaml.ScalarNode {
		return 0, f.Fault(n.Line, field, "must be a single value, not a list or mapping", remedy)
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

func (a Assumption) title() string { return cmp.Or(a.Title, a.Name) }

// Of returns the duration of an Application, and where it comes from.
func (d Durations) Of(app *fleet.Application) (time.Duration, string) {
	if takes, ok := d.ByName[app.Name]; ok {
		return takes, "from the durations file"
	}
	kinds := map[string]bool{}
	for _, o := range app.Objects {
		kinds[o.ID.GroupKind()] = true
	}
	for _, a := range d.Kinds {
		matches := len(a.Kinds) == 0
		for _, kind := range a.Kinds {
			matches = matches || kinds[kind]
		}
		if !matches || len(a.Rungs) > 0 && !slices.Contains(a.Rungs, app.Rung) {
			continue
		}
		if app.Waves > 1 && d.Wave > 0 {
			return a.Duration + time.Duration(app.Waves-1)*d.Wave,
				fmt.Sprintf("assumed for %s, plus %s between %d waves", a.title(), d.Wave, app.Waves)
		}
		return a.Duration, "assumed for " + a.title()
	}
	return 0, "no assumption"
}

// unknown lists the names in a file that no Application has, sorted.
func (d Durations) unknown(f *fleet.Fleet) []string {
	unused := maps.Clone(d.ByName)
	for _, app := range f.Applications {
		delete(unused, app.Name)
	}
	return slices.Sorted(maps.Keys(unused))
}
