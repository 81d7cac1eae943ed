package inplace_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/ladder-cmp/ladder/fleet/inplace"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// read reads files, whose sources render to the files of their directories. It returns the tree:
// each node with its parent, its wave or step, and where it is written.
func read(t *testing.T, files map[string]string, in inplace.Input) string {
	t.Helper()
	repo := fstest.MapFS{}
	for name, text := range files {
		repo[name] = &fstest.MapFile{Data: []byte(text)}
	}
	in.Repo, in.RepoURL = repo, "https://git.example.com/web.git"
	in.Render = func(_ context.Context, apps []*inplace.Deployed) error {
		for _, app := range apps {
			app.IsTemplated = func(object.Object) bool { return false }
			for _, s := range app.Sources {
				for _, name := range slices.Sorted(maps.Keys(files)) {
					text := files[name]
					if dir, file, _ := strings.Cut(name, "/"); s.IsOurs && dir == s.Dir && !strings.Contains(file, "/") {
						objs, err := object.Parse(name, 1, text)
						if err != nil {
							return err
						}
						app.Objects = append(app.Objects, objs...)
					}
				}
			}
		}
		return nil
	}
	contents, err := inplace.Read(t.Context(), in, knowledge.Default())
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	ranks := contents.Tree.Ranks()
	for i, n := range contents.Tree.Nodes {
		parent := "-"
		if n.Parent != inplace.None {
			parent = contents.Tree.Nodes[n.Parent].Object.ID.Name
		}
		fmt.Fprintf(&b, "%s of %s: %s, %s\n", n.Object.ID.Name, parent, ranks[i].Text, n.Place.File)
	}
	return b.String()
}

func application(name, dir, wave string) string {
	annotations := ""
	if wave != "" {
		annotations = ", annotations: {argocd.argoproj.io/sync-wave: \"" + wave + "\"}"
	}
	return "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: " + name + ", namespace: argocd" + annotations + "}\n" +
		"spec: {source: {repoURL: https://git.example.com/web.git, path: " + dir + "}, destination: {namespace: argocd}}\n"
}

// TestRead reads parents and what they create, which is written in files that are read, too.
func TestRead(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"root.yaml":     application("root", "apps", ""),
		"apps/a.yaml":   application("a", "more", "-1"),
		"apps/b.yaml":   application("b", "web", "2"),
		"more/c.yaml":   application("c", "web", ""),
		"web/web.yaml":  "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n",
		".git/x.yaml":   application("hidden", "web", ""),
		"templated.yml": "{{ if .x }}\napiVersion: argoproj.io/v1alpha1\nkind: Application\n{{ end }}\n",
	}
	want := "root of -: -, root.yaml\na of root: -1, apps/a.yaml\nc of a: -1/0, more/c.yaml\nb of root: 2, apps/b.yaml\n"
	if got := read(t, files, inplace.Input{Paths: []string{"."}}); got != want {
		t.Errorf("all are\n%swant\n%s", got, want)
	}
	if got := read(t, files, inplace.Input{Paths: []string{"root.yaml"}}); got != want {
		t.Errorf("those that the root creates are\n%swant\n%s", got, want)
	}
	self := map[string]string{"apps/root.yaml": application("root", "apps", ""), "apps/a.yaml": application("a", "web", "1")}
	if got, want := read(t, self, inplace.Input{Paths: []string{"apps"}}),
		"root of -: -, apps/root.yaml\na of root: 1, apps/a.yaml\n"; got != want {
		t.Errorf("a root that manages itself is\n%swant\n%s", got, want)
	}
}

