package order_test

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/ladder-cmp/ladder/fleet/appset"
	"github.com/ladder-cmp/ladder/fleet/inplace"
	"github.com/ladder-cmp/ladder/fleet/order"
	"github.com/ladder-cmp/ladder/object"
)

// setTree reads the ApplicationSet in set.yaml with what it generates.
func setTree(t *testing.T, files map[string]string) inplace.Tree {
	t.Helper()
	repo := fstest.MapFS{}
	for name, text := range files {
		repo[name] = &fstest.MapFile{Data: []byte(text)}
	}
	objs, err := object.Parse("set.yaml", 1, files["set.yaml"])
	if err != nil {
		t.Fatal(err)
	}
	set := appset.Expand(objs[0], appset.Input{Open: func(string) fs.FS { return repo }})
	if len(set.Faults) > 0 {
		t.Fatal(set.Faults)
	}
	at := inplace.Place{File: "set.yaml", Line: objs[0].Line}
	tree := inplace.Tree{Nodes: []inplace.Node{{Object: objs[0], IsSet: true, Parent: inplace.None, Steps: set.Steps, Place: at}}}
	for _, app := range set.Applications {
		n := inplace.Node{Object: app.Object, Place: at}
		if file := "apps/" + app.ID.Name + "/config.json"; files[file] != "" {
			n.Place = inplace.Place{File: file, Line: 1}
		}
		if app.Step <= set.Steps {
			n.Step = app.Step
		}
		tree.Nodes = append(tree.Nodes, n)
	}
	return tree
}

// ordered writes the order of the needs, and lists what remains to be done by hand. Once more, it
// changes nothing.
func ordered(t *testing.T, files map[string]string, needs ...[2]string) (byHand string) {
	t.Helper()
	for again := range 2 {
		tree := setTree(t, files)
		in := order.Input{Tree: tree}
		for _, n := range needs {
			var ends [2]int
			for i := range tree.Nodes {
				for k := range n {
					if tree.Nodes[i].Object.ID.Name == n[k] {
						ends[k] = i
					}
				}
			}
			in.Needs = append(in.Needs, order.Need{From: ends[0], To: ends[1], Later: true, IsCertain: true,
				Because: n[0] + " needs " + n[1]})
		}
		read := func(file string) ([]byte, error) { return []byte(files[file]), nil }
		changes, left := order.Changes(tree, order.Compute(in), read)
		if again > 0 && len(changes) > 0 {
			t.Errorf("a second time: %+v", changes)
		}
		byFile := map[string][]order.Change{}
		for _, c := range changes {
			byFile[c.File] = append(byFile[c.File], c)
		}
		for file, all := range byFile {
			text, err := order.Edit(files[file], all)
			if err != nil {
				t.Errorf("%s: %v", file, err)
				continue
			}
			files[file] = text
		}
		if again == 0 {
			for _, u := range left {
				byHand += fmt.Sprintf("%s: %s\n%s", u.Key(), u.Instead, u.Patch())
			}
		}
	}
	return byHand
}

const listed = `# The platform.
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: platform}
spec:
  generators:
  - list:
      elements:
      - {name: db, tier: "10"} # data
      - name: web
        tier: "10"
      - {name: shop, tier: "20"}
  strategy: # in two steps
    type: RollingSync
    rollingSync:
      steps:
      - matchExpressions: [{key: tier, operator: In, values: ["10"]}]
      - matchExpressions: [{key: tier, operator: In, values: ["20"]}]
  template:
    metadata:
      name: '{{name}}'
      labels: {tier: '{{tier}}'}
    spec: {project: default, destination: {name: in-cluster}}
`

