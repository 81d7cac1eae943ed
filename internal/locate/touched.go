package locate

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/internal/checkout"
)

// Touched lists the components that contain files, sorted. Deleted files count,
// too.
func Touched(files []string) []string {
	var dirs []string
	for _, file := range files {
		if dir, ok := componentOf(file); ok {
			dirs = append(dirs, dir)
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// componentOf finds the component that contains a file: the nearest parent
// directory with a component.yaml, or else the outermost chart, or else the nearest
// kustomization.
func componentOf(file string) (dir string, found bool) {
	chart, kustomization := "", ""
	for dir = filepath.Dir(file); ; {
		if filepath.Base(dir) != "templates" && holds(dir, component.File) {
			return dir, true
		}
		if holds(dir, "Chart.yaml") {
			chart = dir
		}
		if kustomization == "" && holds(dir, "kustomization.yaml", "kustomization.yml", "Kustomization") {
			kustomization = dir
		}
		up := filepath.Join(dir, "..")
		if abs, err := filepath.Abs(dir); err != nil || checkout.GitRoot(abs) == abs || filepath.Dir(abs) == abs {
			break
		}
		dir = up
	}
	for _, dir := range []string{chart, kustomization} {
		if dir != "" {
			return dir, true
		}
	}
	return "", false
}

func holds(dir string, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		info, err := os.Stat(filepath.Join(dir, name))
		return err == nil && info.Mode().IsRegular()
	})
}
