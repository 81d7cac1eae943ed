package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/ladder-cmp/ladder/e2e/argocd"
)

// nodeRetries is how often Argo CD tries again in the cases of the node.
const nodeRetries = 5

// TestTheDoubleAgrees plays components on the double that were seen on a real node
// (docs/e2e.md): programs of ours, whose habits a scenario tells the double. Both
// have to come to the same end, with and without waves, or what other suites show on
// the double is worth nothing.
func TestTheDoubleAgrees(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob(filepath.Join("real", "testdata", "cases", "*", "scenario.yaml"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, path := range paths {
		dir := filepath.Dir(path)
		for way, args := range map[string][]string{"ladder": nil, "default": {"--waves", "off"}} {
			t.Run(filepath.Base(dir)+"/"+way, func(t *testing.T) {
				t.Parallel()
				agree(t, dir, way, args)
			})
		}
	}
}

func agree(t *testing.T, dir, way string, args []string) {
	name := filepath.Base(dir)
	var seen struct {
		Expect map[string]struct {
			Result   argocd.Result `json:"result"`
			Attempts int           `json:"attempts"`
		} `json:"expect"`
	}
	readYAML(t, filepath.Join(dir, "case.yaml"), &seen, yaml.Unmarshal)
	text, err := program(t.Context(), "",
		append([]string{"render", filepath.Join(dir, "component"), "--name", name, "--namespace", name}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	s := manifests(name+"-"+way, name, text)
	readYAML(t, filepath.Join(dir, "scenario.yaml"), &s.scenario, yaml.UnmarshalStrict)
	g := raise(t, s)
	g.app.Retry = nodeRetries
	want := seen.Expect[way]
	wait := shortHangTimeout
	if want.Result == "" || want.Result == argocd.Synced {
		// Argo CD pauses for 10, 20 and 40 seconds between attempts, which is no hang.
		want.Result, wait = argocd.Synced, hangTimeout
	}
	out := g.sync(t, wait)
	results.add(row{"as on the node, " + way, name, waves(g.objs), out.Duration, string(out.Result)})
	// Where the node needed one attempt, so does the double, unless Argo CD was early by chance.
	attempts := out.Attempts()
	if out.Result != want.Result || out.Result == argocd.Synced && (attempts > 1) != (want.Attempts > 1) && !out.Raced() {
		t.Errorf("the double: %s after %d attempts; the node: %s after %d\n%s", out.Result, attempts, want.Result, max(want.Attempts, 1),
			here.argo.Explain(out, g.waiting()))
	}
}

func readYAML(t *testing.T, path string, into any, read func([]byte, any, ...yaml.JSONOpt) error) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = read([]byte(strings.TrimSpace(string(text))), into)
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}
