package e2e_test

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ladder-cmp/ladder/e2e/argocd"
)

// fleet reads the components of testdata/fleet into one repository: an operator,
// a garden of its kind, and the Application of both.
func fleet(t *testing.T, name string) story {
	t.Helper()
	s := story{name: name, namespace: name, files: map[string]string{}, plugin: true}
	for _, dir := range []string{"parent", "operator", "garden"} {
		files, err := argocd.Files(filepath.Join("testdata", "fleet", dir), dir+"/")
		if err != nil {
			t.Fatal(err)
		}
		for file, text := range files {
			s.files[file] = strings.ReplaceAll(text, "NAMESPACE", name)
		}
	}
	return s
}

// at returns a component of the repository as a separate story.
func (s story) at(path string) story {
	s.path = path
	return s
}

// TestAppOfApps syncs an Application of Applications with waves: the second
// child is applied when everything in the first is healthy.
func TestAppOfApps(t *testing.T) {
	t.Parallel()
	s := fleet(t, "family")
	parent := s.at("parent")
	parent.source.Set = map[string]string{"server": here.cluster.URL, "repository": "not yet known"}
	g := raiseWith(t, parent, s.at("operator"), s.at("garden"))
	g.app.Sources[0].Set = map[string]string{"server": here.cluster.URL, "repository": g.repo.URL()}
	out := g.sync(t, hangTimeout)
	if out.Result != argocd.Synced {
		t.Fatalf("the sync: %s\n%s", out.Result, here.argo.Explain(out, g.waiting()))
	}
	g.after(t, "Garden.fleet.example.com "+g.namespace+"/back-yard", "Deployment.apps "+g.namespace+"/gardener")
	results.add(row{"fleet", "application of applications", waves(g.objs), out.Duration, string(out.Result)})
}

// TestSources syncs one Application with two sources. Each is rendered by itself, so
// that neither knows of the other: the wave that the owner wrote on the garden stays,
// and puts it behind the operator.
func TestSources(t *testing.T) {
	t.Parallel()
	s := fleet(t, "sources").at("garden")
	const file = "garden/garden.yaml"
	s.files[file] = strings.Replace(s.files[file], "metadata:\n", "metadata:\n  annotations: {argocd.argoproj.io/sync-wave: \"1\"}\n", 1)
	g := raiseWith(t, s, s.at("operator"))
	g.app.Sources = append(g.app.Sources, argocd.Source{RepoURL: g.repo.URL(), Path: "operator", Plugin: true})
	syncs(t, g, "fleet", "two sources")
	g.after(t, "Garden.fleet.example.com "+g.namespace+"/back-yard", "Deployment.apps "+g.namespace+"/gardener")
}

// TestApplicationSet lets an ApplicationSet roll two components out in steps.
func TestApplicationSet(t *testing.T) {
	t.Parallel()
	s := fleet(t, "rollout").at("operator")
	g := raiseWith(t, s, s.at("garden"))
	mark, err := here.cluster.Mark()
	if err != nil {
		t.Fatal(err)
	}
	g.mark = mark
	children := []string{g.name + "-operator", g.name + "-garden"}
	start := time.Now()
	set := applicationSet(g)
	t.Cleanup(func() { g.disband(t, set, children) })
	if err := here.argo.Kube().Apply(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	for _, child := range children {
		out, err := here.argo.Follow(t.Context(), child, start, argocd.Watch{HangTimeout: hangTimeout, Moving: g.waiting})
		if err != nil || out.Result != argocd.Synced {
			t.Fatalf("%s: %s %v\n%s", child, out.Result, err, here.argo.Explain(out, g.waiting()))
		}
	}
	g.after(t, "Garden.fleet.example.com "+g.namespace+"/back-yard", "Deployment.apps "+g.namespace+"/gardener")
	results.add(row{"fleet", "ApplicationSet in two steps", waves(g.objs), time.Since(start), "synced"})
}

// applicationSet makes an Application of each component, one step after the other.
func applicationSet(g *stage) *unstructured.Unstructured {
	element := func(name string) any { return map[string]any{"component": name} }
	step := func(name string) any {
		return map[string]any{"matchExpressions": []any{map[string]any{"key": "component", "operator": "In", "values": []any{name}}}}
	}
	set := newObject("argoproj.io/v1alpha1", "ApplicationSet", argocd.Namespace, g.name)
	set.Object["spec"] = map[string]any{
		"goTemplate": true,
		"generators": []any{map[string]any{"list": map[string]any{"elements": []any{element("operator"), element("garden")}}}},
		"strategy":   map[string]any{"type": "RollingSync", "rollingSync": map[string]any{"steps": []any{step("operator"), step("garden")}}},
		"template": map[string]any{
			"metadata": map[string]any{"name": g.name + "-{{.component}}", "labels": map[string]any{"component": "{{.component}}"}},
			"spec": map[string]any{
				"project": "default",
				"source": map[string]any{"repoURL": g.repo.URL(), "path": "{{.component}}", "targetRevision": "HEAD",
					"plugin": map[string]any{"name": "ladder"}},
				"destination": map[string]any{"server": here.cluster.URL, "namespace": g.namespace},
				"syncPolicy":  map[string]any{"automated": map[string]any{}},
			},
		},
	}
	return set
}

// disband removes an ApplicationSet and the Applications that it made, and leaves
// what they deployed to the cleaning of the stage.
func (g *stage) disband(t *testing.T, set *unstructured.Unstructured, children []string) {
	ctx, cancel := cleanupContext(t)
	defer cancel()
	if err := here.argo.Kube().Delete(ctx, set.GroupVersionKind(), set.GetNamespace(), set.GetName()); err != nil {
		t.Error(err)
	}
	for _, child := range children {
		if err := here.argo.Abandon(ctx, child); err != nil {
			t.Error(err)
		}
	}
}

// raiseWith brings a story on stage together with others of its repository.
func raiseWith(t *testing.T, s story, others ...story) *stage {
	t.Helper()
	all := []*unstructured.Unstructured{}
	for _, other := range others {
		objs, err := other.rendered(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, objs...)
	}
	s.beside = all
	return raise(t, s)
}

// after checks that one object was first applied after another had become
// healthy.
func (g *stage) after(t *testing.T, later, earlier string) {
	t.Helper()
	healthy, at := g.settled(t), g.firstApplied(t)
	switch since, known := healthy[earlier]; {
	case !known || at[later].IsZero():
		t.Errorf("%s or %s is not in the audit log; there is %v", later, earlier, slices.Sorted(maps.Keys(at)))
	case at[later].Before(since):
		t.Errorf("%s was applied at %s, before %s was healthy at %s", later, clock(at[later]), earlier, clock(since))
	}
}

// firstApplied is when each object was first applied.
func (g *stage) firstApplied(t *testing.T) map[string]time.Time {
	t.Helper()
	at := map[string]time.Time{}
	for _, a := range g.applies(t) {
		at[a.name] = a.at
	}
	return at
}
