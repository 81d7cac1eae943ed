package vendoring

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/remote"
	"github.com/ladder-cmp/ladder/knowledge"
)

// site serves files by their URLs, and counts requests.
type site struct {
	files    map[string]string
	requests int
}

func (s *site) Fetch(_ context.Context, ref remote.Ref) (remote.Content, error) {
	s.requests++
	text, exists := s.files[ref.URL]
	if !exists {
		return remote.Content{}, finding.Finding{Severity: finding.Error, Rule: remote.Source, Object: ref.String(), Message: "not found"}
	}
	return remote.Content{Data: []byte(text), Digest: remote.Digest([]byte(text))}, nil
}

func configMapNamed(name string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\n"
}

const (
	first  = "https://files.example.com/first.yaml"
	second = "https://files.example.com/second.yaml"
)

// vendor is a component in a new repository, which becomes the working directory.
type vendor struct {
	*testing.T
	site *site
}

func newVendorTest(t *testing.T, resources ...string) vendor {
	t.Helper()
	t.Chdir(t.TempDir())
	if err := os.MkdirAll("app", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(".git", 0o755); err != nil {
		t.Fatal(err)
	}
	v := vendor{t, &site{files: map[string]string{first: configMapNamed("first"), second: configMapNamed("second")}}}
	v.resources(resources...)
	return v
}

// resources changes what the component refers to.
func (v vendor) resources(all ...string) {
	v.Helper()
	v.write("app/kustomization.yaml", "resources: ["+strings.Join(append(all, "own.yaml"), ", ")+"]\n")
	v.write("app/own.yaml", configMapNamed("own"))
}

func (v vendor) write(name, text string) {
	v.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		v.Fatal(err)
	}
}

// run vendors with options, and returns what was printed or the rules of the errors.
func (v vendor) run(opt Options) string {
	v.Helper()
	opt.Base = knowledge.Default()
	if !opt.Check {
		opt.Network = &Network{Anew: v.site, Again: func(string) remote.Fetcher { return v.site }}
	}
	text, _, err := opt.Run(v.Context(), []string{"app"})
	if err == nil {
		return text
	}
	var rules []string
	for _, f := range finding.Of(err) {
		rules = append(rules, string(f.Rule))
	}
	return "error " + strings.Join(rules, " ")
}

// vendored returns the texts of the vendored files, sorted.
func (v vendor) vendored() []string {
	v.Helper()
	texts := map[string]bool{}
	_ = filepath.WalkDir("app/"+remote.VendorDir, func(p string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			text, _ := os.ReadFile(p)
			texts[string(text)] = true
		}
		return err
	})
	return slices.Sorted(maps.Keys(texts))
}

func (v vendor) expect(got, want string) {
	v.Helper()
	if !strings.HasPrefix(got, want) {
		v.Errorf("got %q, want %q", got, want)
	}
}

func (v vendor) expectFiles(texts ...string) {
	v.Helper()
	if got := v.vendored(); !slices.Equal(got, texts) {
		v.Errorf("vendored files are %q, want %q", got, texts)
	}
	_, err := os.Stat("app/" + remote.LockFile)
	if locked := err == nil; locked != (len(texts) > 0) {
		v.Errorf("the lock file: %v", err)
	}
}

// TestLifecycle vendors, finds nothing to do, follows changes of the component, and removes all.
func TestLifecycle(t *testing.T) {
	v := newVendorTest(t, first)
	v.expect(v.run(Options{Check: true}), "error not-vendored")
	v.expectFiles()
	v.expect(v.run(Options{}), "app: 1 source, 1 changed\n")
	v.expectFiles(configMapNamed("first"))
	v.expect(v.run(Options{Check: true}), "1 component, 1 source: nothing is missing")
	requests := v.site.requests
	v.expect(v.run(Options{}), "app: 1 source, none changed\n")
	if v.site.requests != requests {
		t.Error("a locked source was requested again")
	}
	v.resources(first, second)
	v.expect(v.run(Options{}), "app: 2 sources, 1 changed\n")
	v.expectFiles(configMapNamed("first"), configMapNamed("second"))
	v.resources(second)
	v.expect(v.run(Options{Keep: true}), "app: 2 sources, none changed\n")
	v.expect(v.run(Options{}), "app: 1 source, 1 changed\n")
	v.expectFiles(configMapNamed("second"))
	v.resources()
	v.expect(v.run(Options{}), "app: 0 sources, 1 changed\n")
	v.expectFiles()
	if _, err := os.Lstat("app/" + remote.VendorDir); err == nil {
		t.Error("the empty directory was kept")
	}
	v.expect(v.run(Options{}), "1 component: no remote sources\n")
}

