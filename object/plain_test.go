package object_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ladder-cmp/ladder/object"
)

// TestPlain: what Kubernetes reads in another way than the library does.
func TestPlain(t *testing.T) {
	got, err := object.ParsePlain("a: 1\na: 2\nb: yes\nc: \"yes\"\nd: 2024-01-01\ne: &e {f: [x, null, 1.5]}\ng: {<<: *e, h: off}\ni: 0755\n")
	if err != nil {
		t.Fatal(err)
	}
	list := []any{"x", nil, 1.5}
	want := map[string]any{"a": 2, "b": true, "c": "yes", "d": "2024-01-01", "e": map[string]any{"f": list}, "g": map[string]any{"f": list, "h": false}, "i": 493}
	if diff := cmp.Diff(any(want), got); diff != "" {
		t.Error(diff)
	}
	if got, err := object.ParsePlain(""); got != nil || err != nil {
		t.Error(got, err)
	}
	if _, err := object.ParsePlain("a: ["); err == nil {
		t.Error("no YAML is read")
	}
}
