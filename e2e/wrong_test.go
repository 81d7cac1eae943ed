package e2e_test

import (
	"bufio"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sigs.k8s.io/yaml"

	"github.com/ladder-cmp/ladder/e2e/argocd"
)

// wrongOrder is a file of manifests with waves by hand that cannot work, told in
// comments at its top.
type wrongOrder struct {
	name, text string
	// finding is what "cmp check" finds: a rule and an object.
	rule, object string
	// remedy is empty if the same manifests work in Ladder's order.
	remedy string
	// brings is a kind that the Deployment defines when it runs.
	brings string
}

func readWrongOrders(t *testing.T) []wrongOrder {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", "wrong", "*.yaml"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no wrong orders: %v", err)
	}
	var all []wrongOrder
	for _, path := range paths {
		if strings.HasSuffix(path, ".scenario.yaml") {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, parseWrongOrder(strings.TrimSuffix(filepath.Base(path), ".yaml"), string(text)))
	}
	return all
}

func parseWrongOrder(name, text string) wrongOrder {
	w := wrongOrder{name: name, text: text}
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() && strings.HasPrefix(lines.Text(), "#") {
		line := strings.TrimPrefix(lines.Text(), "# ")
		if rest, ok := strings.CutPrefix(line, "finding: "); ok {
			w.rule, w.object, _ = strings.Cut(rest, " ")
		}
		if rest, ok := strings.CutPrefix(line, "remedy: "); ok {
			w.remedy = rest
		}
		if rest, ok := strings.CutPrefix(line, "brings: "); ok {
			w.brings = rest
		}
	}
	return w
}

// story is the order as the manifests of an Application with this name.
func (w wrongOrder) story(t *testing.T, name, text string) story {
	t.Helper()
	s := manifests(name, name, text)
	scenario, err := os.ReadFile(filepath.Join("testdata", "wrong", w.name+".scenario.yaml"))
	if err == nil {
		err = yaml.UnmarshalStrict(scenario, &s.scenario)
	}
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	if w.brings != "" {
		group, kind, _ := strings.Cut(w.brings, "/")
		s.brings = definition(schema.GroupKind{Group: group, Kind: kind}, []string{"v1"}, true)
	}
	return s
}

// TestTheSuiteCanFail syncs orders that are wrong: Argo CD hangs or fails, and
// "cmp check" predicts this. The same manifests in Ladder's order sync. Without
// this, that Ladder's orders sync would prove nothing.
func TestTheSuiteCanFail(t *testing.T) {
	t.Parallel()
	for _, w := range readWrongOrders(t) {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			wrong(t, w)
			if w.remedy == "" {
				right(t, w)
			}
		})
	}
}

func wrong(t *testing.T, w wrongOrder) {
	t.Run("by hand", func(t *testing.T) {
		name := "wrong-" + w.name
		g := raise(t, w.story(t, name, strings.ReplaceAll(w.text, "NAMESPACE", name)))
		if object := strings.ReplaceAll(w.object, "NAMESPACE", name); !check(t, name, g.objs).predicts(w.rule, object) {
			t.Errorf("cmp check does not find that %s is %s", object, w.rule)
		}
		out := g.sync(t, shortHangTimeout)
		if out.Result != argocd.Hangs && out.Result != argocd.Failed {
			t.Errorf("the sync: %s, although the order is wrong\n%s", out.Result, here.argo.Explain(out, g.waiting()))
		}
		results.add(row{"wrong", w.name, waves(g.objs), out.Duration, string(out.Result) + ", as predicted"})
	})
}

func right(t *testing.T, w wrongOrder) {
	t.Run("ladder", func(t *testing.T) {
		name := "righted-" + w.name
		text := strings.ReplaceAll(w.text, "NAMESPACE", name)
		ordered, err := program(t.Context(), text, "render", "-", "--namespace", name, "--author-waves", "override")
		if err != nil {
			t.Fatal(err)
		}
		syncs(t, raise(t, w.story(t, name, ordered)), "wrong, righted", w.name)
	})
}

// predicts reports whether a finding that a sync stops is about an object.
func (r report) predicts(rule, object string) bool {
	for _, f := range r.Findings {
		if f.Rule == rule && f.Object == object && (f.Severity == "error" || f.Severity == "warning") {
			return true
		}
	}
	return false
}

// bring defines the kind of a story that one of its workloads defines when it
// runs.
func (g *stage) bring(t *testing.T) {
	t.Helper()
	done := make(chan struct{})
	ctx := t.Context()
	go func() {
		defer close(done)
		for ctx.Err() == nil && !g.runs(ctx, g.bringer()) {
			time.Sleep(100 * time.Millisecond)
		}
		if ctx.Err() == nil {
			if err := applySoon(ctx, g.brings); err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		}
	}()
	t.Cleanup(func() { <-done })
}

// bringer is the workload that brings a kind: the only Deployment.
func (g *stage) bringer() *unstructured.Unstructured {
	for _, obj := range g.objs {
		if obj.GetKind() == "Deployment" {
			return obj
		}
	}
	return nil
}

func (g *stage) runs(ctx context.Context, deployment *unstructured.Unstructured) bool {
	live, err := here.argo.Kube().Get(ctx, deployment.GroupVersionKind(), deployment.GetNamespace(), deployment.GetName())
	if err != nil {
		return false
	}
	ready, _, _ := unstructured.NestedInt64(live.Object, "status", "availableReplicas")
	return ready > 0
}
