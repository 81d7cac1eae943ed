package wave_test

import (
	"testing"

	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/wave"
)

// TestHardCycle makes sure that a circle of hard references is an error that
// spells out every step of it with its reason.
func TestHardCycle(t *testing.T) {
	objs, err := object.Parse("in.yaml", 1, `apiVersion: v1
kind: ConfigMap
metadata: {name: a}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: b}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: d}
`)
	if err != nil {
		t.Fatal(err)
	}
	g, err := graph.Build(objs, knowledge.Default(), graph.Options{Namespace: "ns"})
	if err != nil {
		t.Fatal(err)
	}
	hard := func(from, to int, why string, until graph.State) graph.Reference {
		return graph.Reference{From: from, To: to, Why: why, Until: until, Fails: graph.Refused, Sign: graph.Record}
	}
	g.References = []graph.Reference{
		hard(2, 0, "is admitted by", graph.Healthy),
		hard(0, 1, "is defined by", graph.Healthy),
		hard(1, 2, "needs", graph.Exists),
		hard(3, 1, "stands aside and watches", graph.Healthy),
	}
	_, err = wave.Assign(g, knowledge.Default(), wave.Options{})
	const want = "in.yaml:1: ConfigMap ns/a: these objects wait for each other: " +
		"ConfigMap ns/a is defined by ConfigMap ns/b, which needs ConfigMap ns/c, which is admitted by ConfigMap ns/a; " +
		"fix: remove one of these references, or move one of the objects to another component"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}
