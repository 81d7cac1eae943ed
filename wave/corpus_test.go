package wave_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"text/tabwriter"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/golden"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/wave"
)

func readLabels(t *testing.T, file string, into any) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	d := yaml.NewDecoder(bytes.NewReader(data))
	d.KnownFields(true)
	if err := d.Decode(into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

func planOf(t *testing.T, text string) *wave.Plan {
	t.Helper()
	objs, err := object.Parse("corpus", 1, text)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := assign(objs)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// ordered is a chart of the corpus: its objects and their order.
type ordered struct {
	objs []object.Object
	plan *wave.Plan
}

// charts keeps the charts by their texts. Most tests of the corpus only read the same orders.
var charts = map[string]ordered{}

func chart(t *testing.T, text string) ordered {
	t.Helper()
	c, known := charts[text]
	if !known {
		var err error
		if c.objs, err = object.Parse("corpus", 1, text); err != nil {
			t.Fatal(err)
		}
		if c.plan, err = assign(c.objs); err != nil {
			t.Fatal(err)
		}
		charts[text] = c
	}
	return c
}

// TestControllersOfCorpus compares the workloads that are taken for controllers
// with what they are, and holds the share of mistakes down. What is arguable
// is listed and counts for nothing.
func TestControllersOfCorpus(t *testing.T) {
	var labels map[string][]struct {
		Workload, Label, Why string
		Arguable             bool
	}
	readLabels(t, "testdata/corpus/roles.yaml", &labels)
	var truePositive, falsePositive, falseNegative, trueNegative, arguable int
	var table bytes.Buffer
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	golden.EachChart(t, func(t *testing.T, text string) {
		plan := chart(t, text).plan
		name := t.Name()[strings.LastIndex(t.Name(), "/")+1:]
		for _, l := range labels[name] {
			found := plan.Find(l.Workload)
			if len(found) != 1 {
				t.Fatalf("%s: %s is there %d times", name, l.Workload, len(found))
			}
			n := plan.Graph.Nodes[found[0]]
			is, taken := l.Label == "controller", n.Role == knowledge.Controllers && !n.Companion
			verdict := ""
			switch {
			case l.Arguable:
				arguable++
				if is != taken {
					verdict = "arguable"
				}
			case is && taken:
				truePositive++
			case is:
				falseNegative++
				verdict = "missed"
			case taken:
				falsePositive++
				verdict = "mistaken"
			default:
				trueNegative++
			}
			if verdict != "" {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", verdict, name, l.Workload, l.Why, n.RoleWhy)
			}
		}
	})
	w.Flush()
	precision := float64(truePositive) / float64(truePositive+falsePositive)
	recall := float64(truePositive) / float64(truePositive+falseNegative)
	golden.File(t, "testdata/corpus/roles.want.txt", fmt.Sprintf(
		"%d controllers found, %d missed, %d others mistaken for one, %d others not; %d arguable\nprecision %.3f, recall %.3f\n%s",
		truePositive, falseNegative, falsePositive, trueNegative, arguable, precision, recall, table.String()))
	if precision < 0.97 || recall < 0.95 {
		t.Errorf("precision %.3f, want 0.97; recall %.3f, want 0.95", precision, recall)
	}
}

// TestStartOfCorpus holds that what a workload needs to start never comes in a
// wave after it, as far as it is in the component at all.
func TestStartOfCorpus(t *testing.T) {
	var needs map[string][]string
	readLabels(t, "testdata/corpus/startup.yaml", &needs)
	golden.EachChart(t, func(t *testing.T, text string) {
		plan := chart(t, text).plan
		for _, line := range needs[t.Name()[strings.LastIndex(t.Name(), "/")+1:]] {
			names, why, _ := strings.Cut(line, ": ")
			from, to, ok := strings.Cut(names, " needs ")
			if !ok {
				t.Fatalf("%q is no need", line)
			}
			for _, a := range plan.Find(from) {
				for _, b := range plan.Find(to) {
					if plan.Places[a].Computed && plan.Places[b].Computed && plan.Places[b].Wave > plan.Places[a].Wave {
						t.Errorf("%s stands in wave %d and needs %s in wave %d: %s", from, plan.Places[a].Wave, to, plan.Places[b].Wave, why)
					}
				}
			}
		}
	})
}

// TestCorpusTable keeps the table in testdata/corpus: what Ladder makes of each
// rendered chart.
func TestCorpusTable(t *testing.T) {
	var b strings.Builder
	b.WriteString(`# Waves of real charts

This page shows how Ladder orders charts of public projects. The charts are rendered with default values
(` + "`helm template rel CHART -n ns --include-crds`" + `) and ordered by ` + "`cmp render -`" + `.

| column | counts |
| --- | --- |
| waves, compact | waves of the Sync phase, with ` + "`waves: rungs`" + ` and with ` + "`waves: compact`" + ` |
| gates | references whose target must be healthy first |
| inferred | references that Ladder infers from addresses, RBAC and conventions |
| errors, warnings | findings: an error certainly stops a first sync, a warning may |

| chart | objects | waves | compact | references | gates | inferred | errors | warnings |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
`)
	golden.EachChart(t, func(t *testing.T, text string) {
		objs, plan := chart(t, text).objs, chart(t, text).plan
		compact, err := wave.Assign(plan.Graph, knowledge.Default(), wave.Options{Waves: wave.Compact})
		if err != nil {
			t.Fatal(err)
		}
		gates, inferred := 0, 0
		for _, r := range plan.Graph.References {
			if r.Need == graph.Needs && r.Until == graph.Healthy && plan.Places[r.From].Computed && plan.Places[r.To].Computed {
				gates++
			}
			if r.Inferred() && r.Until != graph.Together {
				inferred++
			}
		}
		count := map[finding.Severity]int{}
		for _, f := range plan.Findings {
			count[f.Severity]++
		}
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %d | %d | %d | %d |\n", t.Name()[strings.LastIndex(t.Name(), "/")+1:], len(objs),
			plan.Waves(), compact.Waves(), len(plan.Graph.References), gates, inferred, count[finding.Error], count[finding.Warning])
	})
	golden.File(t, "testdata/corpus/table.md", b.String())
}
