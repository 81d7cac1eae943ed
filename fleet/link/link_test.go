package link_test

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/fleet/fleettest"
	"github.com/ladder-cmp/ladder/fleet/link"
	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// links finds the links between components, by the names of their files, and writes them as
// "from strength to". Of a component.yaml, it reads the namespace and the chart.
func links(t *testing.T, files map[string]string) []string {
	t.Helper()
	base := knowledge.Default()
	names := slices.Sorted(maps.Keys(files))
	var apps []link.Contents
	var of []string
	for _, name := range names {
		dir, file := path.Split(name)
		if file != component.File {
			continue
		}
		var described struct {
			Namespace string
			Chart     component.Chart
		}
		if err := yaml.Unmarshal([]byte(files[name]), &described); err != nil {
			t.Fatal(err)
		}
		objects, err := object.Parse(dir+"a.yaml", 1, files[dir+"a.yaml"])
		if err != nil {
			t.Fatal(err)
		}
		app := link.Contents{File: name, Parts: []graph.Part{{Objects: objects, Namespace: cmp.Or(described.Namespace, "default")}}}
		if known, ok := base.Chart(described.Chart.RepoURL, described.Chart.Chart); ok {
			app.Charts = []knowledge.Chart{known}
		}
		apps, of = append(apps, app), append(of, path.Base(dir))
	}
	_, found, err := link.Find(apps, base)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, l := range found {
		all = append(all, of[l.From]+" "+l.Strength().String()+" "+of[l.To])
	}
	slices.Sort(all)
	return all
}

const claim = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {storageClassName: CLASS, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: app}
spec:
  selector: {matchLabels: {a: app}}
  template:
    metadata: {labels: {a: app}}
    spec: {containers: [{name: c, image: app}], volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]}
