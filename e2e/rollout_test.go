package e2e_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/ladder-cmp/ladder/e2e/argocd"
)

// TestRollout rolls whole fleets out with the ApplicationSets that cmp fleet
// appset writes for them: every Application is synced at its first attempt, and no
// step begins before the one before it has ended. Each fleet wants a lab of its
// own (make e2e-fleets): Argo CD judges new Applications by what it remembers of
// objects that have just gone, finds them Synced, and passes them over.
func TestRollout(t *testing.T) {
	for _, fleet := range []string{"bands", "tiers"} {
		t.Run(fleet, func(t *testing.T) { rollOut(t, fleet) })
	}
}

// member is a component of a fleet.
type member struct {
	dir string // in the repository
	described
}

// described is what a component.yaml says, as far as the harness looks.
type described struct {
	Name      string `json:"name"`
	Project   string `json:"project"`
	Namespace string `json:"namespace"`
	Enabled   *bool  `json:"enabled"`
}

func rollOut(t *testing.T, name string) {
	ctx := t.Context()
	s := story{name: "fleet-" + name, namespace: "fleet-" + name, files: fleetFiles(t, name), path: "."}
	members := s.members(t, name)
	s.ready = s.memberObjects(t, members)
	g := raise(t, s)
	mark, err := here.cluster.Mark()
	if err != nil {
		t.Fatal(err)
	}
	g.mark = mark
	args := []string{"fleet", "apps", "--style", "steps", filepath.Join(g.repo.Dir, name, "components"), "--repo-url",
		g.repo.URL(), "--revision", "main"}
	for _, project := range projects(members) {
		args = append(args, "--allow-project", project.GetName())
	}
	text, err := program(ctx, "", args...)
	if err != nil {
		t.Fatal(err)
	}
	sets, err := objects(text)
	if err != nil || len(sets) != 1 {
		t.Fatalf("%d objects, %v", len(sets), err)
	}
	var children []string
	for _, m := range members {
		children = append(children, m.Name)
	}
	for _, project := range projects(members) {
		if err := here.argo.Kube().Apply(ctx, project); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			ctx, cancel := cleanupContext(t)
			defer cancel()
			if err := here.argo.Kube().Delete(ctx, project.GroupVersionKind(), project.GetNamespace(), project.GetName()); err != nil {
				t.Error(err)
			}
		})
	}
	start := time.Now()
	t.Cleanup(func() { g.disband(t, sets[0], children) })
	if err := here.argo.Kube().Apply(ctx, sets[0]); err != nil {
		t.Fatal(err)
	}
	statuses := map[string]argocd.Status{}
	for _, child := range children {
		out, err := here.argo.Follow(ctx, child, start, argocd.Watch{HangTimeout: longHangTimeout, Moving: func() string {
			return g.rolling(ctx, children)
		}})
		if err != nil || out.Result != argocd.Synced {
			t.Fatalf("%s: %s %v\n%s\n%s", child, out.Result, err, g.rolling(ctx, children), here.argo.Explain(out, g.waiting()))
		}
		if out.Status.OperationState.RetryCount > 0 {
			t.Errorf("%s was synced at attempt %d", child, out.Status.OperationState.RetryCount+1)
		}
		statuses[child] = out.Status
	}
	g.inSteps(t, sets[0], statuses)
	results.add(row{"fleet", fmt.Sprintf("%s: %d Applications in %d steps", name, len(children), len(stepsOf(sets[0]))), waves(g.objs),
		time.Since(start), "synced"})
}

// fleetFiles are the files of a fleet, with those of others that it shares, as
// this cluster has them: one environment, which is the cluster.
func fleetFiles(t *testing.T, name string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, dir := range []string{"bands", "tiers"} {
		files, err := argocd.Files(filepath.Join(here.root, "testdata", "fleets", dir), dir+"/")
		if err != nil {
			t.Fatal(err)
		}
		for file, text := range files {
			all[file] = text
		}
	}
	var settings map[string]any
	if err := yaml.Unmarshal([]byte(all[name+"/ladder.yaml"]), &settings); err != nil {
		t.Fatal(err)
	}
	fleet := settings["fleet"].(map[string]any)
	delete(fleet, "environments")
	fleet["server"] = here.cluster.URL
	text, err := yaml.Marshal(settings)
	if err != nil {
		t.Fatal(err)
	}
	all[name+"/ladder.yaml"] = string(text)
	return all
}

// members are the components of a fleet that are deployed.
func (s story) members(t *testing.T, fleet string) []member {
	t.Helper()
	var all []member
	for file, text := range s.files {
		if !strings.HasPrefix(file, fleet+"/components/") || filepath.Base(file) != "component.yaml" {
			continue
		}
		m := member{dir: filepath.Dir(file)}
		if err := yaml.Unmarshal([]byte(text), &m.described); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if m.Enabled == nil || *m.Enabled {
			all = append(all, m)
		}
	}
	slices.SortFunc(all, func(x, y member) int { return strings.Compare(x.Name, y.Name) })
	return all
}