// TestMoveElement moves Applications between the steps of their owners.
func TestMoveElement(t *testing.T) {
	files := map[string]string{"set.yaml": listed}
	if left := ordered(t, files, [2]string{"web", "db"}); left != "" {
		t.Error(left)
	}
	if want := strings.Replace(listed, "web\n        tier: \"10\"", "web\n        tier: \"20\"", 1); files["set.yaml"] != want {
		t.Errorf("got\n%s", files["set.yaml"])
	}
	// In a file that the generator reads.
	set := strings.Replace(listed, listed[strings.Index(listed, "  - list"):strings.Index(listed, "  strategy")],
		"  - git: {repoURL: https://git.example.com/a.git, revision: HEAD, files: [{path: apps/*/config.json}]}\n", 1)
	files = map[string]string{"set.yaml": strings.Replace(set, "'{{name}}'", "'{{path.basename}}'", 1),
		"apps/db/config.json": `{"tier": "10"}`, "apps/web/config.json": "{\n\t\"tier\":\"10\"\n}",
		"apps/shop/config.json": `{"tier": "20"}`}
	if left := ordered(t, files, [2]string{"web", "db"}); left != "" || files["apps/web/config.json"] != "{\n\t\"tier\":\"20\"\n}" {
		t.Errorf("%s%s", left, files["apps/web/config.json"])
	}
	// A number stays one.
	files = map[string]string{"set.yaml": strings.Replace(strings.NewReplacer("tier: \"10\"", "tier: 10", "{{name}}", "{{.name}}",
		"{{tier}}", "{{.tier}}").Replace(listed), "spec:", "spec:\n  goTemplate: true", 1)}
	if left := ordered(t, files, [2]string{"web", "db"}); left != "" || !strings.Contains(files["set.yaml"], "web\n        tier: 20\n") {
		t.Errorf("%s%s", left, files["set.yaml"])
	}
	for name, c := range map[string]struct{ from, to, want string }{
		"other labels": {"{tier: '{{tier}}'}", "{tier: '{{tier}}', b: c}\n      annotations: {b: c}", ""},
		"a fixed label": {"{tier: '{{tier}}'}", "{tier: '10'}",
			"metadata.labels.tier: the label is not a parameter of the generator: 10\nmetadata:\n  labels:\n    tier: \"20\"\n"},
		"no step to move to": {`values: ["20"]`, `values: []`, "metadata.labels.tier: no value of one label selects step 2\n"},
	} {
		files := map[string]string{"set.yaml": strings.Replace(listed, c.from, c.to, 1)}
		if left := ordered(t, files, [2]string{"web", "db"}); left != c.want {
			t.Errorf("%s: got %q, want %q", name, left, c.want)
		}
	}
	files = map[string]string{"set.yaml": listed}
	if left := ordered(t, files, [2]string{"web", "db"}, [2]string{"shop", "web"}); !strings.Contains(left,
		"too few steps: add one, up to step 3") || files["set.yaml"] != listed {
		t.Errorf("%s%s", left, files["set.yaml"])
	}
}

const unordered = `apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata:
  name: platform
spec:
  goTemplate: true
  generators:
  - list:
      elements: [{name: db}, {name: web}, {name: shop}, {name: docs}]
  template:
    metadata:
      name: '{{.name}}'
    spec: {project: default, destination: {name: in-cluster}}
`

// TestProposeSteps writes steps for an ApplicationSet without any.
func TestProposeSteps(t *testing.T) {
	files := map[string]string{"set.yaml": unordered}
	if left := ordered(t, files, [2]string{"web", "db"}, [2]string{"shop", "web"}); left != "" {
		t.Error(left)
	}
	want := strings.Replace(unordered, "'{{.name}}'\n", `'{{.name}}'
      labels:
        ladder-cmp.github.io/name: '{{.name}}'
`, 1) + `  strategy:
    type: RollingSync
    rollingSync:
      steps:
      - matchExpressions:
        - key: ladder-cmp.github.io/name
          operator: In
          values: [db]
      - matchExpressions:
        - key: ladder-cmp.github.io/name
          operator: In
          values: [web]
      - matchExpressions:
        - key: ladder-cmp.github.io/name
          operator: NotIn
          values: [db, web]
`
	if files["set.yaml"] != want {
		t.Errorf("got\n%s", files["set.yaml"])
	}
	// Another dependency: the steps are written again.
	if left := ordered(t, files, [2]string{"web", "db"}, [2]string{"shop", "web"}, [2]string{"docs", "shop"}); left != "" ||
		!strings.Contains(files["set.yaml"], "values: [db, shop, web]\n") {
		t.Errorf("%s%s", left, files["set.yaml"])
	}
	long := strings.Repeat("x", 64)
	for change, want := range map[[2]string]string{
		{"name: docs", "name: " + long}: "longer than a label", {"  template:\n", "  templatePatch: '{}'\n  template:\n"}: "templatePatch",
		{"list:\n", "list:\n      template: {metadata: {}, spec: {}}\n"}: "its own template",
	} {
		text := strings.Replace(unordered, change[0], change[1], 1)
		files := map[string]string{"set.yaml": text}
		if left := ordered(t, files, [2]string{"web", "db"}); !strings.Contains(left, want) ||
			!strings.Contains(left, "values: [db]") || files["set.yaml"] != text {
			t.Errorf("%s:\n%s%s", want, left, files["set.yaml"])
		}
	}
}
