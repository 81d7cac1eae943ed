package cluster

import (
	"slices"
	"strings"
	"testing"

	"github.com/ladder-cmp/ladder/argocd"
	"github.com/ladder-cmp/ladder/argocd/health"
	"github.com/ladder-cmp/ladder/knowledge"
)

// TestCheckChildHealth tells health checks with which Argo CD waits for children from those with
// which it does not.
func TestCheckChildHealth(t *testing.T) {
	checks := health.Checks(knowledge.Default().KindsWithStatus())
	own := checks[slices.IndexFunc(checks, func(c health.Check) bool { return c.Key == health.Key(argocd.Group, "Application") })]
	for name, c := range map[string]struct{ script, want string }{
		"what is printed": {own.Script, ""},
		"healthy whatever": {"return {status = 'Healthy'}",
			`returns "Healthy" for a child that has no status yet, or that is Progressing, or that is Degraded`},
		"stumbles": {"return {status = obj.status.health.status}", "fails: "},
		"as Argo CD documents it": {documented,
			`returns "Healthy" for a child that could not be synced (Healthy since Argo CD 3.4.2), or that has not been compared`},
		"it does not look":      {"return {status = 'Progressing'}", "for a child that is Healthy"},
		"it reads files itself": {"dofile('/etc/passwd')", "fails: "},
	} {
		got := strings.Join(checkChildHealth(t.Context(), c.script), "\n")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// documented is a check with the meaning of that of Argo CD's documentation
// (docs/operator-manual/health.md).
const documented = "return {status = ((obj.status or {}).health or {}).status or 'Progressing'}"
