package conformance

import (
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v3/reposerver/apiclient"
	"github.com/argoproj/argo-cd/v3/reposerver/repository"
	"github.com/argoproj/argo-cd/v3/util/git"
	utilio "github.com/argoproj/argo-cd/v3/util/io"

	"github.com/ladder-cmp/ladder/conformance/suite"
)

var update = flag.Bool("update", false, "write what came out into the archives that hold a difference")

// The programs that Argo CD 3.5 runs, in the versions that its image has
// (hack/tool-versions.sh).
var programs = []string{"helm.sh/helm/v4/cmd/helm@v4.2.1", "sigs.k8s.io/kustomize/kustomize/v5@v5.8.1"}

// TestNative renders repositories with Argo CD's own sources and with the plugin,
// and compares all that comes out. Each archive in testdata/native is a row of a
// table in docs/native.md: a repository, in native.yaml the source for Argo CD, in
// plugin.yaml the parameters that say the same to the plugin. Where an archive has
// a want.txt the two differ, and it says how.
func TestNative(t *testing.T) {
	install(t)
	suite.Start(t)
	files, err := filepath.Glob("testdata/native/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no archives: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			r := unpack(t, archive)
			native, plugin := r.render(t, r.native), r.render(t, r.plugin)
			if !r.differ {
				if native.err != nil || plugin.err != nil {
					t.Fatalf("native: %v\nplugin: %v", native.err, plugin.err)
				}
				if len(native.manifests) == 0 {
					t.Error("nothing is rendered, which proves nothing")
				}
				if !slices.Equal(native.manifests, plugin.manifests) {
					t.Errorf("native:\n%s\nplugin:\n%s", strings.Join(native.manifests, "\n"), strings.Join(plugin.manifests, "\n"))
				}
				return
			}
			got := "native: " + native.summary(plugin) + "\nplugin: " + plugin.summary(native) + "\n"
			i := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == "want.txt" })
			if *update {
				archive.Files[i].Data = []byte(got)
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if want := string(archive.Files[i].Data); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// TestNativeTable makes sure that each row of the tables and lists in docs/native.md has an
// archive, and each archive a row.
func TestNativeTable(t *testing.T) {
	text, err := os.ReadFile("../../docs/native.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows, archives []string
	for _, m := range regexp.MustCompile("(?m)^\\| .* \\| `([a-z-]+\\.[a-z-]+)` \\|$").FindAllStringSubmatch(string(text), -1) {
		rows = append(rows, m[1])
	}
	listed := regexp.MustCompile("(?m)^- .* \\(`([a-z-]+\\.[a-z-]+)`\\)$").FindAllStringSubmatch(string(text), -1)
	// Every line of a table is a row, its head or the line below.
	lines := regexp.MustCompile(`(?m)^\|`).FindAllString(string(text), -1)
	heads := regexp.MustCompile(`(?m)^\| ---`).FindAllString(string(text), -1)
	if len(lines) != len(rows)+2*len(heads) {
		t.Errorf("of %d rows in docs/native.md %d name their test in the last column", len(lines)-2*len(heads), len(rows))
	}
	for _, m := range listed {
		rows = append(rows, m[1])
	}
	files, err := filepath.Glob("testdata/native/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		archives = append(archives, strings.TrimSuffix(filepath.Base(file), ".txtar"))
	}
	for _, row := range rows {
		if !slices.Contains(archives, row) {
			t.Errorf("the row %s of docs/native.md has no archive in testdata/native", row)
		}
	}
	for _, archive := range archives {
		if !slices.Contains(rows, archive) {
			t.Errorf("testdata/native/%s.txtar has no row in docs/native.md", archive)
		}
	}
}

// install puts the programs on the PATH of the repo-server's code.
func install(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	for _, program := range programs {
		cmd := exec.Command("go", "install", program)
		cmd.Dir = dir // of no module, and so of no replacements
		cmd.Env = append(os.Environ(), "GOBIN="+dir, "GOFLAGS=")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go install %s: %v\n%s", program, err, out)
		}
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// row is a repository, and the sources of an Application in it.
type row struct {
	root           string
	native, plugin []v1alpha1.ApplicationSource
	options        options
	differ         bool
	url            string
}

// options are what Argo CD knows besides the Application.
type options struct {
	BuildOptions string   `json:"buildOptions"`
	APIVersions  []string `json:"apiVersions"`
	// Refs are the sources that values files may be in, by their names: this
	// repository if they are empty, else that directory.
	Refs map[string]string `json:"refs"`
}

func unpack(t *testing.T, archive *txtar.Archive) row {
	t.Helper()
	root := t.TempDir()
	server := httptest.NewServer(http.FileServer(http.Dir(root)))
	t.Cleanup(server.Close)
	r := row{root: root, url: server.URL}
	for _, f := range archive.Files {
		data := []byte(strings.ReplaceAll(string(f.Data), "URL", server.URL))
		var err error
		switch f.Name {
		case "native.yaml":
			r.native, err = sources(data)
		case "plugin.yaml":
			r.plugin, err = pluginSources(data)
		case "options.yaml":
			err = yaml.UnmarshalStrict(data, &r.options)
		case "want.txt":
			r.differ = true
		case "links":
			for line := range strings.Lines(string(f.Data)) {
				name, target, _ := strings.Cut(strings.TrimSpace(line), " -> ")
				if err = os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755); err == nil {
					err = os.Symlink(target, filepath.Join(root, name))
				}
				if err != nil {
					break
				}
			}
		default:
			name := filepath.Join(root, f.Name)
			if err = os.MkdirAll(filepath.Dir(name), 0o755); err == nil {
				err = os.WriteFile(name, []byte(strings.ReplaceAll(string(f.Data), `\ufeff`, "\ufeff")), 0o644)
			}
		}
		if err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
	}
	if r.native == nil || r.plugin == nil {
		t.Fatal("native.yaml or plugin.yaml is missing")
	}
	return r
}

// sources reads a source, or a list of them, without its repository. Where no path
// is given it is "app".
func sources(data []byte) ([]v1alpha1.ApplicationSource, error) {
	var several struct {
		Sources []v1alpha1.ApplicationSource `json:"sources"`
	}
	if err := yaml.Unmarshal(data, &several); err != nil {
		return nil, err
	}
	if several.Sources == nil {
		several.Sources = make([]v1alpha1.ApplicationSource, 1)
		if err := yaml.UnmarshalStrict(data, &several.Sources[0]); err != nil {
			return nil, err
		}
	}
	for i := range several.Sources {
		if several.Sources[i].Path == "" {
			several.Sources[i].Path = "app"
		}
	}
	return several.Sources, nil
}

// pluginSources reads sources for the plugin, or the parameters of one. The order
// of what is rendered is not looked at, so no waves are asked for.
func pluginSources(data []byte) ([]v1alpha1.ApplicationSource, error) {
	if !strings.Contains(string(data), "sources:") {
		text, err := yaml.YAMLToJSON(data)
		if err != nil {
			return nil, err
		}
		if string(text) == "null" {
			text = []byte("[]")
		}
		data = fmt.Appendf(nil, `{"plugin": {"name": "ladder", "parameters": %s}}`, text)
	}
	all, err := sources(data)
	off := "off"
	for i := range all {
		if p := all[i].Plugin; p != nil {
			p.Parameters = append(p.Parameters, v1alpha1.ApplicationSourcePluginParameter{Name: "waves", String_: &off})
		}
	}
	return all, err
}

// rendering is what came of a row.
type rendering struct {
	manifests []string
	err       error
}

func (r row) render(t *testing.T, all []v1alpha1.ApplicationSource) rendering {
	t.Helper()
	var out rendering
	for _, source := range all {
		// Argo CD edits kustomizations where they are.
		root := t.TempDir()
		if err := copyTree(root, r.root); err != nil {
			t.Fatal(err)
		}
		const repo = "https://git.example.com/platform.git"
		paths := utilio.NewRandomizedTempPaths(t.TempDir())
		refs := map[string]*v1alpha1.RefTarget{}
		for name, dir := range r.options.Refs {
			url := repo
			if dir != "" {
				url = "https://git.example.com/" + dir + ".git"
			}
			refs["$"+name] = &v1alpha1.RefTarget{Repo: v1alpha1.Repository{Repo: url}}
			paths.Add(git.NormalizeGitURL(url), filepath.Join(root, dir))
		}
		request := &apiclient.ManifestRequest{
			Repo: &v1alpha1.Repository{Repo: repo}, AppName: "shop", Namespace: "demo", ProjectName: "retail",
			ApplicationSource: source.DeepCopy(), KubeVersion: "1.34.0",
			ApiVersions: r.options.APIVersions, KustomizeOptions: &v1alpha1.KustomizeOptions{BuildOptions: r.options.BuildOptions},
			RefSources: refs, HasMultipleSources: len(all) > 1,
			HelmOptions: &v1alpha1.HelmOptions{ValuesFileSchemes: []string{"http", "https"}},
		}
		written := make(chan bool, 1)
		res, err := repository.GenerateManifests(t.Context(), filepath.Join(root, source.Path), root, "0123456789abcdef", request,
			false, git.NoopCredsStore{},
			resource.MustParse("0"), paths, repository.WithCMPTarDoneChannel(written))
		if err != nil {
			out.err = fmt.Errorf("%s",
				strings.NewReplacer(root, ".", r.url, "URL", strings.TrimPrefix(r.url, "http://"), "HOST").Replace(err.Error()))
			return out
		}
		for _, m := range res.GetManifests() {
			var object any
			if err := json.Unmarshal([]byte(m), &object); err != nil {
				t.Fatal(err)
			}
			if object == nil {
				continue // which the controller passes over
			}
			text, err := json.Marshal(object)
			if err != nil {
				t.Fatal(err)
			}
			out.manifests = append(out.manifests, string(text))
		}
	}
	slices.Sort(out.manifests)
	return out
}

// copyTree copies a directory with its symlinks, wherever they lead.
func copyTree(to, from string) error {
	return filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		at := filepath.Join(to, rel)
		switch {
		case d.IsDir():
			return os.MkdirAll(at, 0o755)
		case d.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(name)
			if err != nil {
				return err
			}
			return os.Symlink(target, at)
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return os.WriteFile(at, data, 0o644)
	})
}

// summary says what came out, in a line for each thing: what was refused, or which
// objects there are, with those in full that the other rendering does not have.
func (r rendering) summary(other rendering) string {
	if r.err != nil {
		text := strings.Join(strings.Fields(r.err.Error()), " ")
		if _, own, ok := strings.Cut(text, "code = InvalidArgument desc = "); ok {
			text = own
		}
		if len(text) > 250 {
			text = text[:250] + " ..."
		}
		return "refused: " + text
	}
	if len(r.manifests) == 0 {
		return "nothing"
	}
	var names []string
	full := ""
	for _, m := range r.manifests {
		var object struct {
			Kind     string
			Metadata struct{ Name string }
		}
		_ = json.Unmarshal([]byte(m), &object)
		names = append(names, strings.TrimSpace(object.Kind+" "+object.Metadata.Name))
		if other.err == nil && !slices.Contains(other.manifests, m) {
			full += "\n  " + m
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ") + full
}
