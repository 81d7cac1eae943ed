package wave_test

import (
	"encoding/json"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/ladder-cmp/ladder/internal/golden"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/wave"
)

// TestAudit compares what each testdata/audit/*.txtar is gated by.
func TestAudit(t *testing.T) {
	golden.Archives(t, "testdata/audit/*.txtar", func(t *testing.T, in txtar.File) []txtar.File {
		return []txtar.File{golden.Text("gates", wave.AuditText(audit(t, string(in.Data))))}
	})
}

func audit(t *testing.T, text string) []wave.Gate {
	t.Helper()
	objs, err := object.Parse("in.yaml", 1, text)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := assign(objs)
	if err != nil {
		t.Fatal(err)
	}
	return plan.Audit(knowledge.Default())
}

// TestAuditCorpus holds what must be true of the gates of every chart.
func TestAuditCorpus(t *testing.T) {
	golden.EachChart(t, func(t *testing.T, text string) {
		plan := chart(t, text).plan
		gates := plan.Audit(knowledge.Default())
		total := 0
		for i, g := range gates {
			total += g.Objects
			last := i == len(gates)-1
			if !g.Awaited && !last || g.NoHealthChecks && last || g.NoHealthChecks && len(g.GatedBy)+len(g.Hangs) > 0 {
				t.Errorf("%s of %d gates: %+v", g.Moment(), len(gates), g)
			}
			for _, o := range g.WithoutHealthCheck {
				if o.Why == "" || strings.Contains(o.Object, "\n") {
					t.Errorf("%+v", o)
				}
			}
		}
		if total == 0 {
			t.Error("no object stands in a gate")
		}
		if data, err := json.Marshal(gates); err != nil || !json.Valid(data) {
			t.Error(err)
		}
		if one, two := wave.AuditText(gates), wave.AuditText(plan.Audit(knowledge.Default())); one != two {
			t.Error("two audits differ")
		}
	})
}
