// Package locate finds components in directories: those below a directory, the one
// that contains a file, and those that complete a typed path.
package locate

import (
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/plugin"
	"github.com/ladder-cmp/ladder/render"
)

// FolderRule is the rule for a directory of components that is not a component.
const FolderRule = "folder-of-components"

// NotComponent is notOne for the command of a name.
func NotComponent(command string, req plugin.Request, err error) error {
	if len(Components(req)) == 0 {
		return err
	}
	held := heldComponents(req.Repo, req.Dir)
	of, all := held.described, ", or list all with cmp fleet inventory"
	if command == "render" {
		all = ", or check all with cmp check"
	}
	if len(of) == 0 { // so there is no fleet
		return Undescribed(req.Repo, req.Dir, req.Show, ", or name one of them, such as "+req.Show(held.others[0]))
	}
	return finding.Finding{Severity: finding.Error, Rule: FolderRule, File: req.Show(req.Dir), Message: "not a component, but a directory of " + finding.Counted(len(of), "component"),
		Remedy: "name one of them, such as " + req.Show(of[0]) + all}
}

// Components lists the components in a directory, sorted; none if the directory is
// or renders as a component itself.
func Components(req plugin.Request) []string {
	held := heldComponents(req.Repo, req.Dir)
	return slices.Sorted(slices.Values(append(held.described, held.others...)))
}

// Undescribed reports a directory with components but without any component.yaml,
// which is not a fleet; otherwise nil.
func Undescribed(repo fs.FS, dir string, show func(string) string, also string) error {
	held := heldComponents(repo, dir)
	if len(held.described) > 0 || len(held.others) == 0 {
		return nil
	}
	var above []string
	for _, other := range held.others {
		if pattern := "'" + show(path.Join(path.Dir(other), "*")) + "'"; !slices.Contains(above, pattern) {
			above = append(above, pattern)
		}
	}
	if len(above) > 3 {
		above = []string{show(held.others[0])}
		also = ", and so on for each" + also
	}
	return finding.Finding{Severity: finding.Error, Rule: FolderRule, File: show(dir), Message: "not a component, but a directory of " + finding.Counted(len(held.others), "component") + " without component.yaml",
		Remedy: "run cmp init " + strings.Join(above, " ") + also}
}

// held are the components below a directory: those with a component.yaml, and
// charts and kustomizations without one.
type held struct{ described, others []string }

// maxDirs limits the directories to search.
const maxDirs = 5000

// heldComponents finds the components in a directory. A component itself, or a
// directory with manifests and more than one component without a component.yaml,
// has none.
func heldComponents(repo fs.FS, dir string) held {
	var found held
	budget := maxDirs
	var look func(dir string)
	look = func(dir string) {
		entries, err := fs.ReadDir(repo, dir)
		if budget--; err != nil || budget < 0 {
			return
		}
		for _, e := range entries {
			if !e.IsDir() || strings.HasPrefix(e.Name(), ".") {
				continue
			}
			below := path.Join(dir, e.Name())
			switch kind := KindAt(repo, below); {
			case kind == Described:
				found.described = append(found.described, below)
			case kind != "" && kind != string(render.Plain) && kind != string(render.Template):
				found.others = append(found.others, below)
			default:
				look(below)
			}
		}
	}
	own := KindAt(repo, dir)
	loose := own == string(render.Plain) || own == string(render.Template)
	if own != "" && !loose {
		return found
	}
	look(dir)
	if loose && len(found.others) < 2 { // a component of plain manifests may contain one
		found.others = nil
	}
	return found
}

// Described is the kind of a component with a component.yaml.
const Described = "described"

// KindAt returns the apparent kind of a directory.
func KindAt(repo fs.FS, dir string) string {
	entries, err := fs.ReadDir(repo, dir)
	if err != nil {
		return ""
	}
	if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return !e.IsDir() && e.Name() == component.File }) {
		return Described
	}
	return KindOf(entries)
}

// KindOf returns the kind of component for directory entries; empty if it is not
// one.
func KindOf(entries []os.DirEntry) string {
	found := ""
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		switch kind := render.Sign(e.Name()); {
		case kind == render.Helm:
			return string(kind) // takes precedence
		case kind == render.Kustomize:
			found = string(kind)
		case e.Name() == component.File && found == "":
			found = "component"
		case kind != "" && found == "":
			found = string(kind)
		}
	}
	return found
}

// DescribedKindOf reports whether the subdirectories of a directory are components
// with a component.yaml.
func DescribedKindOf(entries []os.DirEntry) string {
	for _, e := range entries {
		if !e.IsDir() && e.Name() == component.File {
			return "component"
		}
	}
	return ""
}
