package wave_test

import (
	"hash/crc64"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/golden"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/wave"
)

// TestErrorsAreCertain holds on the stories in arbitrary waves and phases that an error about
// the order rests on certain references only: if one link between the object and what it
// names is inferred, or the object can be healthy without it, the same fault is not an error.
func TestErrorsAreCertain(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	rounds, tried, byRule := 2, 0, map[string]int{}
	if golden.WholeCorpus() {
		rounds = 4
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		objs, err := object.Parse("in.yaml", 1, string(txtar.Parse(data).Files[0].Data))
		if err != nil {
			continue
		}
		random := rand.New(rand.NewPCG(9, crc64.Checksum([]byte(file), crc64.MakeTable(crc64.ISO)))) // whatever other stories there are
		for range rounds {
			g, err := graph.Build(inArbitraryOrder(t, objs, random), knowledge.Default(), graph.Options{Namespace: "ns"})
			if err != nil {
				continue
			}
			byRule["cycle"] += checkCycles(t, file, g)
			plan, err := wave.Assign(g, knowledge.Default(), wave.Options{Waves: wave.Off})
			if err != nil {
				continue
			}
			for _, f := range orderErrors(plan) {
				names := append([]string{f.Object}, strings.Split(f.About, ", ")...)
				for at := range names[1:] {
					tried++
					byRule[string(f.Rule)]++
					for _, how := range []graph.Reference{{Sign: graph.Convention}, {Fails: graph.Lacks}} {
						weak := *plan
						weak.Graph = weaken(plan.Graph, names[at], names[at+1], how)
						if slices.ContainsFunc(orderErrors(&weak), func(still finding.Finding) bool {
							return still.Object == f.Object && still.Message == f.Message
						}) {
							t.Errorf("%s: an error that does not rest on the link between %s and %s (%s, %s): %s",
								file, names[at], names[at+1], how.Sign, how.Fails, f)
						}
					}
				}
			}
		}
	}
	if byRule["late"] < 100 || byRule["other-phase"] < 100 || byRule["cycle"] < 10 {
		t.Errorf("only %d links of errors were tried: %v", tried, byRule)
	}
}

// checkCycles holds that no circle is an error if one of its references is inferred, or can be
// done without, apart from those of annotations.
func checkCycles(t *testing.T, file string, g *graph.Graph) int {
	t.Helper()
	tried := 0
	_, err := wave.Assign(g, knowledge.Default(), wave.Options{Author: wave.Override})
	for _, f := range finding.Of(err) {
		names := strings.Split(f.About, ", ")
		for at, name := range names {
			for _, how := range []graph.Reference{{Sign: graph.Convention}, {Fails: graph.Lacks}} {
				weak := weaken(g, name, names[(at+1)%len(names)], how)
				if slices.Equal(weak.References, g.References) {
					continue
				}
				tried++
				_, err := wave.Assign(weak, knowledge.Default(), wave.Options{Author: wave.Override})
				if slices.ContainsFunc(finding.Of(err), func(still finding.Finding) bool { return still.Message == f.Message }) {
					t.Errorf("%s: an error that does not rest on the link from %s (%s, %s): %s", file, name, how.Sign, how.Fails, f)
				}
			}
		}
	}
	return tried
}

// inArbitraryOrder returns the objects, each in one of three waves, and some in other phases.
func inArbitraryOrder(t *testing.T, objs []object.Object, random *rand.Rand) []object.Object {
	t.Helper()
	objs = slices.Clone(objs)
	for i := range objs {
		moved := []object.Annotation{{Key: object.SyncWave, Value: strconv.Itoa(random.IntN(3))}}
		if phase := random.IntN(8); phase < 2 {
			moved = append(moved, object.Annotation{Key: object.Hook, Value: []string{"PreSync", "PostSync"}[phase]})
		}
		var err error
		if objs[i], err = objs[i].AnnotateAll(moved); err != nil {
			t.Fatal(err)
		}
	}
	return objs
}

// orderErrors returns the errors of a plan that are about two objects or more.
func orderErrors(plan *wave.Plan) []finding.Finding {
	return slices.DeleteFunc(plan.Check(knowledge.Default()), func(f finding.Finding) bool {
		return f.Severity != finding.Error || f.About == ""
	})
}

// weaken returns the graph with weaker references between two objects: with the sign, or the
// effect, of another one.
func weaken(g *graph.Graph, a, b string, how graph.Reference) *graph.Graph {
	weak := *g
	weak.References = slices.Clone(g.References)
	for i := range weak.References {
		r := &weak.References[i]
		from, to := g.Nodes[r.From].Key.String(), g.Nodes[r.To].Key.String()
		if (from == a && to == b || from == b && to == a) && !r.Explicit() {
			if how.Sign != 0 {
				r.Sign = how.Sign
			} else {
				r.Fails = how.Fails
			}
		}
	}
	return &weak
}
