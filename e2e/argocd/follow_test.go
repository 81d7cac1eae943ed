package argocd

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestRaced(t *testing.T) {
	webhook := `Beacon/north: Internal error occurred: failed calling webhook "beacons.example.com": failed to call webhook: ` +
		`Post "https://beacon.shop.svc:443/validate": dial tcp 10.0.0.7:443: connect: connection refused`
	kind := `Beacon/south: resource mapping not found for name: "south": no matches for kind "Beacon" in version "beacon.example.com/v1"`
	denied := `Beacon/north: admission webhook "beacons.example.com" denied the request: no message`
	for _, c := range []struct {
		errors []string
		want   bool
	}{
		{nil, false},
		{[]string{webhook}, true},
		{[]string{webhook, kind}, true},
		{[]string{webhook, denied}, false},
		{[]string{"Beacon/north: connection refused"}, false},
	} {
		if got := (Outcome{Errors: c.errors}).Raced(); got != c.want {
			t.Errorf("Raced of %q: %v; want %v", c.errors, got, c.want)
		}
	}
}

func TestOverlooked(t *testing.T) {
	beacon := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{"group": "beacon.example.com", "names": map[string]any{"kind": "Beacon"}},
		"status": map[string]any{"conditions": []any{
			map[string]any{"type": "NamesAccepted", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"},
			map[string]any{"type": "Established", "status": "True", "lastTransitionTime": "2026-01-01T00:00:10Z"},
		}},
	}}
	kind := `Beacon/south: resource mapping not found for name: "south": no matches for kind "Beacon" in version "beacon.example.com/v1"`
	lantern := `Lantern/east: no matches for kind "Lantern" in version "beacon.example.com/v1"`
	for _, c := range []struct {
		result Result
		ended  int // seconds after midnight
		errors []string
		want   bool
	}{
		{Failed, 15, []string{kind}, true},
		{Failed, 11, []string{kind}, false}, // in the wave of its definition
		{Failed, 5, []string{kind}, false},
		{Failed, 15, []string{kind, lantern}, false},
		{Failed, 15, []string{kind, "Beacon/north: denied"}, false},
		{Failed, 15, nil, false},
		{Synced, 15, []string{kind}, false},
	} {
		op := &Operation{FinishedAt: time.Date(2026, 1, 1, 0, 0, c.ended, 0, time.UTC)}
		out := Outcome{Result: c.result, Errors: c.errors, Status: Status{OperationState: op}}
		if got := out.Overlooked([]*unstructured.Unstructured{beacon}); got != c.want {
			t.Errorf("Overlooked of %q after %d s, %s: %v; want %v", c.errors, c.ended, c.result, got, c.want)
		}
	}
}
