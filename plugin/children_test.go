package plugin_test

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/ladder-cmp/ladder/fleet/children"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/golden"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/plugin"
	"github.com/ladder-cmp/ladder/wave"
)

const parentsDir = "testdata/parents"

// parents lists the apps of apps that ship with the project, by name.
func parents(t *testing.T) []string {
	t.Helper()
	dirs, err := filepath.Glob("../" + parentsDir + "/*/apps")
	if err != nil || len(dirs) < 2 {
		t.Fatal("there are no apps of apps", err)
	}
	var names []string
	for _, dir := range dirs {
		names = append(names, filepath.Base(filepath.Dir(dir)))
	}
	return names
}

func generated(t *testing.T, req plugin.Request) plugin.Result {
	t.Helper()
	res, err := plugin.Generate(context.Background(), req, knowledge.Default())
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// parent is the request for an app of apps in the repository of the project.
func parent(name string) plugin.Request {
	return plugin.Request{Children: children.Children{}, Repo: os.DirFS(".."), Dir: parentsDir + "/" + name + "/apps",
		App: plugin.App{Name: name, Namespace: "argocd"}, KubeVersion: "1.34.0"}
}

// TestParents renders each app of apps in testdata/parents and compares it with
// what is beside it, as TestComponents does.
func TestParents(t *testing.T) {
	for _, name := range parents(t) {
		t.Run(name, func(t *testing.T) {
			res := generated(t, parent(name))
			golden.File(t, filepath.Join("..", parentsDir, name+".want.yaml"), res.YAML())
			golden.File(t, filepath.Join("..", parentsDir, name+".want.txt"), explain(res)+chains(t, res))
			if !res.UsesRepoURL {
				t.Error("the address of the repository is said to make no difference")
			}
		})
	}
}

// chains tells the story of each Application.
func chains(t *testing.T, res plugin.Result) string {
	t.Helper()
	var b strings.Builder
	for _, i := range res.Plan.Order {
		if res.Plan.Graph.Nodes[i].Key.Kind == "Application" {
			fmt.Fprintf(&b, "\n%s", res.Plan.Explain(i))
		}
	}
	return b.String()
}

// TestParentsAgain renders what came out of each app of apps, in the order in
// which it came and in others: nothing changes any more.
func TestParentsAgain(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, name := range parents(t) {
		for i, settings := range []plugin.Settings{{}, with(t, plugin.Settings{}, "author-waves", "keep"),
			with(t, plugin.Settings{}, "author-waves", "override"), {Waves: wave.Compact}} {
			t.Run(fmt.Sprint(name, i), func(t *testing.T) {
				req := parent(name)
				req.Settings = []plugin.Settings{settings}
				first := generated(t, req)
				texts := first.Manifests()
				for range 3 {
					req.Repo = withFile(t, req.Dir, strings.Join(texts, "---\n"))
					if diff := cmp.Diff(first.YAML(), generated(t, req).YAML()); diff != "" {
						t.Fatalf("our own output comes out changed:\n%s", diff)
					}
					random.Shuffle(len(texts), func(i, j int) { texts[i], texts[j] = texts[j], texts[i] })
				}
			})
		}
	}
}

// withFile is the repository with one file of manifests in a directory, and
// nothing else there.
func withFile(t *testing.T, dir, text string) fs.FS {
	t.Helper()
	repo := fstest.MapFS{dir + "/all.yaml": {Data: []byte(text)}}
	err := fs.WalkDir(os.DirFS(".."), parentsDir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(p, dir+"/") {
			return err
		}
		data, err := fs.ReadFile(os.DirFS(".."), p)
		repo[p] = &fstest.MapFile{Data: data}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return repo
}

// family is a repository with two children, of which a needs b.
func family(repoURL, more string) fs.FS {
	app := func(name string) string {
		return fmt.Sprintf(`---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: %[1]s, namespace: argocd}
spec:
  source: {repoURL: "%[2]s", path: %[1]s%[3]s}
  destination: {server: https://kubernetes.default.svc, namespace: x}
`, name, repoURL, more)
	}
	return repository(map[string]string{
		"apps/a.yaml": app("a") + app("b"),
		"a/a.yaml":    "{apiVersion: sea.example.com/v1, kind: Boat, metadata: {name: a}}",
		"b/b.yaml": "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: boats.sea.example.com}, " +
			"spec: {group: sea.example.com, scope: Namespaced, names: {kind: Boat, plural: boats}, versions: []}}",
	})
}

// waves are those of Applications, by name.
func wavesOf(res plugin.Result) map[string]int {
	all := map[string]int{}
	for _, o := range res.Objects {
		all[o.ID.Name], _ = o.Wave()
	}
	return all
}

// TestSameRepository tells by the address whether a child is in the repository of
// its parent.
func TestSameRepository(t *testing.T) {
	const address = "https://git.example.com/platform/apps.git"
	for _, tt := range []struct {
		own, child string
		same       bool
	}{
		{address, address, true},
		{address, "https://git.example.com/platform/apps", true},
		{address, "https://GIT.example.com/Platform/apps/", true},
		{address, "git@git.example.com:platform/apps.git", true},
		{address, "ssh://git@git.example.com:2222/platform/apps.git", true},
		{address, "https://somebody:token@git.example.com/platform/apps.git", true},
		{address, "https://git.example.com/platform/app.git", false},
		{address, "https://git.example.org/platform/apps.git", false},
		{"", address, true}, // on a laptop: the paths tell
	} {
		req := plugin.Request{Children: children.Children{}, Repo: family(tt.child, ""), Dir: "apps",
			App: plugin.App{Name: "parent", RepoURL: tt.own}}
		res := generated(t, req)
		got := wavesOf(res)
		if same := got["a"] > got["b"]; same != tt.same {
			t.Errorf("%q in %q: waves %v", tt.child, tt.own, got)
		}
	}
}

// TestAddressInLadder takes the address from ladder.yaml where Argo CD says none.
func TestAddressInLadder(t *testing.T) {
	repo := family("https://git.example.com/others.git", "").(fstest.MapFS)
	repo["ladder.yaml"] = &fstest.MapFile{Data: []byte("fleet: {repoURL: https://git.example.com/ours.git}\n")}
	res := generated(t, plugin.Request{Children: children.Children{}, Repo: repo, Dir: "apps"})
	if got := wavesOf(res); got["a"] != got["b"] {
		t.Errorf("children of another repository were ordered by paths of this one: %v", got)
	}
}

// TestNoChildren: the address of the repository makes no difference to anything
// but an app of apps.
func TestNoChildren(t *testing.T) {
	if res := generated(t, request("shop")); res.UsesRepoURL {
		t.Error("the address of the repository is said to make a difference")
	}
}

// TestAPIVersions: what the cluster serves changes while the children are synced,
// and the order does not.
func TestAPIVersions(t *testing.T) {
	repo := family("https://git.example.com/ours.git", "").(fstest.MapFS)
	delete(repo, "a/a.yaml")
	repo["a/a.yaml.tmpl"] = &fstest.MapFile{Data: []byte("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n" +
		`{{ if .Capabilities.APIVersions.Has "sea.example.com/v1" }}` +
		"\n---\n{apiVersion: sea.example.com/v1, kind: Boat, metadata: {name: a}}\n{{ end }}\n")}
	var seen []string
	for _, versions := range [][]string{nil, {"sea.example.com/v1"}} {
		seen = append(seen, generated(t, plugin.Request{Children: children.Children{}, Repo: repo, Dir: "apps", APIVersions: versions}).YAML())
	}
	if diff := cmp.Diff(seen[0], seen[1]); diff != "" {
		t.Errorf("the cluster changes the order:\n%s", diff)
	}
}

// TestFaultOfChild: a child that cannot be rendered does not keep its parent from
// being rendered, whatever is wrong with it.
func TestFaultOfChild(t *testing.T) {
	for more, want := range map[string]string{
		", helm: {valueFiles: [nowhere.yaml]}":                                 "nowhere.yaml",
		", helm: {values: 'a: [b'}":                                            "the values in Application argocd/a",
		", plugin: {name: ladder, parameters: [{name: nothing, string: a}]}":   "parameter nothing",
		", plugin: {name: ladder, env: [{name: LADDER_NOTHING, value: a}]}":    "LADDER_NOTHING",
		", plugin: {name: ladder, parameters: [{name: crds, string: 'only'}]}": "no CRD",
	} {
		repo := family("https://git.example.com/ours.git", more).(fstest.MapFS)
		repo["a/Chart.yaml"] = &fstest.MapFile{Data: []byte("{apiVersion: v2, name: a, version: 1.0.0}")}
		repo["a/templates/a.yaml"] = &fstest.MapFile{Data: repo["a/a.yaml"].Data}
		var found []string
		for _, f := range generated(t, plugin.Request{Children: children.Children{}, Repo: repo, Dir: "apps"}).Findings {
			if f.Rule == "child-not-rendered" && f.Object == "Application argocd/a" && f.Severity == finding.Warning {
				found = append(found, f.Error())
			}
		}
		if len(found) != 1 || !strings.Contains(found[0], want) {
			t.Errorf("%s: found %q, not one with %q", more, found, want)
		}
	}
}

// TestParentOfItself: children of children that go round in a circle come to an
// end.
func TestParentOfItself(t *testing.T) {
	app := func(name, path string) string {
		return fmt.Sprintf("---\napiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: %s, namespace: argocd}\n"+
			"spec: {source: {repoURL: https://git.example.com/ours.git, path: %s}, destination: {namespace: x}}\n", name, path)
	}
	repo := repository(map[string]string{"one/a.yaml": app("two", "two") + app("one", "one"), "two/a.yaml": app("three", "three"),
		"three/a.yaml": app("two", "two") + app("one", "one")})
	res := generated(t, plugin.Request{Children: children.Children{}, Repo: repo, Dir: "one", App: plugin.App{Name: "one"}})
	if len(res.Objects) != 2 || len(res.Findings) != 0 {
		t.Errorf("%s\n%v", res.YAML(), res.Findings)
	}
}

// TestChildrenOfDirectories: what an Application says to Argo CD's own directories and
// kustomizations holds where its parent is ordered.
func TestChildrenOfDirectories(t *testing.T) {
	const repo = "https://git.example.com/r.git"
	child := func(name, dir, section string) string {
		return fmt.Sprintf("apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: %s, namespace: argocd}\nspec:\n"+
			"  destination: {server: https://kubernetes.default.svc, namespace: shop}\n  source: {repoURL: %s, path: %s, %s}\n",
			name, repo, dir, section)
	}
	const store = "{apiVersion: external-secrets.io/v1, kind: SecretStore, metadata: {name: store}, spec: {provider: {fake: {data: []}}}}"
	const reader = "{apiVersion: external-secrets.io/v1, kind: ExternalSecret, metadata: {name: a}, " +
		"spec: {secretStoreRef: {name: x-store}, target: {name: a}}}"
	files := fstest.MapFS{
		"apps/a.yaml": {Data: []byte(child("reader", "reader", "directory: {exclude: 'bad*'}") + "---\n" +
			child("store", "store", "kustomize: {namePrefix: x-}"))},
		"reader/a.yaml":            {Data: []byte(reader)},
		"reader/bad.yaml":          {Data: []byte("no: manifest")},
		"reader/below/bad.yaml":    {Data: []byte("no: manifest")},
		"reader/below/worse.yaml":  {Data: []byte("no: manifest")},
		"store/kustomization.yaml": {Data: []byte("resources: [s.yaml]")},
		"store/s.yaml":             {Data: []byte(store)},
	}
	res := generated(t, plugin.Request{Children: children.Children{}, Repo: files, Dir: "apps",
		App: plugin.App{Name: "root", Namespace: "argocd", RepoURL: repo}, KubeVersion: "1.34.0"})
	for _, f := range res.Findings {
		if f.Rule == "child-not-rendered" || strings.Contains(f.Message, "bad.yaml") || strings.Contains(f.Message, "worse.yaml") {
			t.Error(f)
		}
	}
	waves := map[string]int{}
	for i, n := range res.Plan.Graph.Nodes {
		waves[n.Key.Name] = res.Plan.Places[i].Wave
	}
	if waves["store"] >= waves["reader"] {
		t.Errorf("the store with a prefix does not come before who reads from it: %v\n%s", waves, res.YAML())
	}
}
