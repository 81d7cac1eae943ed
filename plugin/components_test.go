package plugin_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/ladder-cmp/ladder/fleet/children"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/golden"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/plugin"
)

const componentsDir = "../testdata/components"

// components lists the components that ship with the project, by name.
func components(t testing.TB) []string {
	t.Helper()
	entries, err := os.ReadDir(componentsDir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	if len(names) < 5 {
		t.Fatalf("only %d components", len(names))
	}
	return names
}

// request is how the tests render a component: as an Application of the same
// name in namespace demo.
func request(name string) plugin.Request {
	return plugin.Request{Children: children.Children{}, Repo: os.DirFS(componentsDir), Dir: name,
		App: plugin.App{Name: name, Namespace: "demo"}, KubeVersion: "1.34.0"}
}

// TestComponents renders every component in testdata/components and compares
// the manifests with <name>.want.yaml and the explanation with
// <name>.want.txt beside it. Adding a directory adds a case; -update writes
// what it expects.
func TestComponents(t *testing.T) {
	for _, name := range components(t) {
		t.Run(name, func(t *testing.T) {
			res, err := plugin.Generate(context.Background(), request(name), knowledge.Default())
			if err != nil {
				t.Fatal(err)
			}
			golden.File(t, filepath.Join(componentsDir, name+".want.yaml"), res.YAML())
			golden.File(t, filepath.Join(componentsDir, name+".want.txt"), explain(res))
		})
	}
}

func explain(res plugin.Result) string {
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, r := range res.Plan.Table() {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", r.Wave, r.Rung, r.Object, r.Why)
	}
	w.Flush()
	for _, f := range res.Findings {
		fmt.Fprintf(&b, "%s: %s\n", f.Severity, f)
	}
	return b.String()
}

// TestErrors renders every component in testdata/errors, each of which has a
// fault, and compares the whole message with <name>.want.txt.
func TestErrors(t *testing.T) {
	const dir = "../testdata/errors"
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		t.Run(e.Name(), func(t *testing.T) {
			req := request(e.Name())
			req.Repo = os.DirFS(dir)
			res, err := plugin.Generate(context.Background(), req, knowledge.Default())
			if err == nil {
				t.Fatalf("no error, but\n%s", res.YAML())
			}
			var b strings.Builder
			for _, f := range finding.Of(err) {
				if strings.Contains(f.Error(), "\n") {
					t.Errorf("more than a line: %q", f.Error())
				}
				if f.Remedy == "" || f.File == "" && f.Object == "" && f.Field == "" {
					t.Errorf("no place or no remedy: %s", f)
				}
				fmt.Fprintln(&b, f)
			}
			golden.File(t, filepath.Join(dir, e.Name()+".want.txt"), b.String())
		})
	}
}
