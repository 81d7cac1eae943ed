package real_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/ladder-cmp/ladder/e2e/argocd"
	"github.com/ladder-cmp/ladder/e2e/node"
)

// member is a case as a component of the core, as core.yaml has it.
type member struct {
	Name   string `json:"name"`
	Domain string `json:"domain"`
}

// TestCore rolls the core of a fleet out whole, each time in a cluster of its own: in
// the steps that Ladder computes, and one Application after the other, as fleets are
// that number each component by hand. Within each Application the waves are Ladder's.
func TestCore(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/core.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var members []member
	if err := yaml.UnmarshalStrict(text, &members); err != nil {
		t.Fatal(err)
	}
	steps := computed(t, members)
	if len(steps) < 2 || len(steps) >= len(members) {
		t.Fatalf("%d steps for %d components show nothing: %q", len(steps), len(members), steps)
	}
	var serial [][]string
	for _, step := range steps {
		for _, name := range step {
			serial = append(serial, []string{name})
		}
	}
	took := map[string]time.Duration{}
	for layout, steps := range map[string][][]string{"steps": steps, "serial": serial} {
		t.Run(layout, func(t *testing.T) {
			shop.join(t)
			for _, step := range rollOut(t, layout, steps) {
				took[layout] += step
			}
		})
	}
	t.Logf("in %d steps %s, one after the other %s", len(steps), took["steps"].Round(time.Second), took["serial"].Round(time.Second))
}

// computed are the steps in which cmp fleet steps has the components.
func computed(t *testing.T, members []member) (steps [][]string) {
	t.Helper()
	dir := t.TempDir()
	for _, m := range members {
		c, ok := shop.cases[m.Name]
		if !ok {
			t.Fatalf("testdata/core.yaml: unknown case %s", m.Name)
		}
		files, err := c.files(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		about, err := yaml.Marshal(map[string]string{"name": c.name, "namespace": c.Namespace, "domain": m.Domain})
		if err != nil {
			t.Fatal(err)
		}
		files["component.yaml"] = string(about)
		if err := write(filepath.Join(dir, c.name), files); err != nil {
			t.Fatal(err)
		}
	}
	text, err := run(t.Context(), "fleet", "steps", dir, "--output", "json")
	if err != nil {
		t.Fatal(err)
	}
	var said struct {
		Applications []struct{ Phase, Name string }
	}
	if err := json.Unmarshal(text, &said); err != nil {
		t.Fatal(err)
	}
	slices.SortStableFunc(said.Applications, func(x, y struct{ Phase, Name string }) int { return strings.Compare(x.Phase, y.Phase) })
	last := ""
	for _, app := range said.Applications {
		if app.Phase != last {
			last, steps = app.Phase, append(steps, nil)
		}
		steps[len(steps)-1] = append(steps[len(steps)-1], app.Name)
	}
	return steps
}

// rollOut syncs the Applications of a step at the same time, and the next step when all
// are healthy, as Argo CD's progressive syncs do. It returns how long each step took.
func rollOut(t *testing.T, layout string, steps [][]string) (took []time.Duration) {
	t.Helper()
	lab, plans := labDir(t, "core-"+layout), map[string]prepared{}
	for _, name := range slices.Concat(steps...) {
		p, err := shop.prepare(t.Context(), lab, shop.cases[name], ladder)
		if err != nil {
			t.Fatal(err)
		}
		plans[name] = p
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*limit)
	defer cancel()
	l := openLab(ctx, t, lab, node.Options{LoadBalancers: true}, shop.health)
	for i, step := range steps {
		apps := make([]argocd.Application, len(step))
		for j, name := range step {
			var err error
			if apps[j], err = l.create(ctx, plans[name]); err != nil {
				t.Fatal(err)
			}
		}
		since := time.Now()
		for _, app := range apps {
			if err := l.argo.Sync(ctx, app); err != nil {
				t.Fatal(err)
			}
		}
		var slowest argocd.Outcome
		for _, app := range apps {
			out, err := l.argo.Follow(ctx, app.Name, since, argocd.Watch{Patience: patience})
			if err != nil || out.Result != argocd.Synced {
				t.Fatalf("%s: %s %v\n%s", app.Name, out.Result, err, l.explain(ctx, outcome{Outcome: out}))
			}
			early, err := l.raced(ctx, out, app.Namespace)
			if err != nil {
				t.Fatal(err)
			}
			if out.Attempts() > 1 && !early {
				t.Errorf("%s took %d attempts: %s", app.Name, out.Attempts(), strings.Join(out.Errors, "; "))
			}
			if slowest.Result == "" || out.Attempts() > slowest.Attempts() {
				slowest = out
			}
		}
		took = append(took, time.Since(since))
		results.add(row{fmt.Sprintf("core %d: %s", i+1, strings.Join(step, ", ")), way(layout), outcome{Outcome: slowest, settled: took[i]}})
	}
	return took
}
