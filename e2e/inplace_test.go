package e2e_test

import (
	"context"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ladder-cmp/ladder/e2e/argocd"
	"github.com/ladder-cmp/ladder/e2e/cluster"
)

// inPlace is an app of apps that runs before it is ordered: five Applications and the five of an
// ApplicationSet, nowhere with a wave or a step.
type inPlace struct {
	*stage
	children, generated []string
}

// TestOrderInPlace orders Applications that run already. Nothing is pruned, made again or changed
// but the order; the next rollout follows it; and reverting the commit takes it back.
func TestOrderInPlace(t *testing.T) {
	t.Parallel()
	f := newInPlace(t, "inplace")
	f.commit(t, f.release("1"))
	f.rolledOut(t, "1")
	objs, apps := f.snapshot(t)

	// The order, in the files.
	text, err := program(t.Context(), "", "fleet", "steps", f.repo.Dir, "--write")
	if err != nil || !strings.Contains(text, "2 files written") {
		t.Fatalf("%v\n%s", err, text)
	}
	files, err := argocd.Files(filepath.Join(f.repo.Dir), "")
	if err != nil {
		t.Fatal(err)
	}
	maps.DeleteFunc(files, func(name, _ string) bool { return strings.HasPrefix(name, ".git/") })
	revision, err := f.repo.Commit(t.Context(), files)
	if err != nil {
		t.Fatal(err)
	}
	f.rolledOut(t, "1")
	f.unchanged(t, objs, apps)
	f.ordered(t, true)

	// The next rollout. Argo CD is told of the change of the first step first: what it notices in a
	// later one while the first looks healthy, it syncs at once. So which came first proves nothing
	// about the steps, and Argo CD's own list of them is read.
	for name, text := range files {
		if strings.HasPrefix(name, "apps/") && name != "apps/set.yaml" {
			files[name] = strings.ReplaceAll(text, "release-1/", "release-2/")
		}
	}
	for _, component := range f.generated {
		files["release-1/"+component+"/all.yaml"] = contentOf(component, "2")
	}
	f.commit(t, files)
	if err := here.argo.Refresh(t.Context(), f.name+"-plot-kind"); err != nil {
		t.Fatal(err)
	}
	f.rolledOut(t, "2")
	at := f.applied(t)
	if at["beds"].IsZero() || !at["bed-kind"].Before(at["beds"]) {
		t.Errorf("beds was applied at %s, not after bed-kind at %s", clock(at["beds"]), clock(at["bed-kind"]))
	}
	f.inSteps(t, map[string]string{"plot-kind": "1", "plots": "2", "wiki": "2"})
	objs, apps = f.snapshot(t)

	// And back.
	revert := exec.CommandContext(t.Context(), "git", "-C", f.repo.Dir, "-c", "user.name=e2e", "-c", "user.email=e2e@example.com", "-c",
		"commit.gpgsign=false", "revert", "--no-edit", revision)
	if out, err := revert.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	f.rolledOut(t, "2")
	f.unchanged(t, objs, apps)
	f.ordered(t, false)
	results.add(row{"fleet", "ten Applications that are ordered in place", 2, 0, "synced"})
}

// newInPlace brings the Applications on stage. Two need the definition that another one contains.
func newInPlace(t *testing.T, name string) *inPlace {
	t.Helper()
	f := &inPlace{children: []string{"beds", "bed-kind", "docs", "mail", "web"},
		generated: []string{"plots", "plot-kind", "logs", "shed", "wiki"}}
	s := story{name: name, namespace: name, path: "apps", files: map[string]string{}, ready: []*unstructured.Unstructured{}}
	for _, component := range f.components() {
		objs, err := objects(contentOf(component, "1"))
		if err != nil {
			t.Fatal(err)
		}
		s.ready = append(s.ready, objs...)
	}
	f.stage = raise(t, s)
	t.Cleanup(func() {
		ctx, cancel := cleanupContext(t)
		defer cancel()
		if err := here.argo.Abandon(ctx, name); err != nil {
			t.Error(err)
		}
		var all []string
		for _, component := range f.components() {
			all = append(all, name+"-"+component)
		}
		f.disband(t, f.set(t), all)
	})
	return f
}

func (f *inPlace) components() []string { return slices.Concat(f.children, f.generated) }

func (f *inPlace) set(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	return newObject("argoproj.io/v1alpha1", "ApplicationSet", argocd.Namespace, f.name+"-set")
}