`

func chart(repo, name string) string {
	return "namespace: " + name + "\nchart: {repoURL: " + repo + ", chart: " + name + ", version: 1.0.0}\n"
}

const (
	dns         = "https://kubernetes-sigs.github.io/external-dns/"
	endpoint    = "{apiVersion: externaldns.k8s.io/v1alpha1, kind: DNSEndpoint, metadata: {name: a}, spec: {}}"
	certificate = "{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: a}, spec: {secretName: a}}"
)

// gatewayClass is a class of Traefik.
func gatewayClass(name string) string {
	return "{apiVersion: gateway.networking.k8s.io/v1, kind: GatewayClass, metadata: {name: " + name +
		"}, spec: {controllerName: traefik.io/gateway-controller}}"
}

// awsProvider is a package of Crossplane, with its ProviderConfig.
func awsProvider(of string) string {
	return "{apiVersion: pkg.crossplane.io/v1, kind: Provider, metadata: {name: aws-" + of +
		"}, spec: {package: xpkg.upbound.io/upbound/provider-aws-" +
		of + ":v1.0.0}}\n---\n{apiVersion: aws.upbound.io/v1beta1, kind: ProviderConfig, metadata: {name: " + of + "}, spec: {}}\n"
}

// TestLinksOfCharts: of a chart in a registry is known what comes with it, what
// it needs, and for which classes it answers.
func TestLinksOfCharts(t *testing.T) {
	everything := strings.NewReplacer("[cert-manager.io]", `["*"]`, "certificates/status", `"*"`, "[certificates]", `["*"]`,
		"[update]", `["*"]`, "[list, watch]", `["*"]`).Replace(fleettest.CertManager)
	tests := []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{"what a chart needs is defined by one component and reconciled by another", map[string]string{
			"otel/component.yaml":    chart("https://open-telemetry.github.io/opentelemetry-helm-charts", "opentelemetry-operator"),
			"cm-crds/component.yaml": "name: cm-crds", "cm-crds/a.yaml": fleettest.CertificateCRD,
			"cm/component.yaml": "namespace: cm", "cm/a.yaml": fleettest.CertManager,
		}, []string{"cm healthy cm-crds", "otel healthy cm", "otel healthy cm-crds"}},
		{"a chart without its definitions reconciles all the same", map[string]string{
			"cm/component.yaml":      chart("https://charts.jetstack.io", "cert-manager"),
			"cm-crds/component.yaml": "name: cm-crds", "cm-crds/a.yaml": fleettest.CertificateCRD,
			"app/component.yaml": "namespace: app",
			"app/a.yaml":         "{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: a}, spec: {secretName: a}}",
		}, []string{"app applied cm-crds", "app healthy cm"}},
		{"definitions come from the chart that is for them", map[string]string{
			"kagent/component.yaml":      chart("oci://ghcr.io/kagent-dev/kagent/helm", "kagent"),
			"kagent-crds/component.yaml": chart("oci://ghcr.io/kagent-dev/kagent/helm", "kagent-crds"),
			"agent/component.yaml":       "namespace: app", "agent/a.yaml": "{apiVersion: kagent.dev/v1alpha2, kind: Agent, metadata: {name: a}}",
		}, []string{"agent applied kagent-crds", "agent healthy kagent", "kagent healthy kagent-crds"}},
		{"a class comes with a chart", map[string]string{
			"longhorn/component.yaml": chart("https://charts.longhorn.io", "longhorn"),
			"app/component.yaml":      "namespace: app", "app/a.yaml": strings.ReplaceAll(claim, "CLASS", "longhorn"),
		}, []string{"app healthy longhorn"}},
		{"who uses a class needs the program that it asks for, the class does not", map[string]string{
			"longhorn/component.yaml": chart("https://charts.longhorn.io", "longhorn"),
			"classes/component.yaml":  "namespace: app",
			"classes/a.yaml": "{apiVersion: storage.k8s.io/v1, kind: StorageClass, " +
				"metadata: {name: fast}, provisioner: driver.longhorn.io}",
			"app/component.yaml": "namespace: app", "app/a.yaml": strings.ReplaceAll(claim, "CLASS", "fast"),
		}, []string{"app exists classes", "app healthy longhorn"}},
		{"who may do everything does not reconcile what others define", map[string]string{
			"admin/component.yaml": "namespace: cm", "admin/a.yaml": everything,
			"cm-crds/component.yaml": "name: cm-crds", "cm-crds/a.yaml": fleettest.CertificateCRD,
			"app/component.yaml": "namespace: app",
			"app/a.yaml":         "{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: a}, spec: {secretName: a}}",
		}, []string{"app applied cm-crds"}},
		{"what belongs to Argo CD is there, whoever keeps its definitions", map[string]string{
			"argocd/component.yaml": "namespace: argocd",
			"argocd/a.yaml": strings.NewReplacer("cert-manager.io", "argoproj.io", "Certificate", "AppProject",
				"certificates", "appprojects").Replace(fleettest.CertificateCRD),
			"projects/component.yaml": "namespace: argocd",
			"projects/a.yaml":         "{apiVersion: argoproj.io/v1alpha1, kind: AppProject, metadata: {name: a}}",
		}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := links(t, tt.files); !slices.Equal(got, tt.want) {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

// TestOwnKinds: a component that bundles what serves a kind does not depend on another that does, too.
func TestOwnKinds(t *testing.T) {
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{"each release of a chart serves its own kinds", map[string]string{
			"a/component.yaml": chart(dns, "external-dns"), "a/a.yaml": endpoint,
			"b/component.yaml": chart(dns, "external-dns"), "b/a.yaml": endpoint,
			"user/component.yaml": "namespace: user", "user/a.yaml": endpoint,
		}, []string{"user applied a", "user applied b"}},
		{"a release of a chart and one whose manifests are there serve their own kinds", map[string]string{
			"a/component.yaml": chart("https://charts.jetstack.io", "cert-manager"), "a/a.yaml": certificate,
			"b/component.yaml": "namespace: cm", "b/a.yaml": fleettest.CertificateCRD + "---" + fleettest.CertManager + "---\n" + certificate,
		}, nil},
		{"two operators with their own CRDs", map[string]string{
			"a/component.yaml": "namespace: cm", "a/a.yaml": fleettest.CertificateCRD + "---" + fleettest.CertManager + "---\n" + certificate,
			"b/component.yaml": "namespace: other", "b/a.yaml": fleettest.CertificateCRD + "---" +
				strings.NewReplacer("name: cm", "name: other", "namespace: cm", "namespace: other",
					"Name: cm", "Name: other").Replace(fleettest.CertManager) + "---\n" + certificate,
		}, nil},
		{"a chart that needs kinds which come with it does not need those of another", map[string]string{
			"a/component.yaml": chart("https://open-telemetry.github.io/opentelemetry-helm-charts", "opentelemetry-operator"),
			"a/a.yaml":         fleettest.CertificateCRD, "b/component.yaml": chart("https://charts.jetstack.io", "cert-manager"),
		}, nil},
		{"two providers of Crossplane that install the same kinds", map[string]string{
			"a/component.yaml": "namespace: a", "a/a.yaml": awsProvider("s3"), "b/component.yaml": "namespace: b", "b/a.yaml": awsProvider("sqs"),
		}, nil},
		{"each release of a chart provides its own class", map[string]string{
			"a/component.yaml": chart("https://traefik.github.io/charts", "traefik"), "a/a.yaml": gatewayClass("a"),
			"b/component.yaml": chart("https://traefik.github.io/charts", "traefik"), "b/a.yaml": gatewayClass("b"),
		}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := links(t, tt.files); !slices.Equal(got, tt.want) {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}
