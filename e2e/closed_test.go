package e2e_test

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ladder-cmp/ladder/e2e/argocd"
)

// TestClosedGates lets a parent sync while the child in its first wave is Healthy, but not as
// the parent wants it. The child in the second wave must not be applied before that is over.
func TestClosedGates(t *testing.T) {
	t.Run("failed", func(t *testing.T) {
		t.Parallel()
		f := newFamily(t, "closed-failed")
		f.release(t, map[string]string{"first/refused.yaml": refused}, "first", "last-2")
		since := time.Now()
		if err := here.argo.Refresh(t.Context(), f.first); err != nil {
			t.Fatal(err)
		}
		// The cluster rejects an object, until there are no retries left.
		out, err := here.argo.Follow(t.Context(), f.first, since, argocd.Watch{HangTimeout: hangTimeout})
		if err != nil || out.Result != argocd.Failed || out.Status.Health.Status != "Healthy" || out.Attempts() != 2 {
			t.Fatalf("the child: %s after %d attempts, %v\n%s", out.Result, out.Attempts(), err, here.argo.Explain(out, ""))
		}
		f.closed(t)
		f.release(t, nil, "first", "last-2")
		if err := here.argo.Refresh(t.Context(), f.first); err != nil {
			t.Fatal(err)
		}
		f.opens(t)
	})
	t.Run("old", func(t *testing.T) {
		t.Parallel()
		f := newFamily(t, "closed-old")
		// Argo CD does not look at the child, as when it has much to do.
		annotate := func(value string) {
			patch := fmt.Sprintf(`{"metadata":{"annotations":{"argocd.argoproj.io/skip-reconcile":%s}}}`, value)
			if err := here.argo.Kube().Merge(t.Context(), argocd.ApplicationKind, argocd.Namespace, f.first, patch); err != nil {
				t.Fatal(err)
			}
		}
		annotate(`"true"`)
		f.release(t, nil, "first-2", "last-2")
		f.closed(t)
		annotate("null")
		f.opens(t)
	})
}

// refused is an object that the API server rejects.
const refused = `apiVersion: v1
kind: Service
metadata: {name: refused}
spec: {ports: [{port: 99999}]}
`

// family is a parent with two children in two waves.
type family struct {
	*stage
	first, last string
	since       time.Time
}

// newFamily syncs the first release.
func newFamily(t *testing.T, name string) *family {
	t.Helper()
	g := raise(t, story{name: name, namespace: name, path: "apps", files: map[string]string{}, ready: []*unstructured.Unstructured{}})
	f := &family{stage: g, first: name + "-first", last: name + "-last"}
	t.Cleanup(func() {
		ctx, cancel := cleanupContext(t)
		defer cancel()
		for _, app := range []string{name, f.first, f.last} {
			if err := here.argo.Abandon(ctx, app); err != nil {
				t.Error(err)
			}
		}
	})
	f.release(t, nil, "first", "last")
	if out := f.sync(t, hangTimeout); out.Result != argocd.Synced {
		t.Fatalf("the first release: %s\n%s", out.Result, here.argo.Explain(out, ""))
	}
	return f
}

// release commits the Applications of the two children with these paths.
func (f *family) release(t *testing.T, files map[string]string, first, last string) {
	t.Helper()
	all := maps.Clone(files)
	if all == nil {
		all = map[string]string{}
	}
	for _, path := range []string{"first", "first-2", "last", "last-2"} {
		all[path+"/cm.yaml"] = "{apiVersion: v1, kind: ConfigMap, metadata: {name: " + path + "}}\n"
	}
	for wave, path := range []string{first, last} {
		name := []string{f.first, f.last}[wave]
		all["apps/"+name+".yaml"] = fmt.Sprintf(`apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: %s, namespace: %s, annotations: {argocd.argoproj.io/sync-wave: "%d"}}
spec:
  project: default
  source: {repoURL: %q, path: %s, targetRevision: HEAD, directory: {recurse: true}}
  destination: {server: %q, namespace: %s}
  syncPolicy: {automated: {prune: true}, retry: {limit: 1, backoff: {duration: 1s}}}
`, name, argocd.Namespace, wave, f.repo.URL(), path, here.cluster.URL, f.namespace)
	}
	f.commit(t, all)
}

// closed starts a sync of the parent, which must stop before its second wave.
func (f *family) closed(t *testing.T) {
	t.Helper()
	f.since = time.Now()
	if out := f.sync(t, shortHangTimeout); out.Result != argocd.Hangs {
		t.Fatalf("the parent did not wait: %s\n%s", out.Result, here.argo.Explain(out, ""))
	}
	if path := f.lastPath(t); path != "last" {
		t.Errorf("the child in the second wave has path %s already", path)
	}
}

// opens follows the same sync of the parent to its end.
func (f *family) opens(t *testing.T) {
	t.Helper()
	out, err := here.argo.Follow(t.Context(), f.name, f.since, argocd.Watch{HangTimeout: hangTimeout})
	if err != nil || out.Result != argocd.Synced {
		t.Fatalf("the parent: %s %v\n%s", out.Result, err, here.argo.Explain(out, ""))
	}
	if path := f.lastPath(t); path != "last-2" {
		t.Errorf("the child in the second wave still has path %s", path)
	}
	results.add(row{"fleet", f.name, 2, out.Duration, string(out.Result)})
}

func (f *family) lastPath(t *testing.T) string {
	t.Helper()
	app, err := here.argo.Kube().Get(t.Context(), argocd.ApplicationKind, argocd.Namespace, f.last)
	if err != nil {
		t.Fatal(err)
	}
	path, _, _ := unstructured.NestedString(app.Object, "spec", "source", "path")
	return path
}
