package scaffold

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/internal/checkout"
)

// TestWritesAllOrNone has a file whose name is taken while the others are written.
func TestWritesAllOrNone(t *testing.T) {
	dir := t.TempDir()
	b := &Draft{Checkout: &checkout.Checkout{Base: dir}}
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		b.found = append(b.found, &undescribed{dir: name, file: name + "/component.yaml", draft: component.Draft{Name: name}})
	}
	if err := os.MkdirAll(filepath.Join(dir, "c", "component.yaml", "in-the-way"), 0o755); err != nil {
		t.Fatal(err)
	}
	err := b.Write()
	if err == nil || !strings.HasPrefix(err.Error(), "c/component.yaml: ") || strings.Contains(err.Error(), dir) ||
		!strings.HasSuffix(err.Error(), "; no file is written") {
		t.Errorf("%v", err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil || len(files) != 1 {
		t.Errorf("%v: %v", err, files)
	}
	if half, err := filepath.Glob(filepath.Join(dir, "*", ".*")); err != nil || len(half) > 0 {
		t.Errorf("%v: half-written %v", err, half)
	}
}
