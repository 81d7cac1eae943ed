package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/fleettest"
	"github.com/ladder-cmp/ladder/internal/golden"
	"github.com/ladder-cmp/ladder/knowledge"
)

// TestInterrupted stops a load after its first component.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	rendered := 0
	f, err := fleet.Load(ctx, fleet.Source{Repo: os.DirFS("../testdata/fleets"), Dirs: []string{"bands/components"}, Parallel: 1,
		Progress: func(done, _ int, _ string) {
			rendered = done
			cancel()
		}}, knowledge.Default())
	if f != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("got a fleet: %v, and %v; want no fleet, and %v", f != nil, err, context.Canceled)
	}
	if rendered != 1 {
		t.Errorf("%d components were rendered, want 1", rendered)
	}
}

// TestLinks says what the components of each fleet need of each other.
func TestLinks(t *testing.T) {
	dirs, err := filepath.Glob("../testdata/fleets/*/ladder.yaml")
	if err != nil || len(dirs) == 0 {
		t.Fatal("no fleet", err)
	}
	for _, file := range dirs {
		dir := filepath.Dir(file)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			f := fleettest.Load(t, filepath.Base(dir))
			for _, found := range f.Findings {
				if found.Rule == "plain-job" || found.Rule == "one-operation" ||
					filepath.Base(dir) == "bootstrap" && found.Missing == "Namespace engines" {
					continue // platforms have plain Jobs and hooks, and the bootstrap makes the namespace
				}
				t.Errorf("%s: %s", found.Severity, found.Error())
			}
			golden.File(t, filepath.Join(dir, "want.links.txt"), described(f))
		})
	}
}

// described lists each Application and its dependencies.
func described(f *fleet.Fleet) string {
	var b strings.Builder
	for i, app := range f.Applications {
		fmt.Fprintf(&b, "%s %s  [%s: %s]\n", f.FormatStep(app.Step), app.Name, app.Rung, app.RungWhy)
		for _, l := range f.Links {
			if l.From != i {
				continue
			}
			for _, r := range l.Reasons {
				mark := ""
				if r.Inferred {
					mark = " (inferred)"
				}
				fmt.Fprintf(&b, "  %-8s %s: %s%s\n", r.Strength, f.Applications[l.To].Name, r, mark)
			}
		}
	}
	return b.String()
}
