package suite

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// kindsFile is what a file of ../knowledge/kinds says of health checks.
type kindsFile struct {
	Group   string `json:"group"`
	Builtin bool   `json:"builtin"`
	Kinds   []struct {
		Kind   string `json:"kind"`
		Health []struct {
			Since   string   `json:"since"`
			Earlier []string `json:"earlier"`
		} `json:"health"`
	} `json:"kinds"`
}

// HealthChecks compares the kinds for which the records say that a release of Argo CD has a health
// check with the scripts in its resource_customizations: each record has a script, and each
// script a record. It leaves out kinds with a check in Go.
func HealthChecks(t *testing.T, release string, scripts fs.FS, unmarshal func([]byte, any) error) {
	t.Helper()
	files, err := filepath.Glob("../../../knowledge/kinds/*.yaml")
	if err != nil || len(files) < 100 {
		t.Fatalf("%d files of kinds: %v", len(files), err)
	}
	said := map[string]bool{} // by "group/Kind", as the directories are called
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var f kindsFile
		if err := unmarshal(text, &f); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, k := range f.Kinds {
			if len(k.Health) == 0 || f.Builtin || f.Group == "argoproj.io" && k.Kind == "Workflow" {
				continue
			}
			h := k.Health[0]
			said[strings.ReplaceAll(f.Group+"/"+k.Kind, "*", "_")] = !before(release, h.Since)
			for _, earlier := range h.Earlier {
				kind, group, _ := strings.Cut(earlier, ".")
				said[group+"/"+kind] = before(release, h.Since)
			}
		}
	}
	has := map[string]bool{}
	err = fs.WalkDir(scripts, ".", func(name string, _ fs.DirEntry, err error) error {
		if path.Base(name) == "health.lua" {
			has[path.Dir(name)] = true
		}
		return err
	})
	if err != nil || len(has) < 150 {
		t.Fatalf("%d scripts: %v", len(has), err)
	}
	for name := range has {
		if known, ok := said[name]; !known && (ok || !isBuiltin(name)) {
			t.Errorf("Argo CD %s has a check for %s, and the records say that it has none", release, name)
		}
	}
	for name, known := range said {
		if known && !has[name] && !hasWildcard(has, name) {
			t.Errorf("the records say that Argo CD %s has a check for %s, and it has none", release, name)
		}
	}
}

// isBuiltin reports whether a kind is in a group of Kubernetes, some of whose checks are in Go.
func isBuiltin(name string) bool {
	group := path.Dir(name)
	return !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io") && strings.Count(group, ".") == 2
}

// hasWildcard reports whether a script with "_" for any text, such as _.crossplane.io/_, fits.
func hasWildcard(has map[string]bool, name string) bool {
	for pattern := range has {
		if ok, err := path.Match(strings.ReplaceAll(pattern, "_", "*"), name); strings.Contains(pattern, "_") && ok && err == nil {
			return true
		}
	}
	return false
}

// before reports whether a release such as "2.14" is older than one such as "v3.1", or "".
func before(release, since string) bool {
	number := func(version string) int {
		major, minor, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
		a, _ := strconv.Atoi(major)
		b, _ := strconv.Atoi(minor)
		return a*1000 + b
	}
	return number(release) < number(since)
}