// contentOf is what a component contains.
func contentOf(component, release string) string {
	text := fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {release: %q}\n", component, release)
	switch component {
	case "bed-kind", "plot-kind":
		kind := strings.ToUpper(component[:1]) + strings.TrimSuffix(component[1:], "-kind")
		plural := strings.ToLower(kind) + "s"
		text += fmt.Sprintf(`---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[1]s.%[1]s.example.com}
spec:
  group: %[1]s.example.com
  scope: Namespaced
  names: {kind: %[2]s, listKind: %[2]sList, plural: %[1]s, singular: %[3]s}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`, plural, kind, strings.ToLower(kind))
	case "beds", "plots":
		kind := strings.ToUpper(component[:1]) + strings.TrimSuffix(component[1:], "s")
		text += fmt.Sprintf("---\n{apiVersion: %s.example.com/v1, kind: %s, metadata: {name: first}}\n", component, kind)
	}
	return text
}

// release are the files of the repository, whose Applications deploy a release.
func (f *inPlace) release(of string) map[string]string {
	spec := func(indent, name, path string) string {
		text := fmt.Sprintf(`project: default
source: {repoURL: %q, path: %s, targetRevision: HEAD}
destination: {server: %q, namespace: %s}
`, f.repo.URL(), path, here.cluster.URL, f.namespace)
		if name == f.name {
			return indented(text, indent)
		}
		return indented(text+"syncPolicy: {automated: {prune: true}, retry: {limit: 8, backoff: {duration: 1s, maxDuration: 5s}}}\n", indent)
	}
	application := func(name, path string) string {
		return fmt.Sprintf(
			"apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata:\n  name: %s # as it is known\n  namespace: %s\nspec:\n", name,
			argocd.Namespace) + spec("  ", name, path)
	}
	all := map[string]string{"root.yaml": application(f.name, "apps")}
	for _, component := range f.components() {
		for _, release := range []string{"1", "2"} {
			all["release-"+release+"/"+component+"/all.yaml"] = contentOf(component, release)
		}
	}
	for _, child := range f.children {
		all["apps/"+child+".yaml"] = application(f.name+"-"+child, "release-"+of+"/"+child)
	}
	var elements strings.Builder
	for _, component := range f.generated {
		fmt.Fprintf(&elements, "      - component: %s\n", component)
	}
	all["apps/set.yaml"] = fmt.Sprintf(`apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: %[1]s-set, namespace: %[2]s}
spec:
  generators:
  - list:
      elements:
%[3]s  template:
    metadata: {name: '%[1]s-{{component}}'}
    spec:
`, f.name, argocd.Namespace, elements.String()) + spec("      ", "", "'release-"+of+"/{{component}}'")
	return all
}

func indented(text, by string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(by + line)
	}
	return b.String()
}

// rolledOut syncs the parent, and waits until a release runs everywhere.
func (f *inPlace) rolledOut(t *testing.T, release string) {
	t.Helper()
	if out := f.sync(t, hangTimeout); out.Result != argocd.Synced {
		t.Fatalf("the parent: %s\n%s\n%s", out.Result, here.argo.Explain(out, f.waiting()), f.rolling(t.Context(), f.applications()))
	}
	missing, since := "", time.Now()
	for {
		now := f.notYet(t.Context(), release)
		switch {
		case now == "":
			return
		case now != missing:
			missing, since = now, time.Now()
		case time.Since(since) > hangTimeout:
			t.Fatalf("release %s hangs: %s\n%s", release, now, f.rolling(t.Context(), f.applications()))
		}
		time.Sleep(time.Second)
	}
}

func (f *inPlace) applications() []string {
	var all []string
	for _, component := range f.components() {
		all = append(all, f.name+"-"+component)
	}
	return all
}

// notYet says what is not as a release wants it.
func (f *inPlace) notYet(ctx context.Context, release string) string {
	for _, component := range f.components() {
		cm := newObject("v1", "ConfigMap", f.namespace, component)
		obj, err := here.argo.Kube().Get(ctx, cm.GroupVersionKind(), f.namespace, component)
		if err != nil {
			return err.Error()
		}
		if got, _, _ := unstructured.NestedString(obj.Object, "data", "release"); got != release {
			return component + " has release " + got
		}
		s, err := here.argo.Status(ctx, f.name+"-"+component)
		if err != nil {
			return err.Error()
		}
		if s.Sync.Status != "Synced" || s.Health.Status != "Healthy" || s.OperationState == nil || s.OperationState.Phase != "Succeeded" {
			return component + " is " + s.Sync.Status + " and " + s.Health.Status
		}
	}
	return ""
}

