package render

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/render/helm"
	"github.com/ladder-cmp/ladder/render/input"
	"github.com/ladder-cmp/ladder/render/kustomize"
)

// tree renders every chart and kustomization below a directory as its own kind, and
// the plain YAML around them. Directories that one of them refers to, such as a
// base, are not rendered separately.
func (s source) tree(ctx context.Context) (Result, error) {
	if detectOne(s.FS, s.Dir) != "" {
		return Result{}, s.Fault(finding.NotFound, "", "the renderer is set to tree, but the directory is itself a chart or a kustomization",
			"remove this setting, or move the chart or the kustomization into a subdirectory")
	}
	parts, err := s.parts()
	if err != nil {
		return Result{}, s.Unreadable(err)
	}
	if len(parts) == 0 {
		return Result{}, s.Fault(finding.NotFound, "", "the renderer is set to tree, but no subdirectory contains a chart or kustomization",
			"remove this setting")
	}
	within := func(name string) bool {
		return slices.ContainsFunc(parts, func(p string) bool { return strings.HasPrefix(path.Join(s.Dir, name), input.Prefix(p)) })
	}
	var templates []error
	var res Result
	err = s.manifestFiles(&res, func(name string) bool {
		if helm.IsTemplate(name) && !within(name) {
			templates = append(templates, s.Fault(finding.NotRendered, name, "templates are not rendered in a tree",
				"make the directory a separate component, or a chart"))
		}
		return isManifest(name) && !reserved(name) && !within(name)
	})
	faults := append(templates, err)
	referencedDirs := s.referencedDirs(parts)
	for _, dir := range parts {
		if referencedDirs[dir] {
			continue
		}
		if input.FileExists(s.FS, path.Join(dir, "component.yaml")) {
			f := s.Fault(finding.BadSettings, "", "this file is ignored: the directory is part of "+s.Show(s.Dir),
				"move its settings to "+s.Show(path.Join(s.Dir, "component.yaml"))+", or make the directory a separate component")
			f.File, f.Severity = s.Show(path.Join(dir, "component.yaml")), finding.Warning
			res.Findings = append(res.Findings, f)
		}
		part := s
		part.Dir, part.Whole, part.opt.Kind = dir, s.Dir, detectOne(s.FS, dir)
		part.random = s.random.Part(strings.TrimPrefix(dir, input.Prefix(s.Dir)))
		one, err := part.render(ctx, part.opt.Kind)
		faults = append(faults, err)
		res.Objects = append(res.Objects, one.Objects...)
		res.Findings = append(res.Findings, one.Findings...)
		res.Edited = res.Edited || one.Edited
		res.Inflated = res.Inflated || one.Inflated || part.opt.Kind == Helm
	}
	return res, errors.Join(faults...)
}

// parts returns the topmost directories below s.Dir that contain a chart or a
// kustomization.
func (s source) parts() ([]string, error) {
	var parts []string
	err := fs.WalkDir(s.FS, s.Dir, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case !d.IsDir() || p == s.Dir:
			return nil
		case strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case detectOne(s.FS, p) != "":
			parts = append(parts, p)
			return fs.SkipDir
		}
		return nil
	})
	return parts, err
}

// Roots lists the directories below dir that are components without a
// component.yaml: those with a chart or a kustomization to which no other one
// refers, and that can be rendered. If dir is one, it is the only one. Everything
// in a chart belongs to it, as do charts below a kustomization. components
// lists directories that are known to be components.
//
// Roots skips kustomizations that only group components: those that list directories of
// components without changing them, or contain the Applications that deploy them. It also
// skips kustomizations nested in another one if neither refers to the other.
func Roots(fsys fs.FS, dir string, components []string) ([]string, error) {
	s := source{Source: input.Source{FS: fsys, Dir: dir}}
	var all, below []string
	err := fs.WalkDir(fsys, dir, func(p string, d fs.DirEntry, err error) error {
		kind := Kind("")
		switch {
		case err != nil:
			return err
		case !d.IsDir():
			return nil
		case p != dir && strings.HasPrefix(d.Name(), "."), slices.Contains(components, p):
			return fs.SkipDir
		default:
			kind = detectOne(fsys, p)
		}
		for len(below) > 0 && !strings.HasPrefix(p, input.Prefix(below[len(below)-1])) {
			below = below[:len(below)-1]
		}
		switch {
		case kind == "", kind == Kustomize && s.groups(p):
			return nil
		case kind == Helm && len(below) > 0:
		case kind == Kustomize && p != dir:
			if len(below) == 0 || s.refers(p, below[len(below)-1]) {
				all = append(all, p)
			}
			below = append(below, p)
			return nil
		default:
			all = append(all, p)
		}
		return fs.SkipDir
	})
	if err != nil {
		return nil, err
	}
	referencedDirs := s.referencedDirs(append(slices.Clone(all), components...))
	return slices.DeleteFunc(all, func(p string) bool {
		return referencedDirs[p] || s.isDependency(p) || isBase(p) && hasSibling(referencedDirs, p)
	}), nil
}

// isBase reports whether a directory has a name that is usual for bases.
func isBase(dir string) bool {
	name := path.Base(dir)
	return name == "base" || name == "bases" || strings.HasPrefix(name, "base-")
}

// hasSibling reports whether a directory has a sibling among dirs.
func hasSibling(dirs map[string]bool, dir string) bool {
	for other := range dirs {
		if path.Dir(other) == path.Dir(dir) {
			return true
		}
	}
	return false
}

// refers reports whether a chart or a kustomization refers to a directory.
func (s source) refers(dir, to string) bool {
	seen := map[string]bool{dir: true}
	s.addReferences(dir, seen)
	return seen[to]
}

// isDependency reports whether a directory is only used by others: a chart of type
// library, or a kustomization of kind Component.
func (s source) isDependency(dir string) bool {
	var meta struct{ Kind, Type string }
	file := "Chart.yaml"
	if detectOne(s.FS, dir) == Kustomize {
		file = kustomize.File(s.FS, dir)
	}
	data, err := fs.ReadFile(s.FS, path.Join(dir, file))
	return err == nil && yaml.Unmarshal(data, &meta) == nil && (meta.Kind == kustomize.ComponentKind || meta.Type == "library")
}

// referencedDirs returns the directories that charts and kustomizations refer to.
func (s source) referencedDirs(dirs []string) map[string]bool {
	all := map[string]bool{}
	for _, dir := range dirs {
		of := map[string]bool{dir: true}
		s.addReferences(dir, of)
		delete(of, dir)
		maps.Copy(all, of)
	}
	return all
}

// addReferences adds the directories that a chart or kustomization refers to. Its
// problems are reported when it is rendered.
func (s source) addReferences(dir string, seen map[string]bool) {
	refer := func(base, to string) {
		p, ok := input.RepoPath(base, to)
		if !ok || seen[p] {
			return
		}
		if info, err := fs.Stat(s.FS, p); err == nil && info.IsDir() {
			seen[p] = true
			s.addReferences(p, seen)
		}
	}
	var chart struct {
		Dependencies []struct{ Repository string }
	}
	if data, err := fs.ReadFile(s.FS, path.Join(dir, "Chart.yaml")); err == nil && yaml.Unmarshal(data, &chart) == nil {
		for _, dep := range chart.Dependencies {
			if rel, local := strings.CutPrefix(dep.Repository, "file://"); local {
				refer(dir, rel)
			}
		}
	}
	for _, base := range kustomize.References(s.FS, dir) {
		refer(".", base)
	}
}
