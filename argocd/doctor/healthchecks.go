package doctor

import (
	"maps"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// customizations begins the keys of argocd-cm about kinds.
const customizations = "resource.customizations"

// ArgoCDOf returns which health checks an Argo CD has: its release, from the tag of an image,
// and the checks in argocd-cm. What the manifests do not show is zero.
func ArgoCDOf(objs []object.Object) knowledge.ArgoCD {
	i := read(Input{Objects: objs})
	var a knowledge.ArgoCD
	for _, role := range []string{controller, repoServer, apiServer} {
		for _, w := range i.workloadsOf(role) {
			if r, ok := knowledge.ReleaseOf(w.image.tag); ok && a.Release == (knowledge.Release{}) {
				a.Release = r
			}
		}
	}
	if slices.ContainsFunc(slices.Collect(maps.Keys(i.maps)), func(key mapKey) bool { return key.name == configMap }) {
		a.Checks = checkedKinds(i.entries())
	}
	return a
}

// checkedKinds returns the patterns of the kinds with a health check, as in Argo CD's
// util/settings/settings.go (GetResourceOverrides): a key for each kind, or, in the old form,
// one key with a mapping.
func checkedKinds(entries map[string]node) []string {
	kinds := []string{}
	for key, value := range entries {
		if name, ok := strings.CutPrefix(key, customizations+".health."); ok && value.Text() != "" {
			kinds = append(kinds, strings.Replace(name, "_", "/", 1))
		}
	}
	var old map[string]struct {
		Health string `yaml:"health.lua"`
	}
	if err := yaml.Unmarshal([]byte(entries[customizations].Text()), &old); err == nil {
		for kind, customized := range old {
			if customized.Health != "" {
				kinds = append(kinds, kind)
			}
		}
	}
	slices.Sort(kinds)
	return kinds
}