// TestReadCluster reads what a cluster says: parents and sets are named by what they created.
func TestReadCluster(t *testing.T) {
	t.Parallel()
	objs, err := object.Parse("-", 1, `apiVersion: v1
kind: List
items:
- apiVersion: argoproj.io/v1alpha1
  kind: Application
  metadata: {name: a, namespace: argocd, annotations: {argocd.argoproj.io/tracking-id: "root:argoproj.io/Application:argocd/a", argocd.argoproj.io/sync-wave: "3"}}
- apiVersion: argoproj.io/v1alpha1
  kind: Application
  metadata: {name: root, namespace: argocd}
- apiVersion: argoproj.io/v1alpha1
  kind: Application
  metadata: {name: b, namespace: argocd, ownerReferences: [{kind: ApplicationSet, name: set}]}
- apiVersion: argoproj.io/v1alpha1
  kind: ApplicationSet
  metadata: {name: set, namespace: argocd}
  spec:
    generators: [{list: {elements: [{name: b}, {name: c}]}}]
    strategy: {type: RollingSync, rollingSync: {steps: [{matchExpressions: []}]}}
    template: {metadata: {name: "{{name}}"}, spec: {}}
`)
	if err != nil {
		t.Fatal(err)
	}
	got, want := read(t, nil, inplace.Input{Objects: objs}),
		"root of -: -, -\na of root: 3, -\nset of -: -, -\nb of set: 1, -\nc of set: 1, -\n"
	if got != want {
		t.Errorf("the tree is\n%swant\n%s", got, want)
	}
}

// TestOrdered compares Applications by the branches that they are in.
func TestOrdered(t *testing.T) {
	t.Parallel()
	set := inplace.Node{IsSet: true, Parent: 0}
	steps := set
	steps.Steps = 2
	tree := inplace.Tree{Nodes: []inplace.Node{{Parent: inplace.None}, set, {Parent: 1}, {Parent: 1}, steps, {Parent: 4, Step: 1},
		{Parent: 4, Step: 2}, {Parent: 4}}}
	tree.Nodes[4].Wave.Number = 1
	for _, test := range []struct {
		x, y int
		want inplace.Order
	}{
		{2, 3, inplace.Unordered}, {2, 5, inplace.Unordered}, {5, 2, inplace.Unordered}, {1, 5, inplace.Earlier}, {5, 1, inplace.Later},
		{5, 6, inplace.Earlier}, {7, 6, inplace.Later},
		{0, 5, inplace.Earlier}, {5, 0, inplace.Later}, {5, 5, inplace.Earlier},
	} {
		if got := tree.Ordered(test.x, test.y); got != test.want {
			t.Errorf("%d and %d are ordered %d, want %d", test.x, test.y, got, test.want)
		}
	}
}

// TestInstallations tells the Applications of two Argo CDs apart, which have the same names.
func TestInstallations(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for _, name := range []string{"clusters/dev/a.yaml", "clusters/prod/a.yaml"} {
		files[name] = application("a", "web", "")
	}
	files["clusters/dev/b.yaml"], files["clusters/prod/more/c.yaml"], files["clusters/both.yaml"] = application("b", "web", ""),
		application("c", "web", ""), application("d", "web", "")
	repo := fstest.MapFS{}
	for name, text := range files {
		repo[name] = &fstest.MapFile{Data: []byte(text)}
	}
	contents, err := inplace.Read(t.Context(), inplace.Input{Repo: repo, Paths: []string{"."},
		Render: func(context.Context, []*inplace.Deployed) error { return nil }}, knowledge.Default())
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]int{}
	for i, n := range contents.Tree.Nodes {
		at[n.Place.File] = i
	}
	for _, test := range []struct {
		x, y  string
		apart bool
	}{
		{"clusters/dev/a.yaml", "clusters/prod/a.yaml", true}, {"clusters/dev/b.yaml", "clusters/prod/more/c.yaml", true},
		{"clusters/dev/a.yaml", "clusters/dev/b.yaml", false}, {"clusters/both.yaml", "clusters/prod/a.yaml", false},
	} {
		if got := contents.Tree.Apart(at[test.x], at[test.y]); got != test.apart {
			t.Errorf("%s and %s are of different Argo CDs: %v, want %v", test.x, test.y, got, test.apart)
		}
	}
}
