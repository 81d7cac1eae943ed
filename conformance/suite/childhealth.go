package suite

import (
	"maps"
	"os"
	"testing"
)

// ChildHealth runs the health check of Applications that is deployed with Ladder, with Argo CD's
// code, on the children of ../argocd/health/testdata/application.yaml.
func ChildHealth(t *testing.T, unmarshal func([]byte, any) error, run func(script string, obj map[string]any) (status string, err error)) {
	t.Helper()
	read := func(name string, into any) {
		text, err := os.ReadFile("../../../" + name)
		if err == nil {
			err = unmarshal(text, into)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var config struct{ Data map[string]string }
	read("deploy/kustomize/application-health.yaml", &config)
	var table struct {
		Base  map[string]any
		Cases []struct {
			Name, Want              string
			Spec, Status, Operation map[string]any
		}
	}
	read("argocd/health/testdata/application.yaml", &table)
	for _, c := range table.Cases {
		obj := maps.Clone(table.Base)
		for key, patch := range map[string]map[string]any{"spec": c.Spec, "status": c.Status, "operation": c.Operation} {
			if patch != nil {
				below, _ := obj[key].(map[string]any)
				obj[key] = patched(below, patch)
			}
		}
		status, err := run(config.Data["resource.customizations.health.argoproj.io_Application"], obj)
		if err != nil || status != c.Want {
			t.Errorf("%s: %q %v, want %s", c.Name, status, err, c.Want)
		}
	}
	if len(table.Cases) < 40 {
		t.Errorf("only %d cases", len(table.Cases))
	}
}

// patched is a JSON merge patch.
func patched(base, patch map[string]any) map[string]any {
	out := maps.Clone(base)
	if out == nil {
		out = map[string]any{}
	}
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
