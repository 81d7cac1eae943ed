package conformance

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	log "github.com/sirupsen/logrus"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/yaml"

	"github.com/argoproj/argo-cd/v3/applicationset/controllers/template"
	"github.com/argoproj/argo-cd/v3/applicationset/utils"
	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"

	"github.com/ladder-cmp/ladder/conformance/suite"
)

// hostile are component.yaml files that a tenant commits to get more than a name, a
// namespace and a phase of his own. In each of them, what is generated reaches another
// place, or stops the Applications of everybody else.
var hostile = map[string]string{
	"a sync option with a line break": `syncOptions: ["A=b\n  destination:\n    server: https://evil.example.com\n  source:\n    repoURL: ` +
		`https://evil.example.com/x.git\n    path: .\n#"]`,
	"a sync option that is a document": `syncOptions: ["A=b\n---\nspec: {source: {path: other}}"]`,
	"a sync option without a value":    `syncOptions: [Replace]`,
	"sync options that are a text":     `syncOptions: Replace=true`,
	"a sync option that is a mapping":  `syncOptions: [{Replace: true}]`,
	"sync options that are a number":   `syncOptions: 3`,
	"a chart's flags with line breaks": "chart:\n  repoURL: https://charts.example.com\n  chart: x\n" +
		"  ignoreMissingValueFiles: \"true\\n  destination: {server: https://evil.example.com}\\n#\"\n  skipCrds: \"x\\n  project: evil\"",
	"a chart's flags of other types": `chart: {repoURL: https://charts.example.com, chart: [x], skipCrds: {a: b}, ` +
		`ignoreMissingValueFiles: 3, version: [1], valueFiles: {a: b}}`,
	"a chart from another address":   `chart: {repoURL: https://evil.example.com/charts, chart: x, version: "1"}`,
	"a chart's path in another repo": `chart: {repoURL: https://evil.example.com/x.git, path: .}`,
	"a chart's address with a break": `chart: {repoURL: "https://charts.example.com\n", path: x}`,
	"a chart that is a text":         `chart: x`,
	"values files that are no texts": `chart: {repoURL: https://charts.example.com, chart: x, valueFiles: [3, {a: b}, "x\n- y"]}`,
	"a namespace with a line break":  `namespace: "x\n    server: https://evil.example.com"`,
	"a namespace that is a mapping":  `namespace: {server: https://evil.example.com}`,
	"a project":                      `project: evil`,
	"a project with a line break":    `project: "operators\n"`,
	"projects":                       `project: [operators]`,
	"a template in each text": `{name: "{{ .values }}", namespace: "{{ fail \"x\" }}", project: "{{ .x }}", ` +
		`labels: {"{{ .y }}": "{{ .z }}"}, syncOptions: ["{{ .a }}={{ .b }}"], rolloutPhase: "{{ .c }}"}`,
	"labels that direct the patch": `labels: {"$patch": replace, "$retainKeys": x, "$deleteFromPrimitiveList/finalizers": y}`,
	"labels that Argo CD reads": `labels: {argocd.argoproj.io/application-set-refresh: "true", rolloutPhase: "001", ` +
		`rollout-phase: "001", environment: evil}`,
	"labels of other types":  `labels: {a: {b: c}, d: [e], f: null, g: 3, h: "x\ny"}`,
	"labels that are a list": `labels: [a, b]`,
	"labels that are a text": `labels: x`,
	"keys that Argo CD makes": `{path: {path: components/other, basename: other}, values: {name: evil, namespace: evil, ` +
		`phase: "001", crds: only}, environment: {name: evil, cluster: https://evil.example.com, suffix: -evil, revision: evil}}`,
	"keys of Argo CD, of other types": `{path: x, values: [values-prod.yaml], environment: evil}`,
	"environments that are a number":  `environments: 3`,
	"environments that are a text":    `environments: dev`,
	"environments that are a mapping": `environments: {dev: true}`,
	"a phase that is a mapping":       `{rolloutPhase: {a: b}, wave: [1]}`,
	"a phase with many digits":        `rolloutPhase: 99999999999999999999999999`,
	"a name that is a mapping":        `{name: {a: b}, crds: {a: b}, crdsPhase: {a: b}}`,
	"parts of other types":            `{domain: {a: b}, tier: [c], componentType: "x\nspec: {}", dependencyPhase: 3}`,
	"settings that are chosen": `{server: https://evil.example.com, ` +
		`automated: {prune: false}, annotations: {argocd.argoproj.io/refresh: hard}, ignoreDifferences: [{kind: "*", jsonPointers: [/spec]}], ` +
		`managedNamespaceMetadata: {labels: {a: b}}, revisionHistoryLimit: 0, info: [{name: a, value: b}], retry: {limit: 99}}`,
	"settings of other types": `{server: [x], automated: [x], annotations: x, ignoreDifferences: {a: b}, managedNamespaceMetadata: 3, ` +
		`revisionHistoryLimit: x, info: x, retry: x}`,
	"the name of another":         `{name: far, namespace: web}`,
	"a release that is a mapping": `chart: {repoURL: https://charts.example.com, chart: x, releaseName: {a: b}}`,
	"fields of an Application": `{metadata: {finalizers: []}, ` +
		`spec: {project: evil}, source: {path: evil}, destination: {server: https://evil.example.com}, sources: [], syncPolicy: {}}`,
	"many Applications": "- {name: one, project: evil}\n- {name: two, namespace: \"x\\ny\"}\n- {name: three, syncOptions: [x]}",
	"no keys at all":    ``,
}

