package cluster_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ladder-cmp/ladder/argocd/cluster"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
)

// TestChecksChildren tells configurations with which Argo CD waits for children
// from those with which it does not.
func TestChecksChildren(t *testing.T) {
	configMap, values := cluster.ChildHealthCheck(knowledge.Default())
	key := "resource.customizations.health.argoproj.io_Application: "
	for name, c := range map[string]struct{ text, want string }{
		"what is printed":       {configMap, ""},
		"the same as values":    {values, ""},
		"the old key":           {"data:\n  resource.customizations: |\n    argoproj.io/Application:\n      health.lua: |\n        hs = {status = 'Progressing'}\n        if obj.status ~= nil and obj.status.health ~= nil then hs.status = obj.status.health.status end\n        return hs\n", ""},
		"none":                  {"data: {url: https://argocd.example.com}", "no health check"},
		"healthy whatever":      {"data:\n  " + key + "return {status = 'Healthy'}", `returns "Healthy" for a child that is Degraded`},
		"stumbles":              {"data:\n  " + key + "return {status = obj.status.health.status}", "fails: "},
		"it does not look":      {"data:\n  " + key + "return {status = 'Progressing'}", "for a child that is Healthy"},
		"no YAML":               {"data: [", "pass the argocd-cm ConfigMap"},
		"it reads files itself": {"data:\n  " + key + "dofile('/etc/passwd')", "fails: "},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := cluster.ChecksChildren(t.Context(), "argocd-cm.yaml", c.text)
			err = errors.Join(err, finding.Err(found))
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
