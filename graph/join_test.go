package graph_test

import (
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/internal/golden"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// TestJoin finds the references between the components of each story: every file
// of an archive but the last is one, and all go to the namespace shop.
func TestJoin(t *testing.T) {
	files, err := filepath.Glob("testdata/join/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("there is no story", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var parts []graph.Part
			for _, f := range ar.Files[:len(ar.Files)-1] {
				objs, err := object.Parse(f.Name, 1, string(f.Data))
				if err != nil {
					t.Fatal(err)
				}
				parts = append(parts, graph.Part{Objects: objs, Namespace: "shop"})
			}
			g, err := graph.Join(parts, knowledge.Default())
			if err != nil {
				t.Fatal(err)
			}
			ar.Files[len(ar.Files)-1] = golden.Text("graph", g.String())
			golden.File(t, file, string(txtar.Format(ar)))
		})
	}
}
