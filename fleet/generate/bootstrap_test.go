package generate_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/fleettest"
	"github.com/ladder-cmp/ladder/fleet/generate"
	"github.com/ladder-cmp/ladder/internal/golden"
)

// TestBootstrap keeps the files and the script for what Argo CD needs, which a
// POSIX shell must be able to read.
func TestBootstrap(t *testing.T) {
	f := fleettest.InRepository(t, "bootstrap")
	made, notes, err := generate.NewBootstrap(f, generate.BootstrapOptions{Until: component.Step{Number: 20, Set: true}})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, s := range made.Steps {
		fmt.Fprintf(&b, "=== %s.yaml: %s\n%s", s.Name, s.About, s.Text)
	}
	b.WriteString("=== notes\n" + fleettest.Texts(notes))
	const dir = "../../testdata/fleets/bootstrap/"
	golden.File(t, dir+"want.bootstrap.txt", b.String())
	golden.File(t, dir+"want.apply.sh", made.Script())
	golden.File(t, dir+"want.talos.yaml", made.Talos())
	for _, checker := range [][]string{{"sh", "-n"}, {"shellcheck", "--shell=sh"}} {
		if _, err := exec.LookPath(checker[0]); err != nil && checker[0] != "sh" {
			continue // sh reads it on every machine
		}
		cmd := exec.Command(checker[0], append(checker[1:], dir+"want.apply.sh")...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %v\n%s", checker, err, out)
		}
	}
}

// TestBootstrapRefuses what cannot be applied before Argo CD is there.
func TestBootstrapRefuses(t *testing.T) {
	for _, c := range []struct {
		fleet string
		until int
		want  string
	}{
		{"bootstrap", 5, "the first one, gateway-api, is in step 010"},
		{"rollout", 120, "the chart of cert-manager is in another repository"},
	} {
		_, _, err := generate.NewBootstrap(fleettest.InRepository(t, c.fleet),
			generate.BootstrapOptions{Until: component.Step{Number: c.until, Set: true}})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s until %d: got %v, want %s", c.fleet, c.until, err, c.want)
		}
	}
}

// TestBootstrapOrder: within a step what others need comes before them.
func TestBootstrapOrder(t *testing.T) {
	f := fleettest.InRepository(t, "bootstrap")
	for _, app := range f.Applications {
		app.Step.Number = 10
	}
	made, _, err := generate.NewBootstrap(f, generate.BootstrapOptions{Until: component.Step{Number: 10, Set: true}})
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]int{}
	for i, s := range made.Steps {
		if name := strings.Fields(s.About)[0]; at[name] == 0 {
			at[name] = i + 1
		}
	}
	if at["gateway-api"] == 0 || at["gateway-api"] > at["network"] {
		t.Errorf("the network comes before the definitions that it needs: %v", at)
	}
}

// TestHostileBootstrap: neither names nor what a ladder.yaml says get into the script
// as commands, and no file is outside of its directory.
func TestHostileBootstrap(t *testing.T) {
	for _, name := range []string{`x\ntouch pwned`, `../../x`, `-rf`, `$(touch pwned)`} {
		f := fleettest.Files(t, map[string]string{"shop/component.yaml": `{name: "` + name + `", rolloutPhase: "010"}` + "\n",
			"shop/a.yaml": fleettest.InDefault}, fleet.Source{})
		if _, _, err := generate.NewBootstrap(f, generate.BootstrapOptions{Until: component.Step{Number: 10,
			Set: true}}); err == nil || !strings.Contains(err.Error(), "is not a valid Application name") {
			t.Errorf("%s: %v", name, err)
		}
	}
	f := fleettest.Files(t, map[string]string{
		"shop/component.yaml": `{name: shop, rolloutPhase: "010"}` + "\n",
		"shop/ladder.yaml": "kinds:\n" +
			"- {group: example.com, kind: --kubeconfig=pwned, rung: workloads, why: x, health: [{waits: condition Ready}]}\n" +
			"- {group: example.com, kind: Web, rung: workloads, why: x, health: [{waits: \"x\\ntouch pwned\"}, {waits: condition Ready}]}\n",
		"shop/a.yaml": "apiVersion: example.com/v1\nkind: Web\nmetadata: {name: \"a'; touch pwned; '\", namespace: default}\n---\n" +
			"apiVersion: example.com/v1\nkind: --kubeconfig=pwned\nmetadata: {name: a, namespace: default}\n---\napiVersion: apps/v1\n" +
			"kind: Deployment\nmetadata: {name: \"a\\ntouch pwned\", namespace: default}\nspec: {template: {spec: {containers: []}}}\n",
	}, fleet.Source{})
	made, _, err := generate.NewBootstrap(f, generate.BootstrapOptions{Until: component.Step{Number: 10, Set: true}})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	script := filepath.Join(dir, "apply.sh")
	if err := os.WriteFile(script, []byte(made.Script()), 0o755); err != nil {
		t.Fatal(err)
	}
	kubectl := filepath.Join(dir, "kubectl")
	if err := os.WriteFile(kubectl, []byte("#!/bin/sh\nfor arg; do case $arg in --kubeconfig*) touch pwned ;; esac; done\n"),
		0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", script)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "KUBECTL="+kubectl)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if _, err := os.Stat(filepath.Join(dir, "pwned")); err == nil {
		t.Errorf("a command of the tenant ran:\n%s", made.Script())
	}
}