// memberObjects is what the components render to, each in its namespace.
func (s story) memberObjects(t *testing.T, members []member) []*unstructured.Unstructured {
	t.Helper()
	dir := t.TempDir()
	for name, text := range s.files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var all []*unstructured.Unstructured
	for _, m := range members {
		text, err := program(t.Context(), "", "render", filepath.Join(dir, m.dir))
		if err != nil {
			t.Fatal(err)
		}
		objs, err := objects(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, obj := range objs {
			if obj.GetNamespace() == "" {
				obj.SetNamespace(m.Namespace)
			}
		}
		all = append(all, objs...)
	}
	scopes := map[schema.GroupKind]bool{}
	for _, obj := range all {
		if isDefinition(obj) {
			gk, scope := definedBy(obj)
			scopes[gk] = scope == "Namespaced"
		}
	}
	for _, obj := range all {
		gk := obj.GroupVersionKind().GroupKind()
		namespaced, known := scopes[gk]
		if !known {
			namespaced, known = here.native[gk]
		}
		if known && !namespaced || !known && here.clusterScoped(gk, &stage{story: s}) {
			obj.SetNamespace("")
		}
	}
	return all
}

// projects are those that components are in, each of which allows everything.
func projects(members []member) []*unstructured.Unstructured {
	var all []*unstructured.Unstructured
	seen := map[string]bool{"": true, "default": true}
	for _, m := range members {
		if seen[m.Project] {
			continue
		}
		seen[m.Project] = true
		project := newObject("argoproj.io/v1alpha1", "AppProject", argocd.Namespace, m.Project)
		project.Object["spec"] = map[string]any{
			"sourceRepos":              []any{"*"},
			"destinations":             []any{map[string]any{"server": "*", "namespace": "*"}},
			"clusterResourceWhitelist": []any{map[string]any{"group": "*", "kind": "*"}},
		}
		all = append(all, project)
	}
	return all
}

// rolling describes the progress of a rollout, to help find out why it stopped.
func (g *stage) rolling(ctx context.Context, children []string) string {
	var b strings.Builder
	for _, child := range children {
		s, err := here.argo.Status(ctx, child)
		if err != nil {
			continue // not yet made
		}
		phase := ""
		if s.OperationState != nil {
			phase = s.OperationState.Phase
		}
		if s.Sync.Status != "Synced" || s.Health.Status != "Healthy" {
			fmt.Fprintf(&b, "%s: %s %s %s\n", child, s.Sync.Status, s.Health.Status, phase)
		}
	}
	return b.String() + g.waiting()
}

// stepsOf are the values that the steps of an ApplicationSet select, without the
// last, which is for all others.
func stepsOf(set *unstructured.Unstructured) (all []selection) {
	steps, _, _ := unstructured.NestedSlice(set.Object, "spec", "strategy", "rollingSync", "steps")
	for _, step := range steps {
		for _, e := range step.(map[string]any)["matchExpressions"].([]any) {
			expression := e.(map[string]any)
			if expression["operator"] != "In" {
				continue
			}
			s := selection{key: expression["key"].(string)}
			for _, v := range expression["values"].([]any) {
				s.values = append(s.values, v.(string))
			}
			all = append(all, s)
		}
	}
	return all
}

type selection struct {
	key    string
	values []string
}

// inSteps checks that no Application of a step was synced before all those of the
// step before were in sync and healthy, which the ApplicationSet notes when it sees
// it. Argo CD does not wait for the end of a sync, such as hooks that still run.
func (g *stage) inSteps(t *testing.T, set *unstructured.Unstructured, statuses map[string]argocd.Status) {
	t.Helper()
	healthy := g.healthySince(t, set)
	done := 0
	var ended time.Time
	last := ""
	for _, step := range stepsOf(set) {
		began, end, first, final := time.Time{}, time.Time{}, "", ""
		for child, s := range statuses {
			app, err := here.argo.Kube().Get(t.Context(), argocd.ApplicationKind, argocd.Namespace, child)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Contains(step.values, app.GetLabels()[step.key]) {
				continue
			}
			done++
			if at := s.OperationState.StartedAt; first == "" || at.Before(began) {
				began, first = at, child
			}
			at, known := healthy[child]
			if !known {
				t.Errorf("the ApplicationSet says nothing of %s", child)
			}
			if final == "" || at.After(end) {
				end, final = at, child
			}
		}
		if first == "" {
			t.Errorf("nobody is in step %v", step.values)
			continue
		}
		if began.Before(ended) {
			t.Errorf("%s of step %v began at %s, before %s was healthy at %s", first, step.values, clock(began), last, clock(ended))
		}
		ended, last = end, final
	}
	if done != len(statuses) {
		t.Errorf("%d Applications are in steps, and there are %d", done, len(statuses))
	}
}

// healthySince is when each Application of an ApplicationSet became healthy. All of
// them must be healthy.
func (g *stage) healthySince(t *testing.T, set *unstructured.Unstructured) map[string]time.Time {
	t.Helper()
	now, err := here.argo.Kube().Get(t.Context(), set.GroupVersionKind(), set.GetNamespace(), set.GetName())
	if err != nil {
		t.Fatal(err)
	}
	since := map[string]time.Time{}
	list, _, _ := unstructured.NestedSlice(now.Object, "status", "applicationStatus")
	for _, entry := range list {
		status := entry.(map[string]any)
		name := status["application"].(string)
		at, err := time.Parse(time.RFC3339, status["lastTransitionTime"].(string))
		if err != nil || status["status"] != "Healthy" {
			t.Errorf("the ApplicationSet takes %s for %s: %v", name, status["status"], err)
		}
		since[name] = at
	}
	return since
}
