package health_test

import (
	"maps"
	"os"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/ladder-cmp/ladder/argocd/health"
	"github.com/ladder-cmp/ladder/knowledge"
)

// TestApplication runs the health check of Applications on children in all states. The
// modules in conformance run the same with Argo CD's own code.
func TestApplication(t *testing.T) {
	kind, ok := knowledge.Default().Kind("argoproj.io", "Application")
	if !ok {
		t.Fatal("no record of Applications")
	}
	script := health.Script(*kind.Status)
	text, err := os.ReadFile("testdata/application.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var table struct {
		Base  map[string]any
		Cases []struct {
			Name, Want              string
			Spec, Status, Operation map[string]any
		}
	}
	if err := yaml.Unmarshal(text, &table); err != nil {
		t.Fatal(err)
	}
	for _, c := range table.Cases {
		patch := map[string]any{}
		for key, value := range map[string]map[string]any{"spec": c.Spec, "status": c.Status, "operation": c.Operation} {
			if value != nil {
				patch[key] = value
			}
		}
		if status, message := run(t, script, patched(table.Base, patch)); status != c.Want || message == "" {
			t.Errorf("%s: %s (%s), want %s", c.Name, status, message, c.Want)
		}
	}
}

// patched is a JSON merge patch.
func patched(base, patch map[string]any) map[string]any {
	out := map[string]any{}
	maps.Copy(out, base)
	for key, value := range patch {
		if below, ok := value.(map[string]any); ok {
			above, _ := base[key].(map[string]any)
			out[key] = patched(above, below)
		} else if out[key] = value; value == nil {
			delete(out, key)
		}
	}
	return out
}
