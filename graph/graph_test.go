package graph

import (
	"strings"
	"testing"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// What references are found is told by the stories in ../wave/testdata, each of
// which holds its graph as text.

// TestDuplicatesOnce: objects of one place that are alike but for their content are
// told of once, however many there are.
func TestDuplicatesOnce(t *testing.T) {
	var objs []object.Object
	for _, data := range []string{"a", "b", "c", "d"} {
		some, err := object.Parse("kustomization.yaml", 0, "{apiVersion: v1, kind: ConfigMap, metadata: {name: web}, data: {is: "+data+"}}")
		if err != nil {
			t.Fatal(err)
		}
		objs = append(objs, some...)
	}
	_, err := Build(objs, knowledge.Default(), Options{})
	if all := finding.Of(err); len(all) != 1 || !strings.Contains(all[0].Message, "with different content") {
		t.Errorf("found %v", all)
	}
}
