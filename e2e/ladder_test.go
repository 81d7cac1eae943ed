package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ladder-cmp/ladder/e2e/argocd"
)

// components are the directories with the components of the project.
func components(t *testing.T) map[string]string {
	t.Helper()
	dirs := map[string]string{}
	for _, parent := range []string{filepath.Join(here.root, "testdata", "components"), filepath.Join("testdata", "components")} {
		entries, err := os.ReadDir(parent)
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			if entry.IsDir() {
				dirs[entry.Name()] = filepath.Join(parent, entry.Name())
			}
		}
	}
	return dirs
}

// overlays are components that build on another folder, which has to be in the
// repository with them.
var overlays = map[string]string{"bookshelf-prod": "bookshelf"}

// load reads a component of the project as the story of a case.
func load(t *testing.T, suite, name, dir string) story {
	t.Helper()
	s, err := component(suite+"-"+name, dir)
	if err != nil {
		t.Fatal(err)
	}
	if base, ok := overlays[name]; ok {
		files, err := argocd.Files(filepath.Join(filepath.Dir(dir), base), base+"/")
		if err != nil {
			t.Fatal(err)
		}
		for name, text := range files {
			s.files[name] = text
		}
	}
	return s
}

// TestLadderOrderSyncs deploys components as a team does, by naming the plugin:
// the first sync succeeds at the first attempt, in the order of the waves, and
// nothing that is gated comes before what gates it.
func TestLadderOrderSyncs(t *testing.T) {
	t.Parallel()
	for name, dir := range components(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := raise(t, load(t, "ladder", name, dir))
			syncs(t, g, "ladder", name)
		})
	}
}

// syncs syncs the stage, and checks what Ladder promises.
func syncs(t *testing.T, g *stage, suite, name string) {
	t.Helper()
	wait := hangTimeout
	if g.hopeless() {
		wait = shortHangTimeout
	}
	promised(t, g, row{suite: suite, component: name}, g.sync(t, wait))
}

// promised checks the end of a sync, and what was applied when.
func promised(t *testing.T, g *stage, r row, out argocd.Outcome) {
	t.Helper()
	r.waves, r.took = waves(g.objs), out.Duration
	gates := 0
	defer func() {
		r.result = fmt.Sprintf("%s, %d gates held%s", out.Result, gates, r.result)
		if t.Failed() {
			r.result = "FAILED: " + string(out.Result)
		}
		results.add(r)
	}()
	if out.Result == argocd.Unhealthy && g.waitsForEver(out.Status) {
		out.Result = "synced, waits as it must"
	} else if out.Result != argocd.Synced {
		t.Errorf("the sync: %s\n%s", out.Result, here.argo.Explain(out, g.waiting()))
		return
	}
	if retries := out.Status.OperationState.RetryCount; retries != 0 {
		t.Errorf("it took %d retries", retries)
	}
	all := g.applies(t)
	none(t, outOfOrder(all))
	gates = g.gated(t, all)
	g.stays(t)
}

// none reports faults.
func none(t *testing.T, faults []string) {
	t.Helper()
	for _, fault := range faults {
		t.Error(fault)
	}
}

// forEver are objects that are never healthy in any order, because nothing uses
// them yet. Ladder puts them last, so that nothing waits for them.
var forEver = []string{"PersistentVolumeClaim ladder-volumes/reports", "PersistentVolumeClaim off-volumes/reports"}

// waitsForEver reports whether all that is unhealthy is what cannot be healthy.
func (g *stage) waitsForEver(status argocd.Status) bool {
	for _, r := range status.Resources {
		name := identity(schema.GroupKind{Group: r.Group, Kind: r.Kind}, r.Namespace, r.Name)
		if !r.Hook && (r.Status != "Synced" || r.Health != nil && r.Health.Status != "Healthy" && !slices.Contains(forEver, name)) {
			return false
		}
	}
	return g.hopeless()
}

// hopeless reports whether the story has an object that is never healthy.
func (g *stage) hopeless() bool {
	return slices.ContainsFunc(g.objs, func(obj *unstructured.Unstructured) bool { return slices.Contains(forEver, nameOf(obj)) })
}

// stays checks that nothing is out of sync after a refresh.
func (g *stage) stays(t *testing.T) {
	t.Helper()
	if status := g.compared(t); status.Sync.Status != "Synced" {
		t.Errorf("after the sync:\n%s", status.Describe())
	}
}

// compared makes Argo CD render a story again, and returns the resulting status.
func (g *stage) compared(t *testing.T) argocd.Status {
	t.Helper()
	if err := here.argo.Refresh(t.Context(), g.name); err != nil {
		t.Fatal(err)
	}
	status, err := here.argo.Status(t.Context(), g.name)
	if err != nil {
		t.Fatal(err)
	}
	return status
}

// TestCorpus does the same with manifests that other tools have rendered, from
// the folder that E2E_CORPUS names: "cmp render -" orders them, and they are
// committed as plain YAML.
func TestCorpus(t *testing.T) {
	dir := os.Getenv("E2E_CORPUS")
	if dir == "" {
		t.Log("E2E_CORPUS names no folder, so that there is nothing to do")
		return
	}
	t.Parallel()
	files, err := corpus(dir)
	if err != nil {
		t.Fatal(err)
	}
	faults, err := readFaults()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			namespace := namespaceOf(t, text)
			ordered, err := program(t.Context(), text, "render", "-", "--namespace", namespace)
			if err != nil {
				t.Fatal(err)
			}
			g := raise(t, manifests("corpus-"+strings.ToLower(name), namespace, ordered))
			if own, ok := faults[name]; ok {
				own.holds(t, g, name)
				return
			}
			out, given := g.syncGiving(t)
			r := row{suite: "corpus", component: name}
			if len(given) > 0 {
				r.result = ", given " + strings.Join(given, ", ")
			}
			promised(t, g, r, out)
		})
	}
}
