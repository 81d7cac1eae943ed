package wave_test

import (
	"math/rand/v2"
	"testing"

	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/internal/golden"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/wave"
)

// checkHidden invents dependencies that no manifest shows, and holds that what
// Argo CD's own order brings to health, ours does, too, unless it waits for the
// sake of a dependent: then the object in vain is one that the dependent needs, or stands
// beside it. A wave with a hook is awaited in any order; what may never be healthy comes
// behind it.
func checkHidden(t *testing.T, plan *wave.Plan) (tried, excused int) {
	t.Helper()
	annotated, err := plan.Annotate()
	if err != nil {
		t.Fatal(err)
	}
	sync := newSimulation(annotated, knowledge.Default())
	needed, awaited := neededByDependents(plan), map[int]bool{}
	for _, o := range sync.Objects() {
		if wave, _ := o.Wave(); o.IsHook() || needed[o.ID] {
			awaited[wave] = true
		}
	}
	pairs, harm := sync.Pairs()
	sets, more := sync.Sets(rand.New(rand.NewPCG(5, 6)), 200, 5)
	for _, h := range append(harm, more...) {
		stuck := sync.Objects()[h.Stuck]
		if wave, _ := stuck.Wave(); !awaited[wave] {
			t.Errorf("it waits in vain, and for nobody's sake, for %s", stuck.ID)
		}
	}
	return pairs + sets, len(harm) + len(more)
}

// neededByDependents are the objects for whose sake a dependent waits, and what these
// need.
func neededByDependents(plan *wave.Plan) map[object.ID]bool {
	g := plan.Graph
	needs := make([][]int, len(g.Nodes))
	for _, r := range g.References {
		needs[r.From] = append(needs[r.From], r.To)
		if r.Until == graph.Together {
			needs[r.To] = append(needs[r.To], r.From)
		}
	}
	needed := make([]bool, len(g.Nodes))
	var work []int
	for i := range g.Nodes {
		if len(plan.Dependents(i)) > 0 {
			work = append(work, i)
		}
	}
	ids := map[object.ID]bool{}
	for len(work) > 0 {
		at := work[len(work)-1]
		work = work[:len(work)-1]
		if needed[at] {
			continue
		}
		needed[at] = true
		ids[g.Nodes[at].ID] = true
		work = append(work, needs[at]...)
	}
	return ids
}

// TestHidden holds it on what real charts render to.
func TestHidden(t *testing.T) {
	tried, excused := 0, 0
	golden.SomeCharts(t, func(t *testing.T, text string) {
		a, b := checkHidden(t, chart(t, text).plan)
		tried, excused = tried+a, excused+b
	})
	t.Logf("of %d invented dependencies %d would hang, each at an object that a dependent needs", tried, excused)
}
