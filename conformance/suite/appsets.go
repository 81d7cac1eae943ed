package suite

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// GitFiles answers which files of the repository match a pattern, with their
// content, as the repo-server does.
type GitFiles func(pattern string) (map[string][]byte, error)

// ApplicationSets compares the Applications that Argo CD makes of the generated
// ApplicationSets of each fleet with those of the app-of-apps of the same fleet,
// which are written one by one: but for the waves, they are the same.
//
// read reads one Application into Argo CD's type, since versions differ in what they leave
// out of it, and generate reads one ApplicationSet strictly and makes its Applications.
func ApplicationSets(t *testing.T, name string, read func(string) (any, error), generate func(*testing.T, GitFiles, string) []any) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	sets, err := filepath.Glob(filepath.Join(root, "testdata/fleets/*", name))
	if err != nil || len(sets) == 0 {
		t.Fatalf("there is no %s: %v", name, err)
	}
	for _, file := range sets {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			made := map[string]any{}
			for _, text := range documents(t, file) {
				for _, app := range generate(t, lsFiles(root), text) {
					obj := plain(t, app)
					if made[nameOf(obj)] != nil {
						t.Errorf("%s is made twice", nameOf(obj))
					}
					made[nameOf(obj)] = obj
				}
			}
			want := map[string]any{}
			for _, text := range documents(t, filepath.Join(filepath.Dir(file), "want.apps.yaml"))[1:] {
				app, err := read(text)
				if err != nil {
					t.Fatal(err)
				}
				obj := plain(t, app)
				annotations := obj["metadata"].(map[string]any)["annotations"].(map[string]any)
				delete(annotations, "argocd.argoproj.io/sync-wave")
				if len(annotations) == 0 {
					delete(obj["metadata"].(map[string]any), "annotations")
				}
				want[nameOf(obj)] = any(obj)
			}
			for name, obj := range want {
				if !reflect.DeepEqual(made[name], obj) {
					t.Errorf("%s: the ApplicationSet makes\n%s\nand the app-of-apps has\n%s", name, pretty(made[name]), pretty(obj))
				}
			}
			for name := range made {
				if want[name] == nil {
					t.Errorf("%s is in the ApplicationSet only", name)
				}
			}
		})
	}
}

// Apps reads every Application of every app-of-apps.
func Apps(t *testing.T, read func(text string) error) {
	files, err := filepath.Glob("../../testdata/fleets/*/want.apps.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("there are no Applications", err)
	}
	for _, file := range files {
		for _, text := range documents(t, file) {
			if err := read(text); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
}

// lsFiles finds files as git does, and the repo-server with it.
func lsFiles(root string) GitFiles {
	return func(pattern string) (map[string][]byte, error) {
		out, err := exec.Command("git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard", "--full-name", "-z",
			"--", pattern).Output()
		if err != nil {
			return nil, err
		}
		all := map[string][]byte{}
		for _, name := range strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00") {
			if name == "" {
				continue
			}
			if all[name], err = os.ReadFile(filepath.Join(root, name)); err != nil {
				return nil, err
			}
		}
		return all, nil
	}
}

func documents(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(strings.Split(string(text), "\n---\n"), func(doc string) bool { return strings.TrimSpace(doc) == "" })
}

// plain is a typed object as JSON has it, without what is empty.
func plain(t *testing.T, v any) map[string]any {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var obj map[string]any
	if err := json.Unmarshal(text, &obj); err != nil {
		t.Fatal(err)
	}
	delete(obj, "status")
	return withoutEmpty(obj).(map[string]any)
}

func withoutEmpty(v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	for key, value := range m {
		m[key] = withoutEmpty(value)
		if inner, ok := m[key].(map[string]any); value == nil || ok && len(inner) == 0 {
			delete(m, key)
		}
	}
	return m
}

func nameOf(obj map[string]any) string {
	name, _ := obj["metadata"].(map[string]any)["name"].(string)
	return name
}

func pretty(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", "  ")
	_ = enc.Encode(v)
	return b.String()
}
