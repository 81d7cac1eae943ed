package doctor

import (
	"maps"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/object"
)

// layers are values files of the argo-cd chart; later ones take precedence. Helm
// merges mappings but not lists.
type layers []node

func (i *installation) readValues() {
	for _, v := range i.Values {
		i.values = append(i.values, node{Value: v.Root, file: v.File, first: 1, line: 1})
	}
	for _, role := range slices.Sorted(maps.Keys(chartKeys)) {
		i.workloads = append(i.workloads, i.values.workload(role, chartKeys[role]))
	}
	for _, t := range i.values.at("extraObjects").items() {
		group, _, ok := strings.Cut(t.Get("apiVersion").Text(), "/")
		if !ok {
			group = ""
		}
		id := object.ID{Group: group, Kind: t.Get("kind").Text(), Name: t.Get("metadata", "name").Text()}
		t.object = id.String()
		i.add(t, id)
	}
	for name, t := range i.values.at("configs", "cmp", "plugins").entries() {
		i.chartPlugins[name+".yaml"] = t
	}
}

// withInstallRemedy returns a finding whose remedy is the cmp install command that prints
// the values file with the missing part added. Findings outside values are unchanged.
func (i *installation) withInstallRemedy(f finding.Finding) finding.Finding {
	if !slices.ContainsFunc(i.values, func(v node) bool { return v.file == f.File }) {
		return f
	}
	file := f.File
	if file == finding.StandardInput {
		file = "-"
	}
	return withRemedy(f, "run cmp install --print values -f %s, which prints your values with the missing part added", file)
}

// chartKeys maps workloads to values of the chart.
var chartKeys = map[string]string{repoServer: "repoServer", controller: "controller", apiServer: "server", setsController: "applicationSet"}

// chartVolumes are the volumes that the chart adds to the repo-server's Pod.
var chartVolumes = []string{"plugins", "var-files", "tmp", "gpg-keyring", "helm-working-dir"}

// at returns the value in the last file that sets it.
func (l layers) at(keys ...string) node {
	for _, t := range slices.Backward(l) {
		if v := t.at(keys...); v.Exists() {
			return v
		}
	}
	if len(l) == 0 {
		return node{}
	}
	return l[len(l)-1].at(keys...)
}

// config returns a key of a ConfigMap that the chart creates from values.
func (l layers) config(name, key string) (node, bool) {
	under, ok := map[string]string{configMap: "cm", paramsMap: "params"}[name]
	if !ok || len(l) == 0 || l.at("configs", under, "create").Text() == "false" {
		return node{}, false
	}
	return l.at("configs", under, key), true
}

func (l layers) workload(role, key string) *workload {
	w := &workload{node: l.at(key), role: role, program: l.at(key), security: l.at("global", "securityContext"),
		gracePeriod:       l.at(key, "terminationGracePeriodSeconds"),
		containerSecurity: l.at(key, "containerSecurityContext"), volumes: map[string]volume{}}
	w.args = l.at(key, "extraArgs").items()
	w.env = append(l.at("global", "env").items(), l.at(key, "env").items()...)
	w.others = l.at(key, "extraContainers").items()
	for _, c := range l.at(key, "initContainers").items() {
		if c.Get("restartPolicy").Text() == "Always" {
			w.others = append(w.others, c)
		} else {
			w.initContainers = append(w.initContainers, c)
		}
	}
	for _, tag := range []node{l.at("global", "image", "tag"), l.at(key, "image", "tag")} {
		if tag.Exists() {
			w.image.tag, w.program = tag.Text(), tag
		}
	}
	for _, name := range chartVolumes {
		w.volumes[name] = volume{}
	}
	for _, v := range append(l.at("global", "extraVolumes").items(), l.at(key, "volumes").items()...) {
		w.volumes[v.name()] = volumeOf(v)
	}
	return w
}

// ChartValues returns the values for the argo-cd chart in a file, also below the key of a
// subchart; false if there are none.
func ChartValues(file string, text []byte) (Values, bool) {
	return valuesWith(ChartKeys, file, text)
}

// NamedValues is ChartValues for a file that a user names as values of the argo-cd chart. It
// may contain only keys that other charts have, too, such as "global".
func NamedValues(file string, text []byte) (Values, bool) {
	return valuesWith(slices.Concat(ChartKeys, sharedKeys), file, text)
}

func valuesWith(keys []string, file string, text []byte) (Values, bool) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil || len(doc.Content) == 0 {
		return Values{}, false
	}
	v := object.ValueOf(doc.Content[0])
	if v.Get("apiVersion").Exists() && v.Get("kind").Exists() {
		return Values{}, false
	}
	for _, v := range []object.Value{v, v.Get("argo-cd"), v.Get("argocd")} {
		if slices.ContainsFunc(keys, func(key string) bool { return v.Get(key).Exists() }) {
			return Values{File: file, Root: v}, true
		}
	}
	return Values{}, false
}

// IsOtherMapping reports whether a file starts with a mapping that is not a manifest.
func IsOtherMapping(text []byte) bool {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil || len(doc.Content) == 0 {
		return false
	}
	v := object.ValueOf(doc.Content[0])
	return v.IsMap() && !v.Get("apiVersion").Exists() && !v.Get("kind").Exists()
}

// sharedKeys are the other keys of the argo-cd chart, which do not identify it. Source: its
// values.yaml, version 10.1.1.
var sharedKeys = []string{"apiVersionOverrides", "commitServer", "crds", "createAggregateRoles", "createClusterRoles", "dex",
	"externalRedis", "extraObjects",
	"fullnameOverride", "global", "kubeVersionOverride", "nameOverride", "namespaceOverride", "notifications", "openshift",
	"redis", "redis-ha", "redisSecretInit"}

// ChartKeys are values that identify the argo-cd chart.
var ChartKeys = []string{"repoServer", "configs", "applicationSet", "controller", "server"}
