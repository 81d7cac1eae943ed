// Package kustomize holds the rendering of kustomizations against kustomize and
// helm themselves: every case is built by "kustomize build --enable-helm" with
// Helm 4 and with Helm 3, and by Ladder, which runs neither. All must say the same,
// byte by byte. Where the two versions of Helm differ, Helm 4 counts.
package kustomize

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/ladder-cmp/ladder/internal/remote"
	"github.com/ladder-cmp/ladder/render"
)

// kubeVersion is what templates are shown if no chart says otherwise.
const kubeVersion = "1.34.2"

// tools are the programs that the cases are built with.
var tools = map[string]string{
	"kustomize": "sigs.k8s.io/kustomize/kustomize/v5",
	"helm4":     "helm.sh/helm/v4/cmd/helm",
	"helm3":     "helm.sh/helm/v3/cmd/helm",
}

var bin string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if bin, err = os.MkdirTemp("", "kustomize-conformance-"); err != nil {
			panic(err)
		}
		defer os.RemoveAll(bin)
		for name, from := range tools {
			if out, err := exec.Command("go", "build", "-o", filepath.Join(bin, name), from).CombinedOutput(); err != nil {
				fmt.Fprintf(os.Stderr, "%s: %v\n%s", from, err, out)
				return 1
			}
		}
		return m.Run()
	}())
}

// TestBuild compares every case.
func TestBuild(t *testing.T) {
	registry := newRegistry(t)
	cases, err := filepath.Glob("testdata/cases/*.txtar")
	if err != nil || len(cases) == 0 {
		t.Fatal("there are no cases", err)
	}
	for _, file := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			ours, err := render.Dir(t.Context(), os.DirFS(lay(t, file, registry.url)), "app",
				render.Options{KubeVersion: kubeVersion, Remote: registry})
			if err != nil {
				t.Fatal(err)
			}
			var texts []string
			for _, o := range ours.Objects {
				texts = append(texts, o.Text())
			}
			helms := []string{"helm4", "helm3"}
			if strings.HasPrefix(filepath.Base(file), "helm4-") {
				helms = helms[:1] // what Helm 3 does otherwise
			}
			for _, helm := range helms {
				if diff := cmp.Diff(build(t, helm, filepath.Join(lay(t, file, registry.url), "app")), strings.Join(texts, "---\n")); diff != "" {
					t.Errorf("-kustomize with %s +ladder:\n%s", helm, diff)
				}
			}
		})
	}
}

// lay writes the files of a case, with the charts of all cases beside each
// kustomization that keeps its charts there.
func lay(t *testing.T, file, repo string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, f := range txtar.Parse(bytes.ReplaceAll(text, []byte("$REPO"), []byte(repo))).Files {
		write(t, filepath.Join(dir, f.Name), f.Data)
		if filepath.Base(f.Name) != "kustomization.yaml" ||
			!bytes.Contains(f.Data, []byte("probe")) && !bytes.Contains(f.Data, []byte("generators")) {
			continue
		}
		home := "charts"
		if bytes.Contains(f.Data, []byte("vendor/charts")) {
			home = "vendor/charts"
		}
		if err := os.CopyFS(filepath.Join(dir, filepath.Dir(f.Name), home), os.DirFS("testdata/charts")); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func write(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// build is what kustomize says. It is told to leave the objects in the order in
// which they come up, which says more than its own.
func build(t *testing.T, helm, dir string) string {
	t.Helper()
	cmd := exec.Command(filepath.Join(bin, "kustomize"), "build", "--enable-helm", "--helm-command", filepath.Join(bin, helm),
		"--helm-kube-version", kubeVersion, "--reorder", "none", dir)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	return string(out)
}

// registry serves charts to helm over loopback, and hands the same ones to Ladder.
type registry struct {
	url    string
	charts map[string][]byte // by version
}

// newRegistry serves three versions of the chart distant.
func newRegistry(t *testing.T) *registry {
	t.Helper()
	r := &registry{charts: map[string][]byte{}}
	index := "apiVersion: v1\nentries:\n  distant:\n"
	for _, version := range []string{"2.0.0-rc.1", "1.1.0", "1.0.0"} {
		r.charts[version] = pack(t, "distant", version)
		index += fmt.Sprintf("  - {apiVersion: v2, name: distant, version: %q, urls: [distant-%s.tgz]}\n", version, version)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		name := strings.TrimPrefix(req.URL.Path, "/")
		version := strings.TrimSuffix(strings.TrimPrefix(name, "distant-"), ".tgz")
		switch {
		case name == "index.yaml":
			fmt.Fprint(w, index)
		case r.charts[version] != nil:
			w.Write(r.charts[version])
		default:
			http.NotFound(w, req)
		}
	}))
	t.Cleanup(server.Close)
	r.url = server.URL
	return r
}

// pack makes a chart out of the one that all cases have, under another name.
func pack(t *testing.T, name, version string) []byte {
	t.Helper()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	w := tar.NewWriter(z)
	from := os.DirFS("testdata/charts/probe")
	err := fs.WalkDir(from, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(from, p)
		if err != nil {
			return err
		}
		if p == "Chart.yaml" {
			data = []byte(strings.NewReplacer("name: probe", "name: "+name, "version: 1.2.0", "version: "+version).Replace(string(data)))
		}
		if err := w.WriteHeader(&tar.Header{Name: name + "/" + p, Mode: 0o644, Size: int64(len(data))}); err != nil {
			return err
		}
		_, err = w.Write(data)
		return err
	})
	if err != nil || w.Close() != nil || z.Close() != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

// Fetch hands out the version that helm would choose.
func (r *registry) Fetch(_ context.Context, ref remote.Ref) (remote.Content, error) {
	version := map[string]string{"": "1.1.0", ">0.0.0-0": "2.0.0-rc.1"}[ref.Version]
	if version == "" {
		version = ref.Version
	}
	data := r.charts[version]
	if ref.Kind != remote.Chart || ref.URL != r.url || ref.Chart != "distant" || data == nil {
		return remote.Content{}, fmt.Errorf("nobody has %s", ref)
	}
	return remote.Content{Version: version, Digest: remote.Digest(data), Data: slices.Clone(data)}, nil
}
