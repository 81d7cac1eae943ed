package e2e_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ladder-cmp/ladder/e2e/argocd"
)

// TestDefinitionsApart deploys one chart as two Applications, its definitions and
// the rest. In the right order both sync; in the other one the rest fails for
// want of the definitions, and syncs when they are there. Then both are upgraded.
func TestDefinitionsApart(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]string{"definitions-first": "only", "definitions-last": "skip"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := component("apart-"+name, filepath.Join(here.root, "testdata", "components", "beacon-operator"))
			if err != nil {
				t.Fatal(err)
			}
			g := raise(t, s)
			definitions, rest := g.half("only"), g.half("skip")
			for _, app := range []argocd.Application{definitions, rest} {
				t.Cleanup(func() {
					ctx, cancel := cleanupContext(t)
					defer cancel()
					if err := here.argo.Abandon(ctx, app.Name); err != nil {
						t.Error(err)
					}
				})
			}
			start := time.Now()
			if first == "skip" {
				if out := g.syncHalf(t, rest, shortHangTimeout); out.Result == argocd.Synced {
					t.Error("the rest synced without its definitions")
				}
			}
			g.halvesSync(t, definitions, rest)
			results.add(row{"definitions apart", name, waves(g.objs), time.Since(start), "synced"})

			// The second release changes a definition and the operator.
			start = time.Now()
			for file, text := range g.files {
				text = strings.ReplaceAll(text, "registry.example.com/beacon-operator:1.4", "registry.example.com/beacon-operator:1.5")
				if strings.Contains(file, "/crds/") {
					text = strings.Replace(text, "    served: true\n",
						"    served: true\n    additionalPrinterColumns:\n    - {name: Color, type: string, jsonPath: .spec.color}\n", 1)
				}
				g.files[file] = text
			}
			g.commit(t, g.files)
			g.halvesSync(t, definitions, rest)
			results.add(row{"definitions apart, second release", name, waves(g.objs), time.Since(start), "synced"})
		})
	}
}

// half is the Application of the definitions or of the rest. Both render with
// one release name, which webhooks and certificates in either of them hold.
func (g *stage) half(crds string) argocd.Application {
	s := g.with("crds", crds).with("name", g.name)
	app := s.application(g.repo)
	app.Name = g.name + "-" + crds
	return app
}

// halvesSync syncs both halves at the first attempt and expects nothing to be
// out of sync in either of them afterwards.
func (g *stage) halvesSync(t *testing.T, definitions, rest argocd.Application) {
	t.Helper()
	for _, app := range []argocd.Application{definitions, rest} {
		out := g.syncHalf(t, app, hangTimeout)
		if out.Result != argocd.Synced {
			t.Fatalf("%s: %s\n%s", app.Name, out.Result, here.argo.Explain(out, g.waiting()))
		}
		if retries := out.Status.OperationState.RetryCount; retries != 0 {
			t.Errorf("%s took %d retries", app.Name, retries)
		}
	}
	for _, app := range []argocd.Application{definitions, rest} {
		if err := here.argo.Refresh(t.Context(), app.Name); err != nil {
			t.Fatal(err)
		}
		status, err := here.argo.Status(t.Context(), app.Name)
		if err != nil {
			t.Fatal(err)
		}
		if status.Sync.Status != "Synced" {
			t.Errorf("after the sync of %s:\n%s", app.Name, status.Describe())
		}
	}
}

func (g *stage) syncHalf(t *testing.T, app argocd.Application, hangTimeout time.Duration) argocd.Outcome {
	t.Helper()
	whole := g.app
	defer func() { g.app = whole }()
	g.app = app
	return g.sync(t, hangTimeout)
}
