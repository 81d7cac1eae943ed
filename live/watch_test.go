package live_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ladder-cmp/ladder/internal/golden"
	"github.com/ladder-cmp/ladder/live"
	"github.com/ladder-cmp/ladder/object"
)

// TestWatch prints each position once, with the time that the one before took.
func TestWatch(t *testing.T) {
	const head = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: shop, namespace: argocd}\n"
	waits := func(names ...string) string {
		entries := ""
		for _, n := range names {
			entries += "{kind: ConfigMap, namespace: ns, name: " + n + ", syncPhase: Sync, hookPhase: Running}, "
		}
		return head + "operation: {sync: {}}\nstatus: {operationState: {phase: Running, syncResult: {resources: [" + entries + "]}}}\n"
	}
	var w live.Watch
	var got []string
	for i, text := range []string{waits("a"), waits("a"), waits("b", "c", "d", "e"),
		head + "status: {operationState: {phase: Succeeded, finishedAt: x}}"} {
		snap := live.Snapshot{Now: int64(100 + 30*i), Objects: golden.Must(object.Parse("in.yaml", 1, text)),
			Application: object.ID{Group: "argoproj.io", Kind: "Application", Namespace: "argocd", Name: "shop"}}
		lines, ended := w.See(snap)
		got = append(got, lines...)
		if ended != (i == 3) {
			t.Errorf("%d: ended: %t", i, ended)
		}
	}
	want := []string{
		"Sync, wave 0: waits for ConfigMap ns/a", "  after 60 seconds",
		"Sync, wave 0: waits for ConfigMap ns/b, ConfigMap ns/c, ConfigMap ns/d, 1 more", "  after 30 seconds", "Succeeded",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
