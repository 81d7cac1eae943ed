// Package fleettest has fleets for tests: those in testdata/fleets, fleets of files that a test
// writes, and fleets that are not rendered.
package fleettest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/profile"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// Objects of components.
const (
	ConfigMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	// InDefault is an object with a namespace.
	InDefault = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}}\n"
	// CertificateCRD is a CRD of cert-manager.
	CertificateCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: certificates.cert-manager.io}
spec: {group: cert-manager.io, scope: Namespaced, names: {kind: Certificate, plural: certificates}}
`
	// CertManager is cert-manager with what it may do.
	CertManager = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: cm}
rules:
- {apiGroups: [cert-manager.io], resources: [certificates], verbs: [list, watch]}
- {apiGroups: [cert-manager.io], resources: [certificates/status], verbs: [update]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: cm}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cm}
subjects: [{kind: ServiceAccount, name: cm, namespace: cm}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: cm}
spec:
  selector: {matchLabels: {a: cm}}
  template:
    metadata: {labels: {a: cm}}
    spec: {serviceAccountName: cm, containers: [{name: c, image: cm}]}
`
	// PodNetwork provides the Pod network.
	PodNetwork = `
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {a: agent}}
  template:
    metadata: {labels: {a: agent}}
    spec:
      hostNetwork: true
      tolerations: [{operator: Exists}]
      containers: [{name: c, image: agent}]
      volumes: [{name: cni, hostPath: {path: /etc/cni/net.d}}]
`
)

// allowed are the AppProjects that components of a fleet may choose from.
var allowed = map[string][]string{"rollout": {"operators", "team's \"own\""}, "tiers": {"apps", "data-services", "platform-storage"}}

// root returns the directory of the repository.
func root(t *testing.T) string {
	t.Helper()
	for dir := "."; ; dir = filepath.Join("..", dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		} else if !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
}

// Dir returns the directory of a fleet in testdata/fleets.
func Dir(t *testing.T, name string) string {
	t.Helper()
	return filepath.Join(root(t), "testdata", "fleets", name)
}

// Names returns the names of the fleets in testdata/fleets.
func Names(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(Dir(t, "*"), "ladder.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatal("no fleet", err)
	}
	var names []string
	for _, file := range files {
		names = append(names, filepath.Base(filepath.Dir(file)))
	}
	return names
}

// Load loads a fleet of testdata/fleets, where one may use the charts of another.
func Load(t *testing.T, name string) *fleet.Fleet {
	t.Helper()
	return load(t, fleet.Source{
		Repo: os.DirFS(Dir(t, "")), Dirs: []string{name + "/components"}, Projects: allowed[name], Assume: true,
		Show: func(path string) string { return strings.TrimPrefix(path, name+"/") },
	})
}

// InRepository loads a fleet of testdata/fleets by its path in the repository, which is what its
// Applications name.
func InRepository(t *testing.T, name string) *fleet.Fleet {
	t.Helper()
	return load(t, fleet.Source{Repo: os.DirFS(root(t)), Dirs: []string{"testdata/fleets/" + name + "/components"}, Projects: allowed[name]})
}

// InPlace loads the fleet of Applications in testdata/fleets/inplace.
func InPlace(t *testing.T) *fleet.Fleet {
	t.Helper()
	return load(t, fleet.Source{Repo: os.DirFS(root(t)), Dirs: []string{"testdata/fleets/inplace"}, InPlace: true, Assume: true})
}

// Files loads a fleet of files in components, with a ladder.yaml that says where Argo CD finds it.
func Files(t *testing.T, files map[string]string, src fleet.Source) *fleet.Fleet {
	t.Helper()
	repo := fstest.MapFS{"ladder.yaml": {Data: []byte("fleet: {name: web, project: tenants, repoURL: https://git.example.com/web.git}\n")}}
	for name, text := range files {
		repo["components/"+name] = &fstest.MapFile{Data: []byte(text)}
	}
	src.Repo, src.Dirs = repo, []string{"components"}
	return load(t, src)
}

func load(t *testing.T, src fleet.Source) *fleet.Fleet {
	t.Helper()
	f, err := fleet.Load(t.Context(), src, knowledge.Default())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Described returns a component.yaml; without a step if that is empty.
func Described(name, domain, step string) string {
	text := "name: " + name + "\nnamespace: " + name + "\ndomain: " + domain + "\n"
	if step != "" {
		text += "rolloutPhase: " + step + "\n"
	}
	return text
}

// Lines returns findings with their rules, one on each line.
func Lines(all []finding.Finding) string {
	var b strings.Builder
	for _, f := range all {
		fmt.Fprintf(&b, "%s %s %s\n", f.Severity, f.Rule, f.Error())
	}
	return b.String()
}

// Texts returns findings as users see them, one on each line.
func Texts(all []finding.Finding) string {
	var b strings.Builder
	for _, f := range all {
		fmt.Fprintf(&b, "%s: %s\n", f.Severity, f.Error())
	}
	return b.String()
}

// Unrendered is a fleet that is not rendered, to which a test adds Applications and links.
type Unrendered struct {
	t *testing.T
	*fleet.Fleet
}

// WithProfile returns an empty fleet with a built-in profile.
func WithProfile(t *testing.T, name string) Unrendered {
	t.Helper()
	p, err := profile.Builtin(name)
	if err != nil {
		t.Fatal(err)
	}
	return Empty(t, p)
}

// Empty returns an empty fleet.
func Empty(t *testing.T, p profile.Profile) Unrendered {
	return Unrendered{t, &fleet.Fleet{Profile: p}}
}

// App adds an Application; a step below 0 is none.
func (u Unrendered) App(name, domain, rung string, step int) *fleet.Application {
	c := &fleet.Component{Description: component.Description{Name: name, Domain: domain}, Dir: name,
		File: name + "/component.yaml", Described: true}
	if step >= 0 {
		c.RolloutPhase = component.Step{Number: step, Text: u.Profile.Write(step), Set: true}
	}
	app := &fleet.Application{Component: c, Name: name, Step: c.RolloutPhase, Rung: rung, RungWhy: "Thing " + name}
	u.Components = append(u.Components, c)
	u.Applications = append(u.Applications, app)
	return app
}

// Needs adds a link.
func (u Unrendered) Needs(from, to string, strength fleet.Strength, inferred bool) {
	at := func(name string) int {
		i := slices.IndexFunc(u.Applications, func(a *fleet.Application) bool { return a.Name == name })
		if i < 0 {
			u.t.Fatalf("no %s", name)
		}
		return i
	}
	r := fleet.Reason{Strength: strength, Inferred: inferred, From: object.ID{Kind: "Thing", Name: from},
		To: object.ID{Kind: "Thing", Name: to}, Why: "needs"}
	u.Links = append(u.Links, fleet.Link{From: at(from), To: at(to), Reasons: []fleet.Reason{r}})
}
