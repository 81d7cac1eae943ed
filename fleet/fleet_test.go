package fleet_test

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/knowledge"
)

var update = flag.Bool("update", false, "rewrite the files with what is wanted")

// load loads a fleet of testdata/fleets, where one may use the charts of another.
func load(t *testing.T, name string) *fleet.Fleet {
	t.Helper()
	f, err := fleet.Load(t.Context(), fleet.Source{
		Repo: os.DirFS("../testdata/fleets"), Dirs: []string{name + "/components"}, Projects: allowed[name], Assume: true,
		Show: func(path string) string { return strings.TrimPrefix(path, name+"/") },
	}, knowledge.Default())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

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

// want compares a text with a file, or rewrites that.
func want(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(text), got); diff != "" {
		t.Errorf("%s (-want +got); run with -update if that is right:\n%s", file, diff)
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
			f := load(t, filepath.Base(dir))
			for _, found := range f.Findings {
				if found.Rule == "immutable-job" || filepath.Base(dir) == "bootstrap" && found.Missing == "Namespace engines" {
					continue // platforms have plain Jobs, and the bootstrap makes the namespace
				}
				t.Errorf("%s: %s", found.Severity, found.Error())
			}
			want(t, filepath.Join(dir, "want.links.txt"), f.String())
		})
	}
}
