package wave_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/wave"
)

// TestNeverWorse holds that Check sees an order that hangs although Argo CD's own does not: the
// wait of the Deployment for its ServiceAccount is certain, that for a call is not, and the
// waves of an author are Argo CD's own order.
func TestNeverWorse(t *testing.T) {
	const text = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {template: {spec: {serviceAccountName: %s, containers: [{name: c, image: "w:1", args: ["--api=http://api:80"]}]}}}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: web}}
---
{apiVersion: v1, kind: Service, metadata: {name: api}, spec: {selector: {app: api}, ports: [{port: 80}]}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: api}, spec: {template: {metadata: {labels: {app: api}}, spec: {containers: [{name: c, image: "a:1"}]}}}}
`
	for _, tt := range []struct {
		name, late, user string
		written, worse   bool
	}{
		{"certain", "ServiceAccount", "web", false, true},
		{"of the author", "ServiceAccount", "web", true, false},
		{"inferred", "Service", "other", false, false},
	} {
		objs, err := object.Parse("in.yaml", 1, fmt.Sprintf(text, tt.user))
		if err != nil {
			t.Fatal(err)
		}
		for i, o := range objs {
			if tt.written && o.ID.Kind == tt.late {
				if objs[i], err = o.Annotate(object.SyncWave, "1"); err != nil {
					t.Fatal(err)
				}
			}
		}
		plan, err := assign(objs)
		if err != nil {
			t.Fatal(err)
		}
		for i := range plan.Graph.Nodes {
			if plan.Graph.Nodes[i].ID.Kind == tt.late {
				plan.Places[i].Wave = 1
			}
		}
		worse := slices.ContainsFunc(plan.Check(knowledge.Default()), func(f finding.Finding) bool { return f.Rule == wave.NeverWorse })
		if worse != tt.worse {
			t.Errorf("%s: worse %v, want %v", tt.name, worse, tt.worse)
		}
	}
}