// TestHostileComponents: whatever a component.yaml says, Argo CD makes Applications
// of the fixed project, cluster and source, and those of all others stay as they were.
func TestHostileComponents(t *testing.T) {
	for _, set := range generated(t) {
		for name, text := range hostile {
			t.Run(set.fleet+"/"+name, func(t *testing.T) { set.attack(t, text) })
		}
	}
}

// FuzzHostileComponents looks for a component.yaml that breaks out.
func FuzzHostileComponents(f *testing.F) {
	for _, text := range hostile {
		f.Add(text)
	}
	sets := generated(f)
	f.Fuzz(func(t *testing.T, text string) {
		var one map[string]any
		if yaml.Unmarshal([]byte(text), &one) != nil {
			return // Argo CD reads mappings only
		}
		for _, set := range sets {
			set.attack(t, text)
		}
	})
}

// generatedSet is an ApplicationSet as it is committed, with the files that it reads.
type generatedSet struct {
	fleet string
	set   v1alpha1.ApplicationSet
	files map[string][]byte
	// victim is the component.yaml that is the tenant's.
	victim string
	// good are the Applications before the tenant's change, by name.
	good map[string]v1alpha1.Application
	// addresses are those of charts that the sets of the fleet have: the platform has
	// committed them for all of its components.
	addresses map[string]bool
}

func generated(t testing.TB) []*generatedSet {
	t.Helper()
	log.SetOutput(io.Discard) // Argo CD logs what it cannot read
	files, err := filepath.Glob("../../testdata/fleets/*/want.appset*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no ApplicationSet is generated", err)
	}
	var all []*generatedSet
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		addresses := map[string]bool{}
		for _, doc := range strings.Split(string(text), "\n---\n") {
			g := &generatedSet{addresses: addresses, fleet: filepath.Base(filepath.Dir(file)) + "/" + filepath.Base(file),
				files: map[string][]byte{}, good: map[string]v1alpha1.Application{}}
			if err := yaml.UnmarshalStrict([]byte(doc), &g.set); err != nil {
				t.Fatal(err)
			}
			g.read(t, filepath.Dir(file))
			for _, app := range g.generate(t) {
				g.good[app.Name] = app
				if f := fixedOf(t, app); f.Plugin == "helm" {
					addresses[f.RepoURL] = true
				}
			}
			all = append(all, g)
		}
	}
	return all
}

