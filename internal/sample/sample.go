// Package sample provides manifests and plans for tests, and names that are difficult to escape.
package sample

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/kustomize/kyaml/yaml/merge2"

	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/wave"
)

// Awkward are names with special syntax in some format.
var Awkward = []string{
	`quote"d`, `<b>bold</b>`, `a & b &amp; &#60;`, `[x](y){z}`, `back\slash\N\`, "line\nbreak", "escape\x1b[2J", "turn\u202earound",
	`#35;hash;`, "`tick`", `a|b`, `%%{init: {}}%%`, `x --> y`, `end`, `style a:#b;c`, `]]>`, `Zoë`, `名前`, `🦓`, "soft\u00adhyphen",
	`</script><img src=x onerror=alert(1)>`, `<!--<script>`, `-->`, `</noscript><b>`, `"'\`, "end\u2028of line", `&lt;b&gt;`, `{{.}}`,
}

// Objects parses manifests.
func Objects(t *testing.T, manifests string) []object.Object {
	t.Helper()
	objs, err := object.Parse("in.yaml", 1, manifests)
	if err != nil {
		t.Fatal(err)
	}
	return objs
}

// Plan returns the plan of objects deployed to the namespace "demo".
func Plan(t *testing.T, objs []object.Object) *wave.Plan {
	t.Helper()
	g, err := graph.Build(objs, knowledge.Default(), graph.Options{Namespace: "demo"})
	if err != nil {
		t.Fatal(err)
	}
	p, err := wave.Assign(g, knowledge.Default(), wave.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Shuffled returns the objects in several other orders, deterministically.
func Shuffled(objs []object.Object) [][]object.Object {
	random := rand.New(rand.NewPCG(1, 2))
	orders := make([][]object.Object, 5)
	for k := range orders {
		orders[k] = slices.Clone(objs)
		random.Shuffle(len(objs), func(i, j int) { orders[k][i], orders[k][j] = orders[k][j], orders[k][i] })
	}
	return orders
}

// Patched merges documents into those of the same kind and name, and adds the
// others.
func Patched(t *testing.T, base, patch string) string {
	t.Helper()
	docs := strings.Split(base, "\n---\n")
	for _, change := range strings.Split(patch, "\n---\n") {
		c := kyaml.MustParse(change)
		is := func(doc string) bool {
			d := kyaml.MustParse(doc)
			return d.GetKind() == c.GetKind() && d.GetName() == c.GetName()
		}
		at := slices.IndexFunc(docs, is)
		if at < 0 {
			docs = append(docs, change)
			continue
		}
		merged, err := merge2.MergeStrings(change, docs[at], true, kyaml.MergeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		docs[at] = merged
	}
	docs = slices.DeleteFunc(docs, func(doc string) bool { return strings.TrimSpace(doc) == "" })
	return strings.Join(docs, "\n---\n")
}
