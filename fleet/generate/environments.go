package generate

import (
	"maps"
	"slices"

	"github.com/ladder-cmp/ladder/argocd"
	"github.com/ladder-cmp/ladder/fleet"
)

// remoteHelmValues are the values that environments set for a chart that Argo CD renders itself.
type remoteHelmValues struct {
	ValueFiles []string               `yaml:"valueFiles,omitempty"`
	Parameters []argocd.HelmParameter `yaml:"parameters,omitempty"`
}

// remoteValues returns the values that an environment sets for a component whose chart Argo CD
// renders.
func remoteValues(c *fleet.Component, environment string) remoteHelmValues {
	var r remoteHelmValues
	v := c.Values[environment]
	for _, file := range v.Files {
		r.ValueFiles = append(r.ValueFiles, "$values"+file)
	}
	for _, name := range slices.Sorted(maps.Keys(v.Set)) {
		r.Parameters = append(r.Parameters, argocd.HelmParameter{Name: name, Value: v.Set[name]})
	}
	return r
}

// remoteEnvironments returns the values of environments for charts that Argo CD renders itself,
// by directory and environment, as JSON. They are fixed when the ApplicationSet is written.
func (w writer) remoteEnvironments() string {
	all := map[string]map[string]remoteHelmValues{}
	for _, c := range w.Components {
		if !c.Chart.Remote() || c.Vendored || !c.Differs() {
			continue
		}
		all[c.Dir] = map[string]remoteHelmValues{}
		for e := range c.Values {
			all[c.Dir][e] = remoteValues(c, e)
		}
	}
	if len(all) == 0 {
		return ""
	}
	return asJSON(all)
}
