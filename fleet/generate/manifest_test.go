package generate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ladder-cmp/ladder/fleet/generate"
)

const generated = `kind: ApplicationSet
metadata:
  namespace: argocd
  name: platform
spec:
  goTemplate: true
  strategy:
    rollingSync:
      steps:
      - maxUpdate: 1
      - maxUpdate: 20%
  password: hunter2
`

// TestDifferences edits a committed file, and compares it with what is generated.
func TestManifestDifferences(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, old, now, want string }{
		{"layout and comments", "spec:\n", "# chosen by hand\nspec: # all\n", ""},
		{"a value", "maxUpdate: 1\n", "maxUpdate: 2\n", `10 spec.strategy.rollingSync.steps[0].maxUpdate is 2; generated: 1`},
		{"a type", "goTemplate: true", "goTemplate: 'true'", `6 spec.goTemplate is "true"; generated: true`},
		{"a number in quotes", "maxUpdate: 1\n", "maxUpdate: '1'\n",
			`10 spec.strategy.rollingSync.steps[0].maxUpdate is "1"; generated: 1`},
		{"a removed entry", "  goTemplate: true\n", "", `0 spec.goTemplate is missing; generated: true`},
		{"a removed step", "      - maxUpdate: 20%\n", "", `0 spec.strategy.rollingSync.steps[1] is missing; generated: {maxUpdate: 20%}`},
		{"an added step", "20%\n", "20%\n      - {maxUpdate: 5}\n",
			`12 spec.strategy.rollingSync.steps[2] is {maxUpdate: 5}; no longer generated`},
		{"an added entry, which may be secret", "  goTemplate", "  token: hunter3\n  goTemplate",
			`6 spec.token exists in the file, but is no longer generated`},
		{"another kind of value", "      steps:\n      - maxUpdate: 1\n      - maxUpdate: 20%\n", "      steps: none\n",
			`9 spec.strategy.rollingSync.steps is "none"; generated: [{maxUpdate: 1}, {maxUpdate: 20%}]`},
		{"an alias", "maxUpdate: 1\n      - maxUpdate: 20%", "maxUpdate: &one 1\n      - maxUpdate: *one",
			`10 spec.strategy.rollingSync.steps[1].maxUpdate is 1; generated: "20%"`},
		{"another name", "name: platform", "name: other", `0  ApplicationSet argocd/platform is missing
1  ApplicationSet argocd/other is no longer generated`},
		{"another namespace", "namespace: argocd", "namespace: other", `0  ApplicationSet argocd/platform is missing
1  ApplicationSet other/platform is no longer generated`},
		{"a second document", "  password: hunter2\n", "  password: hunter2\n---\nkind: AppProject\nmetadata: {name: p}\n",
			`14  AppProject /p is no longer generated`},
		{"documents that are no objects", "kind: ApplicationSet", "---\n# nothing\n---\n- a list\n---\nkind: ApplicationSet", ""},
		{"a long value", "20%", strings.Repeat("x", 200),
			`11 spec.strategy.rollingSync.steps[1].maxUpdate is "` + strings.Repeat("x", 78) + `…; generated: "20%"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			now, err := generate.ParseManifest("", generated)
			if err != nil {
				t.Fatal(err)
			}
			text := strings.Replace(generated, test.old, test.now, 1)
			if text == generated {
				t.Fatal("the edit changes nothing")
			}
			all, err := generate.Differences(text, []generate.Manifest{now})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, d := range all {
				got = append(got, fmt.Sprint(d.Line, " ", d.Path, " ", d.Message))
			}
			if got := strings.Join(got, "\n"); got != test.want {
				t.Errorf("differences are\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

func TestBrokenFile(t *testing.T) {
	t.Parallel()
	now, err := generate.ParseManifest("", generated)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{generated + "---\n[", "a: b: c"} {
		if all, err := generate.Differences(text, []generate.Manifest{now}); err == nil {
			t.Errorf("%q differs by %v, and is not YAML", text, all)
		}
	}
	if all, err := generate.Differences("", []generate.Manifest{now}); err != nil || len(all) != 1 {
		t.Errorf("an empty file differs by %v, %v", all, err)
	}
	if _, err := generate.ParseManifest("", "["); err == nil {
		t.Error("a broken text was parsed")
	}
}

// TestYAML writes manifests with comments, and reads them again.
func TestYAML(t *testing.T) {
	t.Parallel()
	m := generate.NewManifest("", map[string]any{"kind": "Set", "metadata": map[string]any{"name": "x"},
		"steps": []any{map[string]any{"number": 1}, map[string]any{"number": 2}}, "text": "a\nb\n"})
	m.Set("y", "metadata", "namespace")
	m.Comment("all of it")
	m.Comment("the first", "steps", "0")
	m.Comment("its number", "steps", "1", "number")
	m.Comment("no such step", "steps", "2")
	m.Comment("", "kind")
	want := `# all of it
kind: Set
metadata:
  name: x
  namespace: "y"
steps:
# the first
- number: 1
- # its number
  number: 2
text: |
  a
  b
---
# as it is
kind: Other
`
	text := generate.YAML(m, generate.Manifest{Text: "# as it is\nkind: Other"})
	if text != want {
		t.Errorf("wrote\n%s\nwant\n%s", text, want)
	}
	if all, err := generate.Differences(strings.Split(text, "---\n")[0], []generate.Manifest{m}); err != nil || len(all) > 0 {
		t.Errorf("what was written differs by %v, %v", all, err)
	}
}
