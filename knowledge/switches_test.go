package knowledge

import (
	"slices"
	"strings"
	"testing"
)

func TestSwitches(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range switches() {
		if s.Path == "" || s.Why == "" || s.Source == "" {
			t.Errorf("%+v: no path, no reason or no source", s)
		}
		if !slices.Contains([]SwitchKind{Ships, Feature, Form, Upgrades, Cleans, Keeps}, s.Does) {
			t.Errorf("%s: does %q, which means nothing", s.Path, s.Does)
		}
		for _, chart := range append(s.Charts, strings.Repeat("*", 1-min(len(s.Charts), 1))) {
			if chart != "" && seen[chart+" "+s.Path] {
				t.Errorf("%s of %s is there twice", s.Path, chart)
			}
			seen[chart+" "+s.Path] = true
		}
	}
}

// TestSwitchesOfCharts makes sure that a record about a chart goes before one
// about all, and says nothing of other charts.
func TestSwitchesOfCharts(t *testing.T) {
	b := Default()
	does := func(chart, path string) []SwitchKind {
		var all []SwitchKind
		for _, s := range b.Switches(chart) {
			if s.Path == path {
				all = append(all, s.Does)
			}
		}
		return all
	}
	for _, tt := range []struct {
		chart, path string
		want        []SwitchKind
	}{
		{"argo-workflows", "crds.install", []SwitchKind{Upgrades}},
		{"argo-cd", "crds.install", []SwitchKind{Ships}},
		{"velero", "upgradeCRDs", []SwitchKind{Upgrades}},
		{"argo-cd", "upgradeCRDs", nil},
		{"never-heard-of", "installCRDs", []SwitchKind{Ships}},
	} {
		if got := does(tt.chart, tt.path); !slices.Equal(got, tt.want) {
			t.Errorf("%s of %s: %v, want %v", tt.path, tt.chart, got, tt.want)
		}
	}
}

// TestInstallers makes sure that programs which bring kinds are found by their
// images, whatever the registry.
func TestInstallers(t *testing.T) {
	for _, i := range programs().Installers {
		if len(i.Images) == 0 || len(i.Installs) == 0 || i.Source == "" {
			t.Errorf("%+v: no image, no group or no source", i)
		}
	}
	b := Default()
	for image, want := range map[string]bool{
		"quay.io/cilium/operator-generic:v1.18.0": true, "cilium/operator-aws": true, "registry.example.com/mirror/cilium/operator:1": true,
		"quay.io/cilium/cilium:v1.18.0": false, "example.com/notcilium/operator:1": false,
	} {
		i, ok := b.Installer(image)
		if ok != want || ok && !i.InstallsGroup("cilium.io") || i.InstallsGroup("example.com") {
			t.Errorf("%s: %+v, %v", image, i, ok)
		}
	}
}
