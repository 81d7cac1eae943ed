package locate

import (
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/internal/checkout"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/render"
)

// Touched lists the components that contain files, sorted. Deleted files count,
// too. left are warnings about directories of manifests that belong to none.
func Touched(files []string) (dirs []string, left []finding.Finding) {
	for _, file := range files {
		if dir, ok := componentOf(file); ok {
			dirs = append(dirs, dir)
		} else if f, ok := outsideAll(file); ok && !slices.Contains(left, f) {
			left = append(left, f)
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs), left
}

// outsideAll returns a warning about the directory of a file that is in no component, if the
// file contains manifests.
func outsideAll(file string) (finding.Finding, bool) {
	c, err := checkout.Open(filepath.Dir(file))
	if err != nil {
		return finding.Finding{}, false
	}
	defer c.Close()
	if !render.Deployable(c.Repo, path.Join(c.Dir, filepath.Base(file))) {
		return finding.Finding{}, false
	}
	held := Below(c.Repo, c.Dir)
	return looseFinding(render.Loose{Dir: c.Dir, Around: len(held.Described)+len(held.Others) > 0}, c.Show(c.Dir)), true
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
