package doctor

import (
	"cmp"
	_ "embed"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/internal/finding"
)

// doubledKey reports duplicate keys of values, and of Argo CD's ConfigMaps: the
// first is ignored.
func (i *installation) doubledKey() (all []finding.Finding) {
	looked := slices.Clone([]thing(i.values))
	for _, w := range i.workloads {
		if w.whole {
			looked = append(looked, w.thing)
		}
	}
	for key, m := range i.maps {
		if slices.Contains([]string{configMap, paramsMap}, key.name) {
			looked = append(looked, m)
		}
	}
	for _, t := range looked {
		for _, k := range t.DuplicateKeys() {
			at := t.inner(k.Value, joined(k.Path, k.Key))
			if t.first == 0 { // its lines are in no file
				all = append(all, at.fault("duplicate key %s: the first value is lost", k.Key))
				continue
			}
			at.line = t.first + k.Lines[1] - 1
			all = append(all, at.fault("duplicate key %s in lines %d and %d: the first value is lost", k.Key, t.first+k.Lines[0]-1, at.line))
		}
	}
	return all
}

// chartHas lists the keys of the argo-cd chart below the checked keys. Source: its
// values.yaml, version 10.1.1.
var chartHas = []struct{ below, keys string }{
	{"", `
		nameOverride fullnameOverride namespaceOverride kubeVersionOverride apiVersionOverrides
		createAggregateRoles createClusterRoles openshift crds global configs extraObjects controller dex
		redis redis-ha externalRedis redisSecretInit server repoServer applicationSet notifications
		commitServer`},
	{"repoServer", `
		name replicas runtimeClassName autoscaling pdb vpa image imagePullSecrets extraArgs env envFrom
		lifecycle extraContainers initContainers copyutil volumeMounts volumes existingVolumes emptyDir
		useEphemeralHelmWorkingDir deploymentAnnotations deploymentLabels podAnnotations podLabels resources
		containerPorts hostNetwork dnsConfig dnsPolicy containerSecurityContext readinessProbe livenessProbe
		startupProbe terminationGracePeriodSeconds nodeSelector tolerations affinity
		topologySpreadConstraints deploymentStrategy priorityClassName certificateSecret service metrics
		clusterRoleRules automountServiceAccountToken serviceAccount rbac networkPolicy`},
	{"configs", `
		cm params rbac gpg ssh tls cmp clusterCredentials credentialTemplates credentialTemplatesAnnotations
		repositories repositoriesAnnotations secret styles`},
}

// unreadValue reports keys that are unknown to the chart and similar to a known
// one. Others may belong to another version.
func (i *installation) unreadValue() (all []finding.Finding) {
	for _, layer := range i.values {
		for _, has := range chartHas {
			keys := strings.Fields(has.keys)
			t := layer
			if has.below != "" {
				t = layer.at(has.below)
			}
			for key, v := range t.entries() {
				if slices.Contains(keys, key) {
					continue
				}
				remedy := near(key, keys)
				if remedy != "" {
					all = append(all, instead(v.fault("unknown value %q: the argo-cd chart ignores it", key), "%s", remedy))
				}
			}
		}
	}
	return all
}

//go:embed params.txt
var paramsText string

// params returns the keys of argocd-cmd-params-cm that Argo CD reads.
func params() []string {
	return slices.DeleteFunc(strings.Split(strings.TrimSpace(paramsText), "\n"), func(line string) bool { return strings.HasPrefix(line, "#") })
}

// unreadSetting checks the keys of each complete part of Argo CD against what it
// reads, and those in values against all known keys.
func (i *installation) unreadSetting() (all []finding.Finding) {
	prefixes := map[string]string{"reposerver.": repoServer, "controller.": controller, "server.": apiServer, "applicationsetcontroller.": setsController}
	known := params()
	var parts []string
	for _, key := range known {
		part, _, _ := strings.Cut(key, ".")
		parts = append(parts, part)
	}
	slices.Sort(parts)
	parts = slices.Compact(parts)
	look := func(name string, v thing, reads func(role string) []string) {
		for prefix, role := range prefixes {
			if !strings.HasPrefix(name, prefix) {
				continue
			}
			if read := reads(role); len(read) > 0 && !slices.Contains(read, name) {
				all = append(all, instead(v.fault("unknown key %q: the %s does not read it", name, role), "%s", cmp.Or(near(name, read), "correct the key; docs/operator-manual/argocd-cmd-params-cm.yaml of Argo CD lists all keys")))
			}
			return
		}
		part, _, _ := strings.Cut(name, ".")
		if meant := near(part, parts); meant != "" && !slices.Contains(parts, part) {
			all = append(all, instead(v.fault("unknown key %q: no component of Argo CD reads it", name), "%s", meant))
		}
	}
	for key, m := range i.maps {
		if key.name != paramsMap {
			continue
		}
		for name, v := range m.at("data").entries() {
			v.field = "data." + name
			look(name, v, i.readKeys)
		}
	}
	for _, layer := range i.values {
		for name, v := range layer.at("configs", "params").entries() {
			if name != "create" && name != "annotations" { // those belong to the chart
				look(name, v, func(role string) []string {
					return slices.DeleteFunc(slices.Clone(known), func(key string) bool { return prefixes[key[:strings.Index(key, ".")+1]] != role })
				})
			}
		}
	}
	return all
}
