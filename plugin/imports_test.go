package plugin_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/ladder-cmp/ladder/"

// goPackage is what "go list -json" says of a package.
type goPackage struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

func listPackages(t *testing.T) []goPackage {
	t.Helper()
	all, err := listed()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// listed asks go once for all tests.
var listed = sync.OnceValues(func() ([]goPackage, error) {
	cmd := exec.Command("go", "list", "-deps=false", "-json=ImportPath,Imports,Deps", module+"...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, stderr.String())
	}
	var all []goPackage
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
})

var pure = []string{"internal/finding", "object", "internal/settings", "knowledge", "graph/text", "graph/facts", "graph", "wave",
	"internal/draw", "crds", "graph/hooks", "component", "fleet/profile", "fleet/link", "fleet/appofapps", "internal/remote",
	"internal/compare",
	"internal/report", "argocd/doctor", "live", "argocd"}

// TestFoldersAreDocumented compares the tables of folders and packages, and the list of
// those that are pure, with what there is.
func TestFoldersAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../docs/development.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range listPackages(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		if !regexp.MustCompile("(?m)^\\| [^|]*`" + name + "`[^|]*\\| [^|]*\\w").Match(text) {
			t.Errorf("docs/development.md has no row for %s", name)
		}
	}
	// What is at the top is seen first by whoever comes.
	top, err := os.ReadDir("..")
	if err != nil {
		t.Fatal(err)
	}
	folders := 0
	for _, entry := range top {
		if name := entry.Name(); entry.IsDir() && !strings.HasPrefix(name, ".") && name != "dist" {
			folders++
			if !strings.Contains(string(text), "\n| `"+name+"` |") {
				t.Errorf("docs/development.md has no row for %s", name)
			}
		}
	}
	if folders > 20 {
		t.Errorf("%d folders are at the top; what the sentence of docs/development.md does not name goes below internal", folders)
	}
	list, _, found := strings.Cut(string(text), " are pure: ")
	if list = list[strings.LastIndex(list, "\n\n")+2:]; !found {
		t.Fatal("docs/development.md does not say what is pure")
	}
	names := strings.FieldsFunc(list, func(r rune) bool { return strings.ContainsRune("`, \n", r) })
	names = slices.DeleteFunc(names, func(name string) bool { return name == "and" })
	if !slices.Equal(names, pure) {
		t.Errorf("docs/development.md calls %v pure, and the test %v", names, pure)
	}
}