// TestUpdate keeps what is locked until --update names it.
func TestUpdate(t *testing.T) {
	v := newVendorTest(t, first, second)
	v.run(Options{})
	v.site.files[first], v.site.files[second] = configMapNamed("first2"), configMapNamed("second2")
	v.expect(v.run(Options{}), "app: 2 sources, none changed\n")
	v.expect(v.run(Options{Update: []string{"frist.yaml"}}), "error")
	v.expectFiles(configMapNamed("first"), configMapNamed("second"))
	v.expect(v.run(Options{Update: []string{"first.yaml"}}), "app: 2 sources, 1 changed\n")
	v.expectFiles(configMapNamed("first2"), configMapNamed("second"))
	v.expect(v.run(Options{Update: []string{Everything}}), "app: 2 sources, 1 changed\n")
	v.expectFiles(configMapNamed("first2"), configMapNamed("second2"))
}

// TestFailure changes nothing if a source is missing, even if another one is not.
func TestFailure(t *testing.T) {
	v := newVendorTest(t, first, second)
	delete(v.site.files, second)
	v.expect(v.run(Options{}), "error remote-source")
	v.expectFiles()
}

// TestEditedFiles finds files that somebody added, and fetches those that somebody deleted again.
func TestEditedFiles(t *testing.T) {
	v := newVendorTest(t, first)
	v.run(Options{})
	v.write("app/"+remote.VendorDir+"/stray.yaml", "stray")
	v.expect(v.run(Options{Check: true}), "error bad-lock")
	v.expect(v.run(Options{}), "app: 1 source, 1 changed\n  - app/"+remote.VendorDir+"/stray.yaml (not in ladder.lock)")
	v.expectFiles(configMapNamed("first"))
	if err := os.RemoveAll("app/" + remote.VendorDir); err != nil {
		t.Fatal(err)
	}
	v.expect(v.run(Options{Check: true}), "error")
	v.expect(v.run(Options{}), "app: 1 source, none changed\n")
	v.expectFiles(configMapNamed("first"))
}

// TestSymlinks writes and removes nothing through symlinks: their targets belong to others.
func TestSymlinks(t *testing.T) {
	for _, link := range []string{remote.VendorDir, "sub"} {
		t.Run(link, func(t *testing.T) {
			v := newVendorTest(t, first)
			if err := os.Mkdir("others", 0o755); err != nil {
				t.Fatal(err)
			}
			v.write("others/file", "of others")
			name := "app/" + remote.VendorDir
			if link != remote.VendorDir {
				v.run(Options{})
				entries, err := os.ReadDir(name)
				if err != nil || len(entries) != 1 || !entries[0].IsDir() {
					t.Fatal(entries, err)
				}
				name = filepath.Join(name, entries[0].Name())
				if err := os.RemoveAll(name); err != nil {
					t.Fatal(err)
				}
			}
			target, err := filepath.Abs("others")
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(target, name); err != nil {
				t.Fatal(err)
			}
			v.resources()
			v.expect(v.run(Options{}), "error not-written")
			v.resources(second)
			v.expect(v.run(Options{}), "error not-written")
			if entries, err := os.ReadDir("others"); err != nil || fmt.Sprint(entries) != "[- file]" {
				t.Errorf("the directory of others contains %v, %v", entries, err)
			}
		})
	}
}
