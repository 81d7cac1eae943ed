package simulate_test

import (
	"testing"

	"github.com/ladder-cmp/ladder/internal/simulate"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// three are a Secret and two workloads in waves of their own.
const three = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: early, annotations: {argocd.argoproj.io/sync-wave: "1"}}}
---
{apiVersion: v1, kind: Secret, metadata: {name: late, annotations: {argocd.argoproj.io/sync-wave: "2"}}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: last, annotations: {argocd.argoproj.io/sync-wave: "2"}}}
`

func TestPlay(t *testing.T) {
	objs, err := object.Parse("three.yaml", 1, three)
	if err != nil {
		t.Fatal(err)
	}
	s := simulate.New(objs, knowledge.Default())
	const early, late, last = 0, 1, 2
	for _, tt := range []struct {
		name    string
		needs   []simulate.Need
		stuck   int
		healthy bool
	}{
		{"nothing", nil, -1, true},
		{"what comes later", []simulate.Need{{From: early, To: late}}, early, false},
		{"what came before", []simulate.Need{{From: last, To: early}}, -1, true},
		{"itself over another one", []simulate.Need{{From: last, To: late}, {From: early, To: last}}, early, false},
		{"each other, in the last wave", []simulate.Need{{From: last, To: last}}, -1, false},
	} {
		stuck, healthy := s.Run(tt.needs)
		if stuck != tt.stuck || healthy != tt.healthy {
			t.Errorf("%s: stuck at %d, healthy %v; want %d, %v", tt.name, stuck, healthy, tt.stuck, tt.healthy)
		}
		if stuck, _ := s.WithoutWaves().Run(tt.needs); stuck != -1 {
			t.Errorf("%s: without waves it is stuck at %d", tt.name, stuck)
		}
	}
	// Of the four pairs, the first Deployment may need the two of the wave after it.
	if tried, harm := s.Pairs(); tried != 4 || len(harm) != 2 {
		t.Errorf("%d pairs, %d do harm; want 4, 2", tried, len(harm))
	}
}