// TestWhereAChangeGoes opens what the table of changes names.
func TestWhereAChangeGoes(t *testing.T) {
	text, err := os.ReadFile("../docs/development.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "## Where a change goes")
	table, _, _ = strings.Cut(table, "\n## ")
	named := regexp.MustCompile("`([a-z]+/[a-z/_*.-]+)`").FindAllStringSubmatch(table, -1)
	for _, found := range named {
		if there, err := filepath.Glob("../" + found[1]); err != nil || len(there) == 0 {
			t.Errorf("the table names %s, which does not exist", found[1])
		}
	}
	if len(named) < 25 {
		t.Errorf("the table names %d places", len(named))
	}
}

// TestPassesAreThere finds the types and files of rules that the table of passes names.
func TestPassesAreThere(t *testing.T) {
	text, err := os.ReadFile("../docs/development.md")
	if err != nil {
		t.Fatal(err)
	}
	rules, err := os.ReadFile("../graph/rules.go")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("(?m)^\\| \\w+ \\| (?:`(\\w+)`|a function), in (?:a file )?`([a-z_*.]+)` \\|")
	named := row.FindAllStringSubmatch(string(text), -1)
	for _, pass := range named {
		if pass[1] != "" && !strings.Contains(string(rules), "\ntype "+pass[1]+" func(") {
			t.Errorf("graph/rules.go has no type %s", pass[1])
		}
		if there, err := filepath.Glob("../graph/" + pass[2]); err != nil || len(there) == 0 {
			t.Errorf("graph has no file %s", pass[2])
		}
	}
	if len(named) != 4 {
		t.Errorf("%d passes have files, want 4", len(named))
	}
}

// TestPurePackages keeps the packages that compute from touching the world:
// what they answer follows from what they are given.
func TestPurePackages(t *testing.T) {
	seen := 0
	for _, p := range listPackages(t) {
		if !slices.Contains(pure, strings.TrimPrefix(p.ImportPath, module)) {
			continue
		}
		seen++
		deps := p.Deps
		if slices.ContainsFunc(p.Imports, func(i string) bool { return strings.HasPrefix(i, "k8s.io/api/") }) {
			deps = p.Imports // Kubernetes' types bring watches along, and so net/http
		}
		for _, dep := range deps {
			for _, bad := range []string{"helm.sh/", "sigs.k8s.io/kustomize", "google.golang.org/grpc", "k8s.io/client-go", "net", "net/http",
				"os/exec", module + "render", module + "sidecar", module + "plugin"} {
				if dep == bad || strings.HasSuffix(bad, "/") && strings.HasPrefix(dep, bad) || strings.HasPrefix(dep, bad+"/") && bad != "net" {
					t.Errorf("%s reaches %s", p.ImportPath, dep)
				}
			}
		}
		for _, direct := range p.Imports {
			if slices.Contains([]string{"os", "time", "io/fs", "math/rand", "math/rand/v2", "crypto/rand"}, direct) {
				t.Errorf("%s imports %s", p.ImportPath, direct)
			}
		}
	}
	if seen != len(pure) {
		t.Errorf("looked at %d packages, want %d", seen, len(pure))
	}
}

// TestHeavyLibraries keeps each heavy library behind the one package that is
// there for it.
func TestHeavyLibraries(t *testing.T) {
	owners := map[string][]string{
		"helm.sh/":                     {"render/helm", "render/input", "render/repeat", "internal/fetch"},
		"sigs.k8s.io/kustomize/":       {"render/kustomize"},
		"google.golang.org/grpc":       {"sidecar", "sidecar/task", "sidecar/worker", "sidecar/wire", "sidecar/sidecartest"},
		"github.com/spf13/cobra":       {"cmd/cmp", "fleet/command", "internal/cli", "internal/cli/flags"},
		"k8s.io/":                      {"argocd/cluster", "argocd/doctor", "live/cluster", "object"},
		"github.com/Masterminds/":      {"render/helm", "render/kustomize", "render/random", "render/repeat", "internal/fetch", "fleet/appset"},
		"filippo.io/":                  {"render/random"},
		"github.com/go-git/":           {"internal/fetch", "internal/checkout"},
		"github.com/ProtonMail/":       {"internal/fetch"},
		"oras.land/":                   {"internal/fetch"},
		"go.opentelemetry.io/":         {"sidecar", "sidecar/serve"},
		"github.com/google/go-jsonnet": {"render"},
		"testing/":                     {"fleet/fleettest"},
	}
	for _, p := range listPackages(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		for _, direct := range p.Imports {
			for library, allowed := range owners {
				if strings.HasPrefix(direct, library) && !slices.Contains(allowed, name) {
					t.Errorf("%s imports %s, which is for %v", name, direct, allowed)
				}
			}
		}
		if strings.HasPrefix(name, "sidecar") && name != "sidecar/serve" && slices.ContainsFunc(p.Imports, func(i string) bool {
			return strings.HasPrefix(i, module) && !strings.HasPrefix(i, module+"sidecar") && !slices.Contains(
				[]string{module + "internal/confine", module + "internal/finding", module + "internal/lru", module + "internal/vfs"}, i)
		}) {
			t.Errorf("%s imports packages of the project: it is to know nothing of charts or waves", name)
		}
	}
}

// TestImageIsBuiltFromAllPackages keeps .dockerignore from leaving out a package
// that the program is built from.
func TestImageIsBuiltFromAllPackages(t *testing.T) {
	let, err := os.ReadFile("../.dockerignore")
	if err != nil {
		t.Fatal(err)
	}
	through := strings.Fields(string(let))
	for _, p := range listPackages(t) {
		if p.ImportPath != module+"cmd/cmp" {
			continue
		}
		for _, dep := range p.Deps {
			name, ours := strings.CutPrefix(dep, module)
			dir, _, _ := strings.Cut(name, "/")
			if ours && !slices.Contains(through, "!"+dir) {
				t.Errorf(".dockerignore keeps back %s, which %s is built from", dir, p.ImportPath)
			}
		}
		return
	}
	t.Error("cmd/cmp is not among the packages")
}
