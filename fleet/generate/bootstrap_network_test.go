package generate_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/fleettest"
	"github.com/ladder-cmp/ladder/fleet/generate"
	"github.com/ladder-cmp/ladder/internal/finding"
)

// cni provides the Pod network, with an operator and a relay besides.
const cni = fleettest.PodNetwork + `
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: operator}
spec:
  replicas: 2
  selector: {matchLabels: {a: operator}}
  template:
    metadata: {labels: {a: operator}}
    spec:
      hostNetwork: true
      tolerations: [{operator: Exists}]
      affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {a: operator}}}]}}
      containers: [{name: c, image: operator}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: relay, annotations: {argocd.argoproj.io/sync-wave: "-5"}}
spec:
  selector: {matchLabels: {a: relay}}
  template:
    metadata: {labels: {a: relay}}
    spec: {containers: [{name: c, image: relay}]}
`

// TestNetworkFirst: a storage provisioner stands before the network, as in a real fleet,
// and its Pods start only behind it; nothing waits for a second operator on one node.
func TestNetworkFirst(t *testing.T) {
	provisioner := `
apiVersion: apps/v1
kind: Deployment
metadata: {name: provisioner}
spec:
  selector: {matchLabels: {a: p}}
  template:
    metadata: {labels: {a: p}}
    spec: {containers: [{name: c, image: p}]}
---
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: local}, provisioner: local}
`
	f := fleettest.Files(t, map[string]string{
		"local-path/component.yaml": fleettest.Described("local-path", "foundation", "110"), "local-path/p.yaml": provisioner,
		"cni/component.yaml": fleettest.Described("cni", "foundation", "120"), "cni/c.yaml": cni,
		"crds/component.yaml": fleettest.Described("crds", "foundation", "100"), "crds/c.yaml": fleettest.CertificateCRD,
	}, fleet.Source{})
	made, notes, err := generate.NewBootstrap(f, generate.BootstrapOptions{Until: component.Step{Number: 130, Set: true}})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(made.Script()[strings.LastIndex(made.Script(), "}\n"):]) {
		if word, _, _ := strings.Cut(line, " "); word == "apply" || word == "ready" || word == "one" {
			command, _, _ := strings.Cut(strings.TrimSpace(line), " #")
			lines = append(lines, command)
		}
	}
	want := []string{
		"apply 00-crds.yaml",
		"ready wait --for=condition=Established customresourcedefinition.apiextensions.k8s.io/certificates.cert-manager.io",
		"apply 01-cni-1.yaml",
		"apply 02-cni-2.yaml",
		"ready rollout status daemonset.apps/agent --namespace=cni",
		"one deployment.apps/operator --namespace=cni",
		"ready rollout status deployment.apps/relay --namespace=cni",
		"apply 03-local-path.yaml",
		"ready rollout status deployment.apps/provisioner --namespace=local-path",
	}
	if !slices.Equal(lines, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
	if !slices.ContainsFunc(notes, func(n finding.Finding) bool {
		return strings.HasPrefix(n.Message, "local-path is applied after cni, the Pod network")
	}) {
		t.Errorf("nothing says that local-path has moved: %v", notes)
	}
	only, _, err := generate.NewBootstrap(f, generate.BootstrapOptions{Only: []string{"cni"}})
	if err != nil || len(only.Steps) != 2 || !strings.HasPrefix(only.Steps[0].Name, "00-cni") {
		t.Errorf("--only cni: %v, %v", only.Steps, err)
	}
	skipped, _, err := generate.NewBootstrap(f, generate.BootstrapOptions{Until: component.Step{Number: 130, Set: true},
		Skip: []string{"cni"}})
	if err != nil || len(skipped.Steps) != 2 {
		t.Errorf("--skip cni: %v, %v", skipped.Steps, err)
	}
}

// TestNetworkOfAnOperator: the object of which Calico's operator makes the network is ready before
// anything waits for Pods on it, and where nothing provides a network, a note says what waits for it.
func TestNetworkOfAnOperator(t *testing.T) {
	const calico = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: installations.operator.tigera.io}
spec: {group: operator.tigera.io, scope: Cluster, names: {kind: Installation, plural: installations}}
---
{apiVersion: operator.tigera.io/v1, kind: Installation, metadata: {name: default}, spec: {calicoNetwork: {}}}
`
	files := map[string]string{
		"db/component.yaml": fleettest.Described("db", "foundation", "110"),
		"db/d.yaml": strings.Replace(strings.ReplaceAll(fleettest.CertManager[strings.LastIndex(fleettest.CertManager,
			"---"):], "cm", "db"), "serviceAccountName: db, ", "", 1),
		"calico/component.yaml": fleettest.Described("calico", "foundation", "120"), "calico/c.yaml": calico,
	}
	made, notes, err := generate.NewBootstrap(fleettest.Files(t, files, fleet.Source{}),
		generate.BootstrapOptions{Until: component.Step{Number: 130, Set: true}})
	if err != nil {
		t.Fatal(err)
	}
	script := made.Script()
	network, db := strings.Index(script, "condition=Ready nodes --all"), strings.Index(script, "deployment.apps/db")
	if network < 0 || db < network {
		t.Errorf("db is waited for before the network:\n%s", script[strings.LastIndex(script, "}\n"):])
	}
	if len(notes) != 1 || !strings.Contains(notes[0].Message, ", the Pod network, although its step is not later") {
		t.Errorf("the notes are %v", notes)
	}
	delete(files, "calico/component.yaml")
	delete(files, "calico/c.yaml")
	_, notes, err = generate.NewBootstrap(fleettest.Files(t, files, fleet.Source{}), generate.BootstrapOptions{})
	if err != nil || len(notes) != 1 || !strings.Contains(notes[0].Message, "none of these components is known to provide one") {
		t.Errorf("without a network, the notes are %v, %v", notes, err)
	}
}

// TestBootstrapCheck: what was written and what Argo CD syncs now are compared by what
// they say.
func TestBootstrapCheck(t *testing.T) {
	files := map[string]string{"cni/component.yaml": fleettest.Described("cni", "foundation", "120"), "cni/c.yaml": cni,
		"crds/component.yaml": fleettest.Described("crds", "foundation", "100"), "crds/c.yaml": fleettest.CertificateCRD}
	// Two groups have a kind of the same name.
	const vipers = "{apiVersion: a.example.com/v1, kind: Viper, metadata: {name: one}, spec: {fangs: 2}}\n---\n" +
		"{apiVersion: b.example.com/v1, kind: Viper, metadata: {name: one}}\n"
	files["cni/vipers.yaml"] = vipers
	until := generate.BootstrapOptions{Until: component.Step{Number: 130, Set: true}}
	bootstrap := func() generate.Bundle {
		made, _, err := generate.NewBootstrap(fleettest.Files(t, files, fleet.Source{}), until)
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	written := bootstrap().Files(true)
	if found := bootstrap().Check(written); len(found) > 0 {
		t.Errorf("nothing has changed: %v", found)
	}
	files["cni/c.yaml"] = strings.Replace(cni, "image: operator", "image: operator:2", 1)
	files["cni/vipers.yaml"] = strings.Replace(vipers, "fangs: 2", "fangs: 4", 1)
	delete(files, "crds/component.yaml")
	delete(files, "crds/c.yaml")
	var got []string
	for _, found := range bootstrap().Check(written) {
		got = append(got, found.Object+": "+found.Message)
	}
	want := []string{
		"Deployment cni/operator: the bootstrapped object differs from what Argo CD syncs",
		"Viper cni/one: the bootstrapped object differs from what Argo CD syncs",
		"CustomResourceDefinition certificates.cert-manager.io: the bootstrap contains this object, but Argo CD does not sync it",
		": the inline manifests differ from what Argo CD syncs",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
