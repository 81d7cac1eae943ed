package knowledge

import (
	"slices"
	"strings"
	"testing"

	"github.com/ladder-cmp/ladder/object"
)

// TestPackages reads every record: names of packages and groups are of the right
// form, and a source says so.
func TestPackages(t *testing.T) {
	all := Default().packages().all
	catalogs := map[string]int{}
	seen := map[string]bool{}
	for _, p := range all {
		catalogs[p.Catalog]++
		if seen[p.Name] {
			t.Errorf("%s is there twice", p.Name)
		}
		seen[p.Name] = true
		if p.Name == "" || len(p.Installs) == 0 || !strings.HasPrefix(p.Source, "https://github.com/") {
			t.Errorf("%s: no name, nothing brought or no source", p.Name)
		}
		if _, known := Default().packages().platform[p.Catalog]; !known {
			t.Errorf("%s: unknown catalog %q", p.Name, p.Catalog)
		}
		for _, what := range p.Installs {
			group := what
			if kind, of, _ := strings.Cut(what, "."); kind != strings.ToLower(kind) {
				group = of
				if slices.Contains(p.Installs, group) {
					t.Errorf("%s brings all of %s, and %s besides", p.Name, group, what)
				}
			}
			if group != strings.ToLower(group) || !strings.Contains(group, ".") {
				t.Errorf("%s: %q is no group and no kind of one", p.Name, what)
			}
		}
	}
	for catalog, least := range map[string]int{"redhat-operators": 60, "certified-operators": 30, "community-operators": 60} {
		if catalogs[catalog] < least {
			t.Errorf("only %d packages of %s", catalogs[catalog], catalog)
		}
	}
}

func packageNames(all []Package) []string {
	var some []string
	for _, p := range all {
		some = append(some, p.Name)
	}
	return some
}

// TestBrought asks how kinds come to a cluster.
func TestBrought(t *testing.T) {
	tests := []struct {
		group, kind string
		platform    string
		packages    []string
	}{
		{"config.openshift.io", "ImageDigestMirrorSet", "openshift", nil},
		{"config.openshift.io", "Unknown", "openshift", nil}, // of the group
		{"operator.openshift.io", "CertManager", "", []string{"openshift-cert-manager-operator"}},
		{"operator.openshift.io", "Storage", "openshift", nil},
		{"operators.coreos.com", "CatalogSource", "openshift", nil},
		{"monitoring.coreos.com", "ServiceMonitor", "openshift", []string{"prometheus"}},
		{"kafka.strimzi.io", "Kafka", "", []string{"amq-streams", "cloudera-streams-messaging-kubernetes-operator", "strimzi-kafka-operator"}},
		{"argoproj.io", "ArgoCD", "", []string{"argocd-operator", "openshift-gitops-operator"}},
		{"argoproj.io", "Workflow", "", nil},
		{"quay.redhat.com", "QuayIntegration", "", []string{"quay-bridge-operator"}},
		{"hazelcast.com", "Hazelcast", "", []string{"hazelcast-platform-operator"}}, // a group without a file
		{"docks.example.com", "Crane", "", nil},
	}
	for _, tt := range tests {
		if platform, packages := Default().Origin(tt.group, tt.kind); platform != tt.platform ||
			!slices.Equal(packageNames(packages), tt.packages) {
			t.Errorf("%s.%s: platform %q, packages %q", tt.kind, tt.group, platform, packageNames(packages))
		}
	}
}

// TestPackagesOfUsers adds packages, and takes the place of one.
func TestPackagesOfUsers(t *testing.T) {
	b, err := Default().With("ladder.yaml", `
platform: openshift
packages:
- {package: crane-operator, catalog: docks, brings: [docks.example.com, Lamp.light.example.com]}
- {package: amq-streams, brings: [kafka.example.com]}
`)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		group, kind string
		packages    []string
	}{
		{"docks.example.com", "Crane", []string{"crane-operator"}},
		{"light.example.com", "Lamp", []string{"crane-operator"}},
		{"light.example.com", "Beacon", nil},
		{"kafka.example.com", "Kafka", []string{"amq-streams"}},
		{"core.strimzi.io", "StrimziPodSet", []string{"cloudera-streams-messaging-kubernetes-operator", "strimzi-kafka-operator"}},
	} {
		if _, packages := b.Origin(tt.group, tt.kind); !slices.Equal(packageNames(packages), tt.packages) {
			t.Errorf("%s.%s: packages %q", tt.kind, tt.group, packageNames(packages))
		}
	}
	if b.Platform() != "openshift" || Default().Platform() != "" {
		t.Errorf("platform %q, and without the file %q", b.Platform(), Default().Platform())
	}
	_, err = Default().With("ladder.yaml", `
platform: Openshift
packages:
- {brings: [docks.example.com]}
- {package: crane-operator}
- {package: a, brings: [b.example.com]}
- {package: a, brings: [c.example.com]}
`)
	for _, want := range []string{`ladder.yaml:2: platform: `, `ladder.yaml:4: packages[0]: missing key "package"`,
		`ladder.yaml:5: packages[1]: missing key "brings", what the package installs`, "ladder.yaml:7: packages[3]: duplicate package a"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in\n%v", want, err)
		}
	}
}

// TestShows asks which objects show where they are to run.
func TestShows(t *testing.T) {
	for text, want := range map[string]string{
		"{apiVersion: config.openshift.io/v1, kind: OAuth, metadata: {name: a}}":               "openshift",
		"{apiVersion: route.openshift.io/v1, kind: Route, metadata: {name: a}}":                "openshift",
		"{apiVersion: operator.openshift.io/v1alpha1, kind: CertManager, metadata: {name: a}}": "", // of an operator
		"{apiVersion: monitoring.coreos.com/v1, kind: ServiceMonitor, metadata: {name: a}}":    "", // everywhere
		"{apiVersion: operators.coreos.com/v1alpha1, kind: Subscription, metadata: {name: a}, " +
			"spec: {name: a, source: redhat-operators}}": "openshift",
		"{apiVersion: operators.coreos.com/v1alpha1, kind: Subscription, metadata: {name: a}, " +
			"spec: {name: a, source: operatorhubio-catalog}}": "",
		"{apiVersion: operators.coreos.com/v1alpha1, kind: Subscription, metadata: {name: a}, " +
			"spec: {name: rhacs-operator, source: of-our-company}}": "",
		"{apiVersion: operators.coreos.com/v1, kind: OperatorGroup, metadata: {name: a}}": "",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}":                          "",
	} {
		objects, err := object.Parse("a.yaml", 0, text)
		if err != nil {
			t.Fatal(err)
		}
		if got := Default().RequiredPlatform(objects[0]); got != want {
			t.Errorf("%s shows %q, want %q", text, got, want)
		}
	}
}
