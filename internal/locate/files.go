package locate

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/internal/checkout"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/render"
)

// Touched lists the components that contain files, sorted. Deleted files count, too.
// Where no component of a repository has a component.yaml, a directory of plain manifests
// is a component, as it is below a directory of components. left are warnings about
// directories of manifests that belong to none.
func Touched(files []string) (dirs []string, left []finding.Finding) {
	loose := looseDirs{}
	for _, file := range files {
		if dir, ok := componentOf(file); ok {
			dirs = append(dirs, dir)
			continue
		}
		dir, f := loose.of(file)
		if dir != "" {
			dirs = append(dirs, dir)
		} else if f.Message != "" && !slices.Contains(left, f) {
			left = append(left, f)
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs), left
}

// looseDirs are the directories with manifests outside of charts and kustomizations, by their
// repository, where no component has a component.yaml; nil where one has.
type looseDirs map[string][]render.LooseDir

// of returns the directory that renders a file which is in no component, or a warning about
// its directory; neither if the file contains no manifests.
func (all looseDirs) of(file string) (string, finding.Finding) {
	c, err := checkout.Open(filepath.Dir(file))
	if err != nil {
		return "", finding.Finding{}
	}
	defer c.Close()
	if !render.Deployable(c.Repo, path.Join(c.Dir, filepath.Base(file))) {
		return "", finding.Finding{}
	}
	if c.NoRepository {
		return c.Show(c.Dir), finding.Finding{}
	}
	if _, known := all[c.Base]; !known {
		all[c.Base] = nil
		if held := Below(c.Repo, "."); len(held.Described) == 0 {
			all[c.Base], _ = render.LooseDirs(c.Repo, ".", held.Others)
		}
	}
	for _, l := range all[c.Base] {
		if !l.HasComponents && (l.Dir == "." || l.Dir == c.Dir || strings.HasPrefix(c.Dir, l.Dir+"/")) {
			return c.Show(l.Dir), finding.Finding{}
		}
	}
	held := Below(c.Repo, c.Dir)
	return "", looseFinding(render.LooseDir{Dir: c.Dir, HasComponents: len(held.Described)+len(held.Others) > 0}, c.Show(c.Dir))
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
