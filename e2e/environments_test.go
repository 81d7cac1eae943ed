package e2e_test

import (
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ladder-cmp/ladder/e2e/argocd"
)

// TestEnvironments rolls out two environments of one cluster below a parent, and
// before them what the cluster has once: the definitions of an operator, which
// are an Application of their own, and the operator. It does so with the
// ApplicationSets and with the Applications that cmp fleet apps writes.
func TestEnvironments(t *testing.T) {
	for name, written := range map[string]func(*testing.T, *argocd.Repository, ...string) map[string]string{
		"steps": func(t *testing.T, _ *argocd.Repository, args ...string) map[string]string {
			text, err := program(t.Context(), "", args...)
			if err != nil {
				t.Fatal(err)
			}
			return map[string]string{"argocd/sets.yaml": text}
		},
		"waves": func(t *testing.T, repo *argocd.Repository, args ...string) map[string]string {
			out := filepath.Join(repo.Dir, "argocd")
			if _, err := program(t.Context(), "", append(args, "--out", out)...); err != nil {
				t.Fatal(err)
			}
			files, err := argocd.Files(out, "argocd/")
			if err != nil {
				t.Fatal(err)
			}
			delete(files, "argocd/root.yaml")          // the harness has a parent of its own,
			delete(files, "argocd/kustomization.yaml") // and that a plain directory
			return files
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := environments(t, "env-"+name)
			g := raise(t, s)
			files := written(t, g.repo, "fleet", "apps", "--style", name, filepath.Join(g.repo.Dir, "components"), "--repo-url",
				g.repo.URL(), "--revision", "main")
			maps.Copy(files, s.files)
			g.commit(t, files)
			children := []string{s.name + "-operator-crds", s.name + "-operator", s.name + "-garden-dev", s.name + "-garden-prod"}
			t.Cleanup(func() { g.abandon(t, files["argocd/sets.yaml"], children) })
			start := time.Now()
			out := g.sync(t, hangTimeout)
			if out.Result != argocd.Synced {
				t.Fatalf("the parent: %s\n%s\n%s", out.Result, here.argo.Explain(out, g.waiting()), g.rolling(t.Context(), children))
			}
			for _, child := range children {
				out, err := here.argo.Follow(t.Context(), child, start, argocd.Watch{HangTimeout: hangTimeout, Moving: g.waiting})
				if err != nil || out.Result != argocd.Synced {
					t.Fatalf("%s: %s %v\n%s", child, out.Result, err, here.argo.Explain(out, g.waiting()))
				}
				if out.Status.OperationState.RetryCount > 0 {
					t.Errorf("%s was synced at attempt %d", child, out.Status.OperationState.RetryCount+1)
				}
			}
			operator := "Deployment.apps " + s.name + "/gardener"
			if first, since := g.firstApplied(t)[operator], established(t, "gardens.fleet.example.com"); first.Before(since) {
				t.Errorf("%s was applied at %s, before its definition was established at %s", operator, clock(first), clock(since))
			}
			for _, environment := range []string{"dev", "prod"} {
				g.after(t, "Garden.fleet.example.com "+s.name+"-"+environment+"/back-yard", operator)
			}
			results.add(row{"fleet", "two environments of a cluster, by cmp fleet " + name, waves(g.objs), time.Since(start), "synced"})
		})
	}
}

// environments is the fleet in testdata/environments: what its components render
// to is in the namespaces of the environments.
func environments(t *testing.T, name string) story {
	t.Helper()
	files, err := argocd.Files(filepath.Join("testdata", "environments"), "")
	if err != nil {
		t.Fatal(err)
	}
	for file, text := range files {
		files[file] = strings.NewReplacer("NAMESPACE", name, "SERVER", here.cluster.URL).Replace(text)
	}
	s := story{name: name, namespace: name, files: files, path: "argocd", ready: []*unstructured.Unstructured{}}
	for component, namespaces := range map[string][]string{"operator": {name}, "garden": {name + "-dev", name + "-prod"}} {
		for _, namespace := range namespaces {
			c := story{name: name, namespace: namespace, files: files, path: "components/" + component, plugin: true}
			objs, err := c.rendered(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, obj := range objs {
				obj.SetNamespace(namespace)
			}
			s.ready = append(s.ready, objs...)
		}
	}
	return s
}

// established is when the API server began to serve a kind.
func established(t *testing.T, definition string) time.Time {
	t.Helper()
	crd, err := here.argo.Kube().Get(t.Context(),
		newObject("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "").GroupVersionKind(), "", definition)
	if err != nil {
		t.Fatal(err)
	}
	conditions, _, _ := unstructured.NestedSlice(crd.Object, "status", "conditions")
	for _, c := range conditions {
		if c := c.(map[string]any); c["type"] == "Established" && c["status"] == "True" {
			at, err := time.Parse(time.RFC3339, c["lastTransitionTime"].(string))
			if err != nil {
				t.Fatal(err)
			}
			return at
		}
	}
	t.Fatalf("%s is not established", definition)
	return time.Time{}
}

// abandon removes Applications, after the ApplicationSets that would make them
// again, and leaves what they deployed to the cleaning of the stage.
func (g *stage) abandon(t *testing.T, sets string, children []string) {
	ctx, cancel := cleanupContext(t)
	defer cancel()
	if err := here.argo.Abandon(ctx, g.name); err != nil {
		t.Error(err)
	}
	all, err := objects(sets)
	if err != nil {
		t.Error(err)
	}
	for _, set := range all {
		g.disband(t, set, nil)
	}
	for _, child := range children {
		if err := here.argo.Abandon(ctx, child); err != nil {
			t.Error(err)
		}
	}
}
