package conformance

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"sort"
	"strings"
	"testing"

	log "github.com/sirupsen/logrus"
	"golang.org/x/tools/txtar"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/yaml"

	"github.com/argoproj/argo-cd/v3/applicationset/controllers/template"
	"github.com/argoproj/argo-cd/v3/applicationset/generators"
	"github.com/argoproj/argo-cd/v3/applicationset/utils"
	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v3/util/git"
)

// TestExpand expands the ApplicationSets in the test data of fleet/appset with Argo
// CD's code. The expected Applications there are what it must generate.
func TestExpand(t *testing.T) {
	files, err := filepath.Glob("../../fleet/appset/testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		if name == "unknown" { // what a generator finds elsewhere, and what the API server refuses
			continue
		}
		t.Run(name, func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			repo := checkedOut{t.TempDir(), t}
			var sets, want string
			var clusters []client.Object
			for _, f := range archive.Files {
				switch f.Name {
				case "sets.yaml":
					sets = string(f.Data)
				case "want.yaml":
					want = string(f.Data)
				case "values.yaml":
					clusters = secrets(t, f.Data)
				default:
					at := filepath.Join(repo.dir, f.Name)
					if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(at, f.Data, 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}
			repo.git("init", "--quiet")
			repo.git("add", ".")
			expected := expectedSets(t, want)
			for _, text := range strings.Split(sets, "\n---\n") {
				var set v1alpha1.ApplicationSet
				if err := yaml.UnmarshalStrict([]byte(text), &set); err != nil {
					t.Fatal(err)
				}
				compareSet(t, set, repo, clusters, expected[set.Name])
			}
		})
	}
}

// expectedSet is what an ApplicationSet generates, as the test data says.
type expectedSet struct {
	apps  []any
	fails bool
}

func expectedSets(t *testing.T, text string) map[string]expectedSet {
	t.Helper()
	all := map[string]expectedSet{}
	for _, of := range strings.Split("\n"+text, "\n# set ")[1:] {
		name, rest, _ := strings.Cut(of, "\n")
		docs := strings.Split("\n"+rest, "\n---\n")
		set := expectedSet{fails: strings.Contains(docs[0], "# fault: ")}
		for _, doc := range docs[1:] {
			app, err := application(doc)
			if err != nil {
				t.Fatal(err)
			}
			set.apps = append(set.apps, plainApp(t, app))
		}
		all[name] = set
	}
	return all
}

func compareSet(t *testing.T, set v1alpha1.ApplicationSet, repo checkedOut, clusters []client.Object, want expectedSet) {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, corev1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(append(clusters, project("default"), project("special"))...).Build()
	all := map[string]generators.Generator{"List": generators.NewListGenerator(), "Git": generators.NewGitGenerator(repo, "argocd"),
		"Clusters": generators.NewClusterGenerator(api, "argocd")}
	inner := map[string]generators.Generator{}
	for name, g := range all {
		inner[name] = g
	}
	inner["Matrix"], inner["Merge"] = generators.NewMatrixGenerator(all), generators.NewMergeGenerator(all)
	for name, g := range map[string]generators.Generator{"Matrix": generators.NewMatrixGenerator(inner),
		"Merge": generators.NewMergeGenerator(inner)} {
		all[name] = g
	}
	apps, _, err := template.GenerateApplications(log.NewEntry(log.StandardLogger()), set, all, &utils.Render{}, api)
	if (err != nil) != want.fails {
		t.Errorf("%s: Argo CD's error is %v, and the test data has faults: %t", set.Name, err, want.fails)
	}
	var got []any
	for _, app := range apps {
		app.APIVersion, app.Kind = v1alpha1.SchemeGroupVersion.String(), "Application"
		got = append(got, plainApp(t, app))
	}
	byName := func(list []any) func(i, j int) bool {
		return func(i, j int) bool { return nameIn(list[i]) < nameIn(list[j]) }
	}
	sort.Slice(got, byName(got))
	sort.Slice(want.apps, byName(want.apps))
	if !reflect.DeepEqual(got, want.apps) {
		x, _ := json.MarshalIndent(got, "", " ")
		y, _ := json.MarshalIndent(want.apps, "", " ")
		t.Errorf("%s: Argo CD generates\n%s\nand the test data has\n%s", set.Name, x, y)
	}
}

func nameIn(app any) string {
	name, _ := app.(map[string]any)["metadata"].(map[string]any)["name"].(string)
	return name
}

func plainApp(t *testing.T, app any) any {
	t.Helper()
	text, err := json.Marshal(app)
	if err != nil {
		t.Fatal(err)
	}
	var all any
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// secrets are those that tell Argo CD about clusters.
func secrets(t *testing.T, values []byte) []client.Object {
	t.Helper()
	var all map[string]map[string][]struct {
		Name, Server string
		Metadata     struct{ Labels map[string]string }
	}
	if err := yaml.Unmarshal(values, &all); err != nil {
		t.Fatal(err)
	}
	var made []client.Object
	for _, c := range all["*"]["clusters"] {
		var s corev1.Secret
		s.Name, s.Namespace = utils.SanitizeName(c.Name), "argocd"
		s.Labels = map[string]string{"argocd.argoproj.io/secret-type": "cluster"}
		for key, value := range c.Metadata.Labels {
			s.Labels[key] = value
		}
		s.Data = map[string][]byte{"name": []byte(c.Name), "server": []byte(c.Server)}
		made = append(made, &s)
	}
	return made
}

// checkedOut stands for the repo-server: it lists files with Argo CD's git client, and
// directories as the repo-server does.
type checkedOut struct {
	dir string
	t   *testing.T
}

func (r checkedOut) git(args ...string) {
	r.t.Helper()
	if out, err := exec.Command("git", append([]string{"-C", r.dir}, args...)...).CombinedOutput(); err != nil {
		r.t.Fatalf("%s: %v", out, err)
	}
}

func (r checkedOut) GetFiles(_ context.Context, _, _, _, pattern string, _ bool, _ *v1alpha1.SourceIntegrity) (map[string][]byte, error) {
	c, err := git.NewClientExt("https://git.example.com/ours.git", r.dir, git.NopCreds{}, false, false, "", "")
	if err != nil {
		return nil, err
	}
	names, err := c.LsFiles(pattern, false)
	if err != nil {
		return nil, err
	}
	all := map[string][]byte{}
	for _, name := range names {
		if all[name], err = os.ReadFile(filepath.Join(r.dir, name)); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (r checkedOut) GetDirectories(context.Context, string, string, string, bool, *v1alpha1.SourceIntegrity) ([]string, error) {
	var all []string
	err := fs.WalkDir(os.DirFS(r.dir), ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || !d.IsDir() || p == ".":
			return err
		case strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		}
		all = append(all, p)
		return nil
	})
	return all, err
}
