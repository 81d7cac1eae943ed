package knowledge

import (
	"slices"
	"sync"
)

// SwitchKind says what a value of a chart does to the definitions that the
// chart ships.
type SwitchKind string

const (
	// Ships: on, it brings definitions.
	Ships SwitchKind = "ships"
	// Feature: on, it brings a whole feature, definitions among it.
	Feature SwitchKind = "feature"
	// Form: it says how definitions are shipped, not whether.
	Form SwitchKind = "form"
	// Upgrades: on, a Job writes definitions to the cluster when it runs.
	Upgrades SwitchKind = "upgrades"
	// Cleans: on, a Job deletes definitions or resources.
	Cleans SwitchKind = "cleans"
	// Keeps: it only annotates the definitions.
	Keeps SwitchKind = "keeps"
)

// Switch is a value of a chart that has to do with its definitions.
type Switch struct {
	// Path is the path of the value in the values of its chart.
	Path string     `yaml:"path"`
	Does SwitchKind `yaml:"does"`
	// Charts names the charts that the record is about; empty means all.
	Charts []string `yaml:"charts"`
	// Why is the rest of a sentence that begins with the path.
	Why    string `yaml:"why"`
	Source string `yaml:"source"`
}

// switchFile is crd-switches.yaml.
type switchFile struct {
	Source   string   `yaml:"source"`
	Switches []Switch `yaml:"switches"`
}

var switches = sync.OnceValue(func() []Switch {
	var f switchFile
	must(decode("crd-switches.yaml", &f))
	for i := range f.Switches {
		if f.Switches[i].Source == "" {
			f.Switches[i].Source = f.Source
		}
	}
	return f.Switches
})

// Switches returns what is known about the values of a chart by which it ships
// definitions, one for each path: what is said about the chart goes before what
// is said about all.
func (b *Base) Switches(chart string) []Switch {
	var own, common []Switch
	for _, s := range switches() {
		if slices.Contains(s.Charts, chart) {
			own = append(own, s)
		}
	}
	for _, s := range switches() {
		if len(s.Charts) == 0 && !slices.ContainsFunc(own, func(o Switch) bool { return o.Path == s.Path }) {
			common = append(common, s)
		}
	}
	return append(own, common...)
}
