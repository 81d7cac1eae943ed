package fleet_test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/fleet"
)

// TestBootstrap keeps the files and the script for what Argo CD needs, which a
// POSIX shell must be able to read.
func TestBootstrap(t *testing.T) {
	f := loadIn(t, "bootstrap")
	made, notes, err := f.Bootstrap(fleet.BootstrapOptions{Until: component.Phase{Number: 20, Set: true}})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, s := range made.Steps {
		fmt.Fprintf(&b, "=== %s.yaml: %s\n%s", s.Name, s.About, s.Text)
	}
	b.WriteString("=== notes\n" + texts(notes))
	const dir = "../testdata/fleets/bootstrap/"
	want(t, dir+"want.bootstrap.txt", b.String())
	want(t, dir+"want.apply.sh", made.Script())
	want(t, dir+"want.talos.yaml", made.Talos())
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
		_, _, err := loadIn(t, c.fleet).Bootstrap(fleet.BootstrapOptions{Until: component.Phase{Number: c.until, Set: true}})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s until %d: got %v, want %s", c.fleet, c.until, err, c.want)
		}
	}
}

// TestBootstrapOrder: within a step what others need comes before them.
func TestBootstrapOrder(t *testing.T) {
	f := loadIn(t, "bootstrap")
	for _, app := range f.Applications {
		app.Phase.Number = 10
	}
	made, _, err := f.Bootstrap(fleet.BootstrapOptions{Until: component.Phase{Number: 10, Set: true}})
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
