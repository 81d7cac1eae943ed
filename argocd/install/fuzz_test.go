package install_test

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	yaml "go.yaml.in/yaml/v3"
	"golang.org/x/tools/txtar"

	"github.com/ladder-cmp/ladder/argocd/install"
	"github.com/ladder-cmp/ladder/internal/finding"
)

// shapes are what values files and kustomizations look like.
var shapes = []string{
	"",
	"# nothing yet\n",
	"---\nrepoServer:\n  replicas: 2\n...\n",
	"repoServer:\r\n  extraContainers:\r\n  - name: avp\r\n",
	"repoServer:\n    extraContainers:\n        - name: avp\n\n# end\n",
	"repoServer: {\n  replicas: 2\n}\nconfigs: {\n  cm: {\n    a: b }\n}\n",
	"repoServer:\n  extraContainers: [] # none\n  volumes:\nconfigs:\n  cm: # later\n  params: null # none\n",
	"x: &x\n  extraContainers:\n  - name: avp\nrepoServer:\n  <<: *x\n",
	"server: &s\n  replicas: 1\nrepoServer: *s\n",
	"repoServer: &s\n  replicas: 1\nserver: *s\n",
	"ladder: &l {name: ladder, image: 'ghcr.io/ladder-cmp/ladder:v1.0.0'}\nrepoServer:\n  extraContainers:\n  - *l\n",
	"defaults: &d\n  resources: {}\nrepoServer:\n  extraContainers:\n  - <<: *d\n    name: ladder\n" +
		"    image: ghcr.io/ladder-cmp/ladder:v1.0.0\n",
	"repoServer:\n\treplicas: 2\n",
	"repoServer:\t# a tab\n  replicas:\t2\n",
	"repoServer:\n  replicas: 1\nrepoServer:\n  replicas: 2\n",
	"configs:\n  cm:\n    text: |+\n      a\n\n\n",
	"\"repoServer\":\n  'extraContainers':\n  - {name: avp, image: \"a:b\"}\n",
	"patches:\n- {target: {kind: Service}, patch: '[{op: remove, path: /a}]'}\n",
	"patches: [{patch: \"kind: ConfigMap\\nmetadata: {name: argocd-cm}\\ndata: {a: b}\\n\"}]\n",
	"patches:\n- patch: |-\n    kind: ConfigMap\n    metadata:\n      name: argocd-cm\n    data:\n      a: b\n",
}

// FuzzMerge merges into any text. Either it fails with one finding that says what to do,
// or the result is YAML in which every value of the user is what it was, lines of block
// style are kept, and merging again changes nothing.
func FuzzMerge(f *testing.F) {
	for _, text := range shapes {
		f.Add(text)
	}
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		f.Fatal(err)
	}
	for _, file := range files {
		all, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(all.Files[0].Data))
	}
	o := install.Options{Released: install.Image("1.2.3")}
	f.Fuzz(func(t *testing.T, text string) {
		for _, write := range []func(string, install.Options) (string, error){install.Values, install.Kustomization} {
			merged, err := write(text, o)
			if err != nil {
				if found := finding.Of(err); len(found) != 1 || found[0].Remedy == "" {
					t.Fatalf("%q: %v", text, err)
				}
				continue
			}
			var before, after any
			if err := yaml.Unmarshal([]byte(text), &before); err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			if err := yaml.Unmarshal([]byte(merged), &after); err != nil {
				t.Fatalf("%q: %v\n%s", text, err, merged)
			}
			if !within(before, after) {
				t.Fatalf("%q: values changed\n%s", text, merged)
			}
			if again, err := write(merged, o); err != nil || again != merged {
				t.Fatalf("%q: merging again: %v\n%s\nand before\n%s", text, err, again, merged)
			}
			if !strings.ContainsAny(text, "{[") && !strings.Contains(text, "ladder") {
				rest := merged
				for line := range strings.Lines(text) {
					_, after, found := strings.Cut(rest, strings.TrimRight(line, " \r\n"))
					if !found {
						t.Fatalf("%q: the line %q is gone\n%s", text, line, merged)
					}
					rest = after
				}
			}
		}
	})
}

// within reports whether a value has all that another has. What is null may be set, and
// the image of the sidecar and patches may change.
func within(before, after any) bool {
	switch before := before.(type) {
	case nil:
		return true
	case map[string]any:
		after, ok := after.(map[string]any)
		for key, value := range before {
			other, there := after[key]
			if ok = ok && there; !ok {
				return false
			}
			changes := key == "patch" || key == "image" && before["name"] == "ladder"
			if !within(value, other) && !changes {
				return false
			}
		}
		return ok
	case []any:
		after, ok := after.([]any)
		if !ok || len(after) < len(before) {
			return false
		}
		for i := range before {
			if !within(before[i], after[i]) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(before, after)
}
