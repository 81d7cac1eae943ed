package e2e_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/ladder-cmp/ladder/e2e/argocd"
)

// handWave is a wave by hand in a manifest, with what separates it from others.
var handWave = regexp.MustCompile(`argocd\.argoproj\.io/sync-wave: "-?[0-9]+"(, )?`)

// TestHiddenNeeds syncs components whose programs need what no manifest shows, three
// ways: in the waves of their rungs, where Argo CD waits for what nothing later needs
// and the sync hangs; without waves, where it converges; and in Ladder's order, which
// must not be worse.
func TestHiddenNeeds(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob(filepath.Join("testdata", "hidden", "*.scenario.yaml"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no components: %v", err)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".scenario.yaml")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, way := range []struct {
				name  string
				order func(t *testing.T, namespace, text string) string
				hangs bool
			}{
				{"rungs-awaited", func(_ *testing.T, _, text string) string { return text }, true},
				{"without-waves", func(_ *testing.T, _, text string) string { return handWave.ReplaceAllString(text, "") }, false},
				{"ladder", func(t *testing.T, namespace, text string) string {
					ordered, err := program(t.Context(), handWave.ReplaceAllString(text, ""), "render", "-", "--namespace", namespace)
					if err != nil {
						t.Fatal(err)
					}
					return ordered
				}, false},
			} {
				t.Run(way.name, func(t *testing.T) {
					hiddenNeeds(t, name, way.name, way.order, way.hangs)
				})
			}
		})
	}
}

func hiddenNeeds(t *testing.T, name, way string, order func(t *testing.T, namespace, text string) string, hangs bool) {
	namespace := "hidden-" + name + "-" + way
	read := func(ending string) string {
		text, err := os.ReadFile(filepath.Join("testdata", "hidden", name+ending))
		if err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(string(text), "NAMESPACE", namespace)
	}
	text := read(".yaml")
	s := manifests(namespace, namespace, order(t, namespace, text))
	if err := yaml.UnmarshalStrict([]byte(read(".scenario.yaml")), &s.scenario); err != nil {
		t.Fatal(err)
	}
	g := raise(t, s)
	out := g.sync(t, shortHangTimeout)
	results.add(row{"hidden needs, " + way, name, waves(g.objs), out.Duration, string(out.Result)})
	stopped := out.Result == argocd.Hangs || out.Result == argocd.Failed
	if stopped != hangs {
		t.Errorf("the sync: %s; it should stop: %v\n%s", out.Result, hangs, here.argo.Explain(out, g.waiting()))
	}
}
