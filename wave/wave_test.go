package wave_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/graph/hooks"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/golden"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/wave"
)

// TestMain lets garbage lie longer: the tests keep the charts of the corpus, and otherwise collect a
// fifth of the time.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}

// assign orders objects; the options are words as in the name of a story's
// input: waves=compact author=keep jobs=hook tests=smoke hooks=order.
func assign(objs []object.Object, options ...string) (*wave.Plan, error) {
	objs, opt, err := read(objs, options)
	if err != nil {
		return nil, err
	}
	taken, err := take(objs, options)
	if err != nil {
		return nil, err
	}
	g, err := graph.Build(taken.Objects, knowledge.Default(), graph.Options{Namespace: "ns"})
	if err != nil {
		return nil, err
	}
	return wave.Assign(taken.Order(g), knowledge.Default(), opt)
}

// take takes the Helm hooks among objects into the order, if the options say so.
func take(objs []object.Object, options []string) (hooks.Taken, error) {
	if !slices.Contains(options, "hooks=order") {
		return hooks.Taken{Objects: objs}, nil
	}
	return hooks.Take(objs, knowledge.Default(), hooks.Options{Graph: graph.Options{Namespace: "ns"}})
}

// read returns the options, and the objects that they select.
func read(objs []object.Object, options []string) ([]object.Object, wave.Options, error) {
	var opt wave.Options
	for _, o := range options {
		name, value, _ := strings.Cut(o, "=")
		switch name {
		case "waves":
			opt.Waves = wave.Style(value)
		case "author":
			opt.Author = wave.AuthorPolicy(value)
		case "jobs":
			opt.Jobs = wave.Jobs(value)
		case "hooks": // assign takes them
		case "tests":
			var err error
			if objs, err = wave.ConvertTests(objs); err != nil {
				return nil, opt, err
			}
		default:
			return nil, opt, fmt.Errorf("there is no option %q", o)
		}
	}
	return objs, opt, nil
}

// TestStories orders each testdata/*.txtar, named for its story, and compares
// the table with the findings, and the references.
func TestStories(t *testing.T) {
	golden.Archives(t, "testdata/*.txtar", func(t *testing.T, in txtar.File) []txtar.File {
		objs, err := object.Parse("in.yaml", 1, string(in.Data))
		if err != nil {
			t.Fatal(err)
		}
		options := strings.Fields(in.Name)[1:]
		plan, err := assign(objs, options...)
		if err == nil {
			checkProperties(t, objs, options...)
		}
		order, refs := describe(plan, err)
		files := []txtar.File{golden.Text("order", order), golden.Text("references", refs)}
		if becomes := describeHooks(t, objs, options); becomes != "" {
			files = append(files, golden.Text("hooks", becomes))
		}
		if writes := describeWrites(t, plan); writes != "" {
			files = append(files, golden.Text("writes", writes))
		}
		return files
	})
}

func describe(plan *wave.Plan, err error) (order, refs string) {
	if err != nil {
		return describeFindings(finding.Of(err)), ""
	}
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, r := range plan.Table() {
		fmt.Fprintf(w, "%s\t%s\t%s\n", r.Wave, r.Object, r.Why)
	}
	w.Flush()
	return b.String() + describeFindings(plan.Findings), plan.Graph.String()
}

// describeWrites lists the annotations besides the wave that a plan writes.
func describeWrites(t *testing.T, plan *wave.Plan) string {
	t.Helper()
	if plan == nil {
		return ""
	}
	objs, err := plan.Annotate()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for at, i := range plan.Order {
		for _, f := range objs[at].Get("metadata", "annotations").Fields() {
			old, _ := plan.Graph.Nodes[i].Annotation(f.Key)
			if f.Key != object.SyncWave && f.Value.Text() != old {
				fmt.Fprintf(&b, "%s\n  %s: %s\n", plan.Graph.Nodes[i].Key, f.Key, f.Value.Text())
			}
		}
	}
	return b.String()
}

// describeHooks says what becomes of Helm hooks, with the annotations that they then have.
func describeHooks(t *testing.T, objs []object.Object, options []string) string {
	t.Helper()
	taken, err := take(objs, options)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for i := range taken.Decisions {
		d := &taken.Decisions[i]
		fmt.Fprintf(&b, "%s, %s: %s", d.Key, d.Was(), d.Form)
		if d.Form != hooks.Stays {
			fmt.Fprintf(&b, ", %s", d.Cause)
		}
		if d.Other != (object.ID{}) {
			fmt.Fprintf(&b, " %s", d.Other)
		}
		b.WriteByte('\n')
		for _, f := range d.After.Get("metadata", "annotations").Fields() {
			if d.Form != hooks.Stays && d.Form != hooks.Dropped {
				fmt.Fprintf(&b, "  %s: %s\n", f.Key, f.Value.Text())
			}
		}
	}
	return b.String()
}

func describeFindings(all []finding.Finding) string {
	var b strings.Builder
	for _, f := range all {
		fmt.Fprintf(&b, "%s: %s\n", f.Severity, f)
	}
	return b.String()
}

