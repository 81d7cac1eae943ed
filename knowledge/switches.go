package knowledge

import (
	"slices"
	"sync"
)

// SwitchKind is the effect of a chart's value on its CRDs.
type SwitchKind string

const (
	// Ships: enables CRDs.
	Ships SwitchKind = "ships"
	// Feature: enables a feature that includes CRDs.
	Feature SwitchKind = "feature"
	// Form: changes how CRDs are shipped, not whether.
	Form SwitchKind = "form"
	// Upgrades: enables a Job that writes CRDs to the cluster.
	Upgrades SwitchKind = "upgrades"
	// Cleans: enables a Job that deletes CRDs or custom resources.
	Cleans SwitchKind = "cleans"
	// Keeps: only annotates the CRDs.
	Keeps SwitchKind = "keeps"
)

// Switch is a value of a chart that affects its CRDs.
type Switch struct {
	// Path is the path of the value in its chart.
	Path string     `yaml:"path"`
	Does SwitchKind `yaml:"does"`
	// Charts are the charts of the record; empty means all.
	Charts []string `yaml:"charts"`
	// Why completes a sentence that starts with the path.
	Why    string `yaml:"why"`
	Source string `yaml:"source"`
}

// switchFile is crd-switches.yaml.
type switchFile struct {
	Source   string   `yaml:"source"`
	Switches []Switch `yaml:"switches"`
}

var switches = sync.OnceValue(func() []Switch {
	f := decoded[switchFile]("crd-switches.yaml")
	for i := range f.Switches {
		if f.Switches[i].Source == "" {
			f.Switches[i].Source = f.Source
		}
	}
	return f.Switches
})

// Switches returns the switches of a chart, one for each path: records about the
// chart take precedence over general ones.
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
