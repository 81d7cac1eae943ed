package render

import (
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/render/helm"
	"github.com/ladder-cmp/ladder/render/input"
	"github.com/ladder-cmp/ladder/render/kustomize"
)

// LooseDir is a directory with manifests that belong to no component.
type LooseDir struct {
	Dir string
	// HasComponents means that there are components below it, so the directory cannot be a
	// component itself.
	HasComponents bool
}

// LooseDirs lists the directories below dir that contain manifests outside of the given
// components, and outside of every other chart or kustomization: the topmost ones, sorted.
// Manifests that a kustomization refers to belong to it.
func LooseDirs(fsys fs.FS, dir string, components []string) ([]LooseDir, error) {
	s := source{Source: input.Source{FS: fsys, Dir: dir}}
	referred := map[string]bool{}
	parts := slices.Clone(components)
	var files []string
	err := fs.WalkDir(fsys, dir, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && p != dir && isToolDir(d.Name()):
			return fs.SkipDir
		case d.IsDir():
			kind := detectOne(fsys, p)
			if kind == Kustomize || kind == HelmKustomize {
				for _, to := range kustomize.References(fsys, p) {
					referred[to] = true
				}
			}
			if kind != "" && !(kind == Kustomize && s.groups(p)) {
				parts = append(parts, p)
			}
		case !within(p, parts) && detectOne(fsys, path.Dir(p)) == "" && s.deployable(p):
			files = append(files, p)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	parts = append(parts, slices.Collect(maps.Keys(referred))...)
	return looseIn(slices.DeleteFunc(files, func(p string) bool { return within(p, parts) }), parts), nil
}

// looseIn returns the topmost directories of files that are in none of the parts.
func looseIn(files, parts []string) []LooseDir {
	var dirs []string
	for _, file := range files {
		dirs = append(dirs, path.Dir(file))
	}
	slices.Sort(dirs)
	var all []LooseDir
	var whole []string
	for _, dir := range slices.Compact(dirs) {
		if within(dir, whole) {
			continue
		}
		hasComponents := slices.ContainsFunc(parts, func(part string) bool { return within(part, []string{dir}) })
		if all = append(all, LooseDir{dir, hasComponents}); !hasComponents {
			whole = append(whole, dir)
		}
	}
	return all
}

// within reports whether a path is one of some directories, or below one.
func within(p string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return p == dir || strings.HasPrefix(p, input.Prefix(dir)) })
}

// isToolDir reports whether a directory with this name usually contains files of tools or
// tests, which are not deployed.
func isToolDir(name string) bool {
	return strings.HasPrefix(name, ".") || slices.Contains([]string{"templates", "testdata", "node_modules", "vendor"}, name)
}

// Deployable reports whether a file contains manifests that are meant to be deployed. It
// is false for a file with only objects of Argo CD, because these only deploy other
// manifests.
func Deployable(fsys fs.FS, file string) bool {
	if slices.ContainsFunc(strings.Split(path.Dir(file), "/"), func(name string) bool { return name != "." && isToolDir(name) }) {
		return false
	}
	return source{Source: input.Source{FS: fsys}}.deployable(file)
}

func (s source) deployable(file string) bool {
	name := path.Base(file)
	kind := KindOfFile(name)
	if kind != Plain && kind != Template && path.Ext(name) != ".jsonnet" || strings.HasPrefix(name, ".") || helm.IsValues(name) {
		return false
	}
	data, err := fs.ReadFile(s.FS, file)
	if text := string(data); err != nil || !strings.Contains(text, "apiVersion") || strings.Contains(text, skipMarker) {
		return false
	}
	objs, err := object.Parse(file, 1, string(data))
	if err != nil { // its author has to know about the error, unless it is a file of another program
		return looksLikeManifest(string(data)) && (path.Ext(name) == ".jsonnet" || kindAtTop.Match(data))
	}
	only, _ := s.containsOnlyArgoCD(file, false)
	return !only && slices.ContainsFunc(objs, func(o object.Object) bool {
		return o.ID.Name != "" && !slices.Contains(otherPrograms, o.ID.Group)
	})
}

// otherPrograms are API groups of files that look like manifests and configure programs.
var otherPrograms = []string{"backstage.io", "ctlptl.dev", "eksctl.io", "k3d.io", "kind.x-k8s.io", "kubeadm.k8s.io", "skaffold"}
