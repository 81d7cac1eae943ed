package render

import (
	"io/fs"
	"strings"

	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/render/input"
	"github.com/ladder-cmp/ladder/render/kustomize"
)

// groups reports whether a kustomization only groups components: it lists directories
// of components below it without changing them, or contains Applications that deploy
// them. It may also contain other Argo CD objects, such as an AppProject.
func (s source) groups(dir string) bool {
	entries, changes, ok := kustomize.Resources(s.FS, dir)
	if !ok {
		return false
	}
	if only, deploys := s.buildsOnlyArgoCD(dir, map[string]bool{}); only && deploys {
		return true
	}
	named := false
	for _, entry := range entries {
		p, ok := input.RepoPath(dir, entry)
		switch info, err := fs.Stat(s.FS, p); {
		case !ok || err != nil:
			return false
		case !info.IsDir():
			if only, _ := s.containsOnlyArgoCD(p, false); !only {
				return false
			}
		case !strings.HasPrefix(p, input.Prefix(dir)) || isBase(p):
			return false
		default:
			named = true
		}
	}
	return named && !changes
}

// buildsOnlyArgoCD reports whether a kustomization contains only Argo CD objects and
// Namespaces, and whether one of them is an Application, ApplicationSet or similar.
func (s source) buildsOnlyArgoCD(dir string, seen map[string]bool) (only, deploys bool) {
	entries, _, ok := kustomize.Resources(s.FS, dir)
	if !ok || seen[dir] {
		return false, false
	}
	seen[dir] = true
	for _, entry := range entries {
		p, ok := input.RepoPath(dir, entry)
		info, err := fs.Stat(s.FS, p)
		if !ok || err != nil {
			return false, false
		}
		var only, some bool
		if info.IsDir() {
			only, some = s.buildsOnlyArgoCD(p, seen)
		} else {
			only, some = s.containsOnlyArgoCD(p, true)
		}
		if !only {
			return false, false
		}
		deploys = deploys || some
	}
	return true, deploys
}

// containsOnlyArgoCD reports whether a file contains only Argo CD objects (and Namespaces, if
// namespaces is set), and whether one of them is an Application, ApplicationSet or
// similar.
func (s source) containsOnlyArgoCD(file string, namespaces bool) (only, deploys bool) {
	text, err := fs.ReadFile(s.FS, file)
	if err != nil {
		return false, false
	}
	objs, err := object.Parse(file, 1, string(text))
	for _, o := range objs {
		if namespaces && o.ID.GroupKind() == "Namespace" {
			continue
		}
		kind, known := knowledge.Default().Kind(o.ID.Group, o.ID.Kind)
		if !known || !kind.AlwaysInstalled {
			return false, false
		}
		deploys = deploys || o.ID.Kind != "AppProject"
	}
	return err == nil && len(objs) > 0, deploys
}