// checkProperties holds what must be true of every component: no object is
// lost, the input's order does not matter, our own output comes out unchanged,
// reasons are not circular, and Check finds nothing in an order that is ours alone.
func checkProperties(t *testing.T, objs []object.Object, options ...string) {
	t.Helper()
	plan, first := output(t, objs, options...)
	taken, err := take(objs, options)
	if err != nil {
		t.Fatal(err)
	}
	if len(first) != len(taken.Objects) {
		t.Fatalf("%d objects in, %d out", len(taken.Objects), len(first))
	}
	shuffled := append([]object.Object(nil), objs...)
	random := rand.New(rand.NewPCG(1, 2))
	for range ofWhole(3) {
		random.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		_, other := output(t, shuffled, options...)
		if diff := cmp.Diff(first, other); diff != "" {
			t.Fatalf("the order of the input matters:\n%s", diff)
		}
	}
	again, err := object.Parse("again", 1, "---\n"+strings.Join(first, "---\n"))
	if err != nil {
		t.Fatal(err)
	}
	_, other := output(t, again, options...)
	if diff := cmp.Diff(first, other); diff != "" {
		t.Errorf("our own output comes out changed:\n%s", diff)
	}
	checkReasons(t, plan)
	checkGates(t, plan, options...)
	if isOurs(objs) {
		checkHidden(t, plan)
	}
}

// checkReasons holds that no chain of reasons leads back to its own object.
func checkReasons(t *testing.T, plan *wave.Plan) {
	t.Helper()
	for i := range plan.Graph.Nodes {
		seen := map[int]bool{}
		for at := i; ; {
			because := plan.Places[at].Because
			if !slices.Contains([]wave.Cause{wave.ByReference, wave.ByConsumer, wave.ByController}, because.Cause) {
				break
			}
			seen[at] = true
			if at = because.Other; seen[at] {
				t.Errorf("the reasons of %s lead back to %s:\n%s", plan.Graph.Nodes[i].Key, plan.Graph.Nodes[at].Key, plan.Explain(i))
				break
			}
		}
	}
}

// isOurs reports whether nobody wrote a wave.
func isOurs(objs []object.Object) bool {
	return !slices.ContainsFunc(objs, func(o object.Object) bool {
		_, set := o.Wave()
		return set && o.InSync()
	})
}

// output returns the plan of objects, and the texts that they get.
func output(t *testing.T, objs []object.Object, options ...string) (*wave.Plan, []string) {
	t.Helper()
	plan, err := assign(objs, options...)
	if err != nil {
		t.Fatal(err)
	}
	ours := isOurs(objs)
	for _, f := range plan.Findings {
		if f.Rule == "cycle" {
			ours = false // there is no right order, and a finding says so
		}
	}
	for _, f := range plan.Check(knowledge.Default()) {
		if f.Rule == wave.NeverWorse {
			t.Errorf("the order is worse than Argo CD's own: %s", f)
		}
		// The other rules are about the input: what the phases of hooks forbid,
		// or what may never be healthy although something comes after it.
		fault := f.Rule == "late" || f.Rule == "unawaited" || f.Rule == "gate-without-dependent"
		if ours && fault && !slices.Contains(options, "waves=off") && !strings.HasPrefix(f.Message, "in phase") {
			t.Errorf("Check finds a fault in our own order: %s", f)
		}
	}
	annotated, err := plan.Annotate()
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, o := range annotated {
		texts = append(texts, o.Text())
	}
	return plan, texts
}

// TestCorpus holds the properties on what real charts render to.
func TestCorpus(t *testing.T) {
	golden.SomeCharts(t, func(t *testing.T, text string) {
		checkProperties(t, chart(t, text).objs)
	})
}

// checkGates holds that only what is needed makes a gate: without all references that say
// "may need", the same objects wait for the same objects, for the same reasons. It leaves
// them out of the finished graph: a step may still conclude a need from several of them.
func checkGates(t *testing.T, plan *wave.Plan, options ...string) {
	t.Helper()
	sure := *plan.Graph
	sure.References = slices.DeleteFunc(slices.Clone(plan.Graph.References), func(r graph.Reference) bool { return r.Need == graph.MayNeed })
	_, opt, err := read(nil, options)
	if err != nil {
		t.Fatal(err)
	}
	without, err := wave.Assign(&sure, knowledge.Default(), opt)
	if err != nil {
		t.Fatal(err)
	}
	gates := func(p *wave.Plan) (all []string) {
		for i := range p.Graph.Nodes {
			for _, d := range p.Dependents(i) {
				all = append(all, fmt.Sprintf("%s waits for %s: %s", p.Graph.Nodes[d.Node].Key, p.Graph.Nodes[i].Key, d.Reason))
			}
		}
		slices.Sort(all)
		return all
	}
	if diff := cmp.Diff(gates(plan), gates(without)); diff != "" {
		t.Errorf("what may be needed makes a gate (-with +without):\n%s", diff)
	}
}
