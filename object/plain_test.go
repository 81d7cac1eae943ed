package object_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/object"
)

// TestPlain: what Kubernetes reads in another way than the library does.
func TestPlain(t *testing.T) {
	var doc yaml.Node
	err := yaml.Unmarshal([]byte("a: 1\na: 2\nb: yes\nc: \"yes\"\nd: 2024-01-01\ne: &e {f: [x, null, 1.5]}\n"+
		"g: {<<: *e, h: off}\ni: 0755\n"), &doc)
	if err != nil {
		t.Fatal(err)
	}
	got := object.ValueOf(doc.Content[0]).Plain()
	list := []any{"x", nil, 1.5}
	want := map[string]any{"a": 2, "b": true, "c": "yes", "d": "2024-01-01", "e": map[string]any{"f": list},
		"g": map[string]any{"f": list, "h": false}, "i": 493}
	if diff := cmp.Diff(any(want), got); diff != "" {
		t.Error(diff)
	}
}
