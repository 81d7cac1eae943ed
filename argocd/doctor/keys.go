package doctor

import (
	_ "embed"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/internal/finding"
)

// checkDuplicateKeys reports duplicate keys of values, and of workloads and ConfigMaps
// of Argo CD: the first is ignored.
func (i *installation) checkDuplicateKeys() (all []finding.Finding) {
	roots := slices.Clone([]node(i.values))
	for _, w := range i.workloads {
		if w.isComplete {
			roots = append(roots, w.node)
		}
	}
	for key, m := range i.maps {
		if slices.Contains([]string{configMap, paramsMap}, key.name) {
			roots = append(roots, m)
		}
	}
	for _, t := range roots {
		for _, k := range t.DuplicateKeys() {
			at := t.inner(k.Value, joined(k.Path, k.Key))
			if t.first == 0 { // its lines are in no file
				all = append(all, at.fault("duplicate key %s: the first value is lost", k.Key))
				continue
			}
			at.line = t.first + k.Lines[1] - 1
			all = append(all, at.fault("duplicate key %s on lines %d and %d: the first value is lost", k.Key, t.first+k.Lines[0]-1, at.line))
		}
	}
	return all
}

// knownChartKeys lists the keys of the argo-cd chart below the checked keys. Source: its
// values.yaml, version 10.1.1.
var knownChartKeys = []struct{ parent, keys string }{
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

// checkUnknownValues reports keys of values that are unknown to the chart and similar to
// a known one. Others may belong to another version.
func (i *installation) checkUnknownValues() (all []finding.Finding) {
	for _, layer := range i.values {
		for _, has := range knownChartKeys {
			keys := strings.Fields(has.keys)
			t := layer
			if has.parent != "" {
				t = layer.at(has.parent)
			}
			for key, v := range t.entries() {
				if slices.Contains(keys, key) {
					continue
				}
				if suggestion := finding.Suggest(key, keys); suggestion != "" {
					all = append(all, v.fault("unknown value %q: the argo-cd chart ignores it", key).Asking(suggestion))
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
	return slices.DeleteFunc(strings.Split(strings.TrimSpace(paramsText), "\n"), func(line string) bool {
		return strings.HasPrefix(line, "#")
	})
}

// checkUnknownSettings checks the keys of each complete part of Argo CD against what it
// reads, and those in values against all known keys.
func (i *installation) checkUnknownSettings() (all []finding.Finding) {
	prefixes := map[string]string{"reposerver.": repoServer, "controller.": controller, "server.": apiServer,
		"applicationsetcontroller.": setsController}
	known := params()
	var parts []string
	for _, key := range known {
		part, _, _ := strings.Cut(key, ".")
		parts = append(parts, part)
	}
	slices.Sort(parts)
	parts = slices.Compact(parts)
	check := func(name string, v node, reads func(role string) []string) {
		for prefix, role := range prefixes {
			if !strings.HasPrefix(name, prefix) {
				continue
			}
			if read := reads(role); len(read) > 0 && !slices.Contains(read, name) {
				all = append(all, v.fault("unknown key %q: the %s does not read it", name, role).Asking(finding.Suggest(name, read)))
			}
			return
		}
		part, _, _ := strings.Cut(name, ".")
		if suggestion := finding.Suggest(part, parts); suggestion != "" && !slices.Contains(parts, part) {
			all = append(all, v.fault("unknown key %q: no component of Argo CD reads it", name).Asking(suggestion))
		}
	}
	for key, m := range i.maps {
		if key.name != paramsMap {
			continue
		}
		for name, v := range m.at("data").entries() {
			v.field = "data." + name
			check(name, v, i.keysUsedBy)
		}
	}
	for _, layer := range i.values {
		for name, v := range layer.at("configs", "params").entries() {
			if name != "create" && name != "annotations" { // those belong to the chart
				check(name, v, func(role string) []string {
					return slices.DeleteFunc(slices.Clone(known), func(key string) bool { return prefixes[key[:strings.Index(key, ".")+1]] != role })
				})
			}
		}
	}
	return all
}
