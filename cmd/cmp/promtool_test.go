//go:build promtool

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestPromtool has Prometheus's own tool parse all expressions and run the
// tests of the alerts. Debian's package prometheus has it. Since a
// machine may lack it, the test runs with -tags promtool only.
func TestPromtool(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Fatal("promtool is missing; apt-get install prometheus")
	}
	var rules []map[string]string
	for i, e := range expressions(t) {
		rules = append(rules, map[string]string{"record": fmt.Sprintf("e%d", i), "expr": e.text})
	}
	text, err := yaml.Marshal(map[string]any{"groups": []map[string]any{{"name": "all", "rules": rules}}})
	if err != nil {
		t.Fatal(err)
	}
	all := filepath.Join(t.TempDir(), "all.yaml")
	if err := os.WriteFile(all, text, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"check", "rules", all},
		{"check", "rules", filepath.Join(monitoringDir, "rules.yaml")},
		{"test", "rules", "testdata/rules_test.yaml"},
	} {
		if out, err := exec.Command(promtool, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}
