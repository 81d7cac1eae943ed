package graph_test

import (
	"testing"

	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/internal/deprecated"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// TestDeprecatedAnnotations compares the documented names of annotations with those
// that are read: an old name has the effect of the new one, and a warning.
func TestDeprecatedAnnotations(t *testing.T) {
	values := map[string]string{graph.After: "ConfigMap/other", graph.NotAfter: "ConfigMap/other", graph.OnRung: "secrets"}
	build := func(key, value string) *graph.Graph {
		t.Helper()
		objs, err := object.Parse("in.yaml", 1, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {"+key+": "+value+"}}}\n"+
			"---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: other}}\n")
		if err != nil {
			t.Fatal(err)
		}
		g, err := graph.Build(objs, knowledge.Default(), graph.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	for _, n := range deprecated.Names() {
		if n.What != deprecated.Annotation {
			continue
		}
		value, known := values[n.New]
		if !known {
			t.Errorf("%s is documented as the new name of %s, and not read", n.New, n.Old)
			continue
		}
		delete(values, n.New)
		was, is := build(n.Old, value), build(n.New, value)
		if len(was.References) != len(is.References) || was.Nodes[0].Role != is.Nodes[0].Role {
			t.Errorf("%s differs from %s:\n%s\n%s", n.Old, n.New, was, is)
		}
		if len(was.Findings) != 1 || was.Findings[0].Rule != "deprecated" || len(is.Findings) != 0 {
			t.Errorf("%s: %v; %s: %v", n.Old, was.Findings, n.New, is.Findings)
		}
	}
	if len(values) > 0 {
		t.Errorf("annotations without an old name: %v", values)
	}
}