// read takes the component.yaml files of a fleet; the first that is deployed is the
// tenant's.
func (g *generatedSet) read(t testing.TB, dir string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(dir, "components"), func(p string, d os.DirEntry, err error) error {
		if err != nil || d.Name() != "component.yaml" {
			return err
		}
		rel, _ := filepath.Rel("../..", p)
		g.files[filepath.ToSlash(rel)], err = os.ReadFile(p)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, app := range g.generate(t) {
		if source := app.Spec.GetSource(); source.Path != "" && source.Plugin != nil {
			g.victim = source.Path + "/component.yaml"
			return
		}
	}
	t.Fatalf("%s: no component is rendered by the plugin", g.fleet)
}

// GetFiles ignores the pattern: all files are those of components.
func (g *generatedSet) getFiles(string) (map[string][]byte, error) { return g.files, nil }

func (g *generatedSet) generate(t testing.TB) []v1alpha1.Application {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	projects := fake.NewClientBuilder().WithScheme(scheme).WithObjects(project("default"), project("platform")).Build()
	apps, _, err := template.GenerateApplications(log.NewEntry(log.StandardLogger()), *g.set.DeepCopy(),
		makers(gitRepository(suite.GitFiles(g.getFiles))), &utils.Render{}, projects)
	if err != nil {
		t.Fatalf("one component stops all others: %v", err)
	}
	return apps
}

// fixed is what no component decides.
type fixed struct {
	Project, Server, Cluster, RepoURL, Path, Revision, Plugin, Namespace string
	Automated, SyncRetry                                                 string
	Annotations                                                          map[string]string
	Finalizers                                                           []string
}

func fixedOf(t testing.TB, app v1alpha1.Application) fixed {
	t.Helper()
	asText := func(v any) string {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	f := fixed{Project: app.Spec.Project, Server: app.Spec.Destination.Server, Cluster: app.Spec.Destination.Name, Namespace: app.Namespace,
		Annotations: app.Annotations, Finalizers: app.Finalizers}
	source := app.Spec.GetSource()
	if len(app.Spec.Sources) > 0 { // a chart from an address that the platform has committed
		f.RepoURL, f.Plugin = source.RepoURL, "helm"
	} else {
		f.RepoURL, f.Path, f.Revision, f.Plugin = source.RepoURL, source.Path, source.TargetRevision, source.Plugin.Name
	}
	if app.Spec.SyncPolicy != nil {
		f.Automated, f.SyncRetry = asText(app.Spec.SyncPolicy.Automated), asText(app.Spec.SyncPolicy.Retry)
	}
	return f
}

func (g *generatedSet) attack(t *testing.T, text string) {
	t.Helper()
	before := g.files[g.victim]
	g.files[g.victim] = []byte(text)
	defer func() { g.files[g.victim] = before }()
	projects := map[string]bool{}
	destinations := map[string]bool{}
	var own fixed
	for _, app := range g.good {
		f := fixedOf(t, app)
		projects[f.Project] = true
		destinations[f.Server+" "+f.Cluster+" "+f.Revision] = true
		if f.Plugin != "helm" && f.Path+"/component.yaml" == g.victim {
			own = f
		}
	}
	for _, app := range g.generate(t) {
		got := fixedOf(t, app)
		if was, there := g.good[app.Name]; there && !g.victims(was) && !g.victims(app) && len(app.Spec.Sources) == len(was.Spec.Sources) {
			if !reflect.DeepEqual(app, was) {
				t.Errorf("%s is another one:\n%s\nbefore:\n%s", app.Name, pretty(app), pretty(was))
			}
			continue
		}
		if got.Plugin == "helm" {
			if !g.addresses[got.RepoURL] {
				t.Errorf("%s: a chart comes from %s", app.Name, got.RepoURL)
			}
			got.RepoURL, got.Path, got.Revision, got.Plugin = own.RepoURL, own.Path, own.Revision, own.Plugin
		}
		if !projects[got.Project] {
			t.Errorf("%s: the project is %q", app.Name, got.Project)
		}
		if !destinations[got.Server+" "+got.Cluster+" "+got.Revision] {
			t.Errorf("%s: it goes to %q %q, from %q", app.Name, got.Server, got.Cluster, got.Revision)
		}
		got.Project, got.Server, got.Cluster, got.Revision = own.Project, own.Server, own.Cluster, own.Revision
		if !reflect.DeepEqual(got, own) {
			t.Errorf("%s:\n%+v, want\n%+v", app.Name, got, own)
		}
		g.labels(t, app)
	}
}

// victims reports whether an Application is the tenant's.
func (g *generatedSet) victims(app v1alpha1.Application) bool {
	for _, source := range app.Spec.GetSources() {
		if source.Path+"/component.yaml" == g.victim {
			return true
		}
	}
	return false
}

// labels that others go by are not the component's to choose.
func (g *generatedSet) labels(t *testing.T, app v1alpha1.Application) {
	t.Helper()
	for key := range g.set.Spec.Template.Labels {
		if _, there := app.Labels[key]; !there {
			t.Errorf("%s lacks the label %s", app.Name, key)
		}
	}
	if want := g.set.Spec.Template.Labels["environment"]; want != "" && app.Labels["environment"] == "evil" {
		t.Errorf("%s calls its environment %s", app.Name, app.Labels["environment"])
	}
	for key := range app.Labels {
		if strings.HasPrefix(key, "argocd.argoproj.io/") || strings.HasPrefix(key, "$") {
			t.Errorf("%s has the label %s", app.Name, key)
		}
	}
	if policy := app.Spec.SyncPolicy; policy != nil {
		for _, option := range policy.SyncOptions {
			if !strings.Contains(option, "=") {
				t.Errorf("%s has the sync option %q", app.Name, option)
			}
		}
	}
}

func pretty(v any) string {
	text, _ := json.MarshalIndent(v, "", "  ")
	return string(text)
}
