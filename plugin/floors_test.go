package plugin_test

import (
	"slices"
	"strings"
	"testing"
)

// floors lists the packages by floor. A package imports only packages of its own floor and of
// those below. What is not listed is the command line, above all others.
var floors = []struct {
	name     string
	packages []string
}{
	{"tools", []string{"deploy", "internal/confine", "internal/digraph", "internal/finding", "internal/golden",
		"internal/lazyregexp", "internal/lru",
		"internal/paint",
		"internal/textedit", "internal/vfs", "internal/wholefile"}},
	{"facts", []string{"component", "internal/remote", "internal/settings", "knowledge", "object"}},
	{"order", []string{"crds", "graph", "graph/facts", "graph/hooks", "graph/text", "wave"}},
	{"render", []string{"render", "render/helm", "render/input", "render/kustomize", "render/random", "render/repeat"}},
	{"plugin", []string{"plugin"}},
	{"server", []string{"sidecar", "sidecar/repository", "sidecar/sidecartest", "sidecar/task", "sidecar/wire", "sidecar/worker"}},
	{"sources and views",
		[]string{"internal/checkout", "internal/compare", "internal/draw", "internal/fetch", "internal/locate", "internal/report"}},
	{"installation", []string{"argocd", "argocd/cluster", "argocd/doctor", "argocd/health", "argocd/install", "live", "live/cluster"}},
	{"fleets", []string{"fleet", "fleet/appset", "fleet/children", "fleet/fleettest", "fleet/generate", "fleet/inplace", "fleet/inventory",
		"fleet/link", "fleet/lint", "fleet/order",
		"fleet/appofapps",
		"fleet/profile", "fleet/rollout", "fleet/scaffold", "fleet/steps", "fleet/vendoring"}},
}

// TestFloors keeps imports from running up. So the pipeline knows nothing of fleets, and no package
// knows the command line: what is above can be left out by deleting it.
func TestFloors(t *testing.T) {
	floorOf := func(name string) int {
		for i, floor := range floors {
			if slices.Contains(floor.packages, name) {
				return i
			}
		}
		return len(floors)
	}
	exists := map[string]bool{}
	for _, p := range listPackages(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		exists[name] = true
		for _, imported := range p.Imports {
			if to, ours := strings.CutPrefix(imported, module); ours && floorOf(to) > floorOf(name) {
				t.Errorf("an import runs up: %s imports %s", name, to)
			}
		}
	}
	for _, floor := range floors {
		for _, name := range floor.packages {
			if !exists[name] {
				t.Errorf("there is no package %s, which the floor %q lists", name, floor.name)
			}
		}
	}
}
