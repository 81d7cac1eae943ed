package steps_test

import (
	"strings"
	"testing"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/fleettest"
	"github.com/ladder-cmp/ladder/fleet/steps"
)

const (
	// ciliumChart is a kustomization with a chart of which only the record is known.
	ciliumChart = "resources: [route.yaml]\n" +
		"helmCharts: [{name: cilium, repo: \"https://helm.cilium.io/\", version: 1.18.2, releaseName: cilium, namespace: kube-system}]\n"
	route    = "{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: hubble-ui, namespace: kube-system}, spec: {}}\n"
	routeCRD = `---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: httproutes.gateway.networking.k8s.io}
spec: {group: gateway.networking.k8s.io, scope: Namespaced, names: {kind: HTTPRoute, plural: httproutes}}
`
	// calico is an operator on the network of its node, with the object of which it makes the
	// network.
	calico = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: installations.operator.tigera.io}
spec: {group: operator.tigera.io, scope: Cluster, names: {kind: Installation, plural: installations}}
---
{apiVersion: operator.tigera.io/v1, kind: Installation, metadata: {name: default}, spec: {calicoNetwork: {}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: tigera-operator}
spec:
  selector: {matchLabels: {a: o}}
  template:
    metadata: {labels: {a: o}}
    spec: {hostNetwork: true, tolerations: [{operator: Exists}], containers: [{name: o, image: "quay.io/tigera/operator:v1.40.0"}]}
`
)

func deployment(name string) string {
	return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: " + name + "}\nspec:\n  selector: {matchLabels: {a: " +
		name + "}}\n  template:\n" +
		"    metadata: {labels: {a: " + name + "}}\n    spec: {containers: [{name: c, image: \"" + name + ":1\"}]}\n"
}

// TestPodNetworkFirst: whatever shows what the Pod network is, nothing that has Pods on it comes
// before, unless its owners or the profile say so.
func TestPodNetworkFirst(t *testing.T) {
	open := "fleet: {profile: waves, name: x, repoURL: \"https://git.example.com/x.git\", bands: [{name: all, from: 0, to: 9, why: test}]}\n"
	places := "fleet: {profile: waves, name: x, repoURL: \"https://git.example.com/x.git\"}\n"
	at := func(name, domain, step string) string {
		return strings.Replace(fleettest.Described(name, domain, step), "domain: \n", "", 1)
	}
	tests := []struct {
		name, settings string
		files          map[string]string
		want           string
	}{
		{"a chart by its record, with a route of a kind that another component defines", open, map[string]string{
			"cilium/component.yaml": at("cilium", "", "1"), "cilium/kustomization.yaml": ciliumChart, "cilium/route.yaml": route,
			"envoy/component.yaml": at("envoy", "", "0"), "envoy/a.yaml": deployment("envoy") + routeCRD,
			"db/component.yaml": at("db", "", "0"), "db/a.yaml": deployment("db"),
		}, "cilium 0, db 0, envoy 1"},
		{"a chart by its record in a registry, before any step is set", open, map[string]string{
			"flannel/component.yaml": "name: flannel\nnamespace: kube-flannel\n" +
				"chart: {repoURL: \"https://flannel-io.github.io/flannel/\", chart: flannel, version: v0.27.0}\n",
			"db/component.yaml": at("db", "", ""), "db/a.yaml": deployment("db"),
		}, "db 0, flannel 0"},
		{"an operator that makes the network", open, map[string]string{
			"calico/component.yaml": at("calico", "", "4"), "calico/a.yaml": calico,
			"db/component.yaml": at("db", "", "2"), "db/a.yaml": deployment("db"),
			"web/component.yaml": at("web", "", "3"),
			"web/a.yaml":         strings.ReplaceAll(deployment("web"), "spec: {", "spec: {hostNetwork: true, tolerations: [{operator: Exists}], "),
		}, "calico 2, db 2, web 3"},
		{"a DaemonSet whose directories are those of k3s", open, map[string]string{
			"cni/component.yaml": at("cni", "", "3"),
			"cni/a.yaml":         strings.Replace(fleettest.PodNetwork, "/etc/cni/net.d", "/var/lib/rancher/k3s/agent/etc/cni/net.d", 1),
			"db/component.yaml":  at("db", "", "1"), "db/a.yaml": deployment("db"),
		}, "cni 1, db 1"},
		{"owners whose network exists before Argo CD", places, map[string]string{
			"local-path/component.yaml": at("local-path", "storage", "-3"), "local-path/a.yaml": deployment("local-path") +
				"---\n{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: local}, provisioner: local}\n",
			"cni/component.yaml": at("cni", "network", "-1"), "cni/a.yaml": fleettest.PodNetwork,
		}, "cni -1, local-path -3"},
		{"a profile whose places for storage are before that of the network", places, map[string]string{
			"nfs/component.yaml": "name: nfs\nnamespace: nfs\ndomain: storage\n" +
				"chart: {repoURL: \"https://charts.example.com\", chart: csi-driver-nfs, version: 4.0.0}\n",
			"cni/component.yaml": at("cni", "network", ""), "cni/a.yaml": fleettest.PodNetwork,
		}, "cni -1, nfs -3"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.files["ladder.yaml"] = tt.settings
			p := steps.Compute(fleettest.Files(t, tt.files, fleet.Source{Assume: true}), steps.Options{})
			got := map[string]string{}
			for _, row := range p.Steps {
				got[row.Name] = row.Name + " " + row.Computed.Text
			}
			var all []string
			for _, item := range strings.Split(tt.want, ", ") {
				name, _, _ := strings.Cut(item, " ")
				all = append(all, got[name])
			}
			if list := strings.Join(all, ", "); list != tt.want {
				t.Errorf("got %s, want %s\n%s", list, tt.want, fleettest.Lines(p.Findings))
			}
			for _, found := range p.Findings {
				if found.Rule != "cycle" && found.Rule != "no-step" {
					t.Errorf("unexpected: %s", found.Error())
				}
			}
		})
	}
}