// snapshot reads all objects and Applications.
func (f *inPlace) snapshot(t *testing.T) (objs, apps map[string]*unstructured.Unstructured) {
	t.Helper()
	objs, apps = map[string]*unstructured.Unstructured{}, map[string]*unstructured.Unstructured{}
	read := func(into map[string]*unstructured.Unstructured, obj *unstructured.Unstructured) {
		got, err := here.argo.Kube().Get(t.Context(), obj.GroupVersionKind(), obj.GetNamespace(), obj.GetName())
		if err != nil {
			t.Fatalf("%s: %v", nameOf(obj), err)
		}
		into[nameOf(obj)] = got
	}
	for _, obj := range f.objs {
		read(objs, obj)
	}
	for _, name := range f.applications() {
		read(apps, newObject("argoproj.io/v1alpha1", "Application", argocd.Namespace, name))
	}
	read(apps, f.set(t))
	return objs, apps
}

// unchanged checks that everything is as it was, apart from the order.
func (f *inPlace) unchanged(t *testing.T, objs, apps map[string]*unstructured.Unstructured) {
	t.Helper()
	nowObjs, nowApps := f.snapshot(t)
	for name, before := range objs {
		now := nowObjs[name]
		if now.GetUID() != before.GetUID() || now.GetResourceVersion() != before.GetResourceVersion() {
			t.Errorf("%s was %s %s, and is %s %s", name, before.GetUID(), before.GetResourceVersion(), now.GetUID(), now.GetResourceVersion())
		}
	}
	for name, before := range apps {
		now := nowApps[name]
		if now.GetUID() != before.GetUID() || now.GetDeletionTimestamp() != nil || !slices.Equal(now.GetFinalizers(), before.GetFinalizers()) {
			t.Errorf("%s was made again, or is deleted", name)
		}
		if x, y := f.withoutOrder(before), f.withoutOrder(now); !reflect.DeepEqual(x, y) {
			t.Errorf("%s changed from\n%v\nto\n%v", name, x, y)
		}
	}
}

// withoutOrder returns the spec of an Application or ApplicationSet without what orders it. A
// RollingSync disables automated syncs of the Applications.
func (f *inPlace) withoutOrder(obj *unstructured.Unstructured) map[string]any {
	spec := obj.DeepCopy().Object["spec"].(map[string]any)
	if obj.GetKind() == "ApplicationSet" {
		unstructured.RemoveNestedField(spec, "strategy")
		unstructured.RemoveNestedField(spec, "template", "metadata", "labels")
	}
	if slices.Contains(f.generated, strings.TrimPrefix(obj.GetName(), f.name+"-")) {
		unstructured.RemoveNestedField(spec, "syncPolicy", "automated")
	}
	return spec
}

// ordered checks whether Argo CD has the order: one wave, and two steps.
func (f *inPlace) ordered(t *testing.T, want bool) {
	t.Helper()
	_, apps := f.snapshot(t)
	set := apps[nameOf(f.set(t))]
	if steps, _, _ := unstructured.NestedSlice(set.Object, "spec", "strategy", "rollingSync", "steps"); len(steps) == 2 != want {
		t.Errorf("the ApplicationSet has steps %v", steps)
	}
	for name, app := range apps {
		wave := app.GetAnnotations()[syncWave]
		if wants := want && strings.HasSuffix(name, "-beds"); wants != (wave == "1") || !wants && wave != "" {
			t.Errorf("%s has wave %q", name, wave)
		}
	}
}

// inSteps checks in which step of the rollout Argo CD has generated Applications.
func (f *inPlace) inSteps(t *testing.T, want map[string]string) {
	t.Helper()
	set := f.set(t)
	got, err := here.argo.Kube().Get(t.Context(), set.GroupVersionKind(), set.GetNamespace(), set.GetName())
	if err != nil {
		t.Fatal(err)
	}
	all, _, _ := unstructured.NestedSlice(got.Object, "status", "applicationStatus")
	steps := map[string]string{}
	for _, entry := range all {
		status := entry.(map[string]any)
		steps[strings.TrimPrefix(fmt.Sprint(status["application"]), f.name+"-")] = fmt.Sprint(status["step"])
	}
	for name, step := range want {
		if steps[name] != step {
			t.Errorf("%s is in step %q of %v, not %s", name, steps[name], steps, step)
		}
	}
}

// applied is when the ConfigMap of each component was first applied since the last sync of the parent.
func (f *inPlace) applied(t *testing.T) map[string]time.Time {
	t.Helper()
	events, err := here.cluster.Applied(f.mark, cluster.ArgoCD)
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]time.Time{}
	for _, e := range events {
		if first, there := at[e.Name]; e.Resource == "configmaps" && e.Namespace == f.namespace && (!there || e.Time.Before(first)) {
			at[e.Name] = e.Time
		}
	}
	return at
}
