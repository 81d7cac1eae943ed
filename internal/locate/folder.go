// Package locate finds components in directories: those below a folder, the one that a
// file is in, and those that go on with a path that is being typed.
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

// FolderRule marks what is a folder of components, and no component.
const FolderRule = "folder-of-components"

// NotComponent is notOne for the command of a name.
func NotComponent(command string, req plugin.Request, err error) error {
	if len(Components(req)) == 0 {
		return err
	}
	held := Below(req.Repo, req.Dir)
	of, all := held.Described, ", or list all with cmp fleet inventory"
	if command == "render" {
		all = ", or check all with cmp check"
	}
	if len(of) == 0 { // and so no fleet
		return Undescribed(req.Repo, req.Dir, req.Show, ", or name one of them, such as "+req.Show(held.Others[0]))
	}
	return finding.Finding{Severity: finding.Error, Rule: FolderRule, File: req.Show(req.Dir), Message: "not a component, but a directory of " + finding.Counted(len(of), "component"),
		Remedy: "name one of them, such as " + req.Show(of[0]) + all}
}

// Components lists the components of a folder of them, sorted; none if it is one itself,
// or is rendered as one.
func Components(req plugin.Request) []string {
	held := Below(req.Repo, req.Dir)
	return slices.Sorted(slices.Values(append(held.Described, held.Others...)))
}

// Undescribed says that a folder holds components and none that describes itself,
// which no fleet has; nil of any other.
func Undescribed(repo fs.FS, dir string, show func(string) string, also string) error {
	held := Below(repo, dir)
	if len(held.Described) > 0 || len(held.Others) == 0 {
		return nil
	}
	return finding.Finding{Severity: finding.Error, Rule: FolderRule, File: show(dir), Message: "not a component, but a directory of " + finding.Counted(len(held.Others), "component") + " without component.yaml",
		Remedy: "run cmp init --recursive " + show(dir) + also}
}

// Held are the components below a directory: those that describe themselves, and
// charts and kustomizations that do not.
type Held struct{ Described, Others []string }

// mostLooked bounds the directories in which components are looked for.
const mostLooked = 5000

// Below finds the components in a folder. What is a component itself, or has manifests
// of its own besides a single one that does not describe itself, holds none.
func Below(repo fs.FS, dir string) Held {
	var found Held
	own := KindAt(repo, dir)
	if own == Described {
		return found
	}
	budget := mostLooked
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
			if below := path.Join(dir, e.Name()); KindAt(repo, below) == Described {
				found.Described = append(found.Described, below)
			} else {
				look(below)
			}
		}
	}
	if look(dir); budget < 0 {
		return Held{}
	}
	others, err := render.Roots(repo, dir, found.Described)
	if err != nil || slices.Contains(others, dir) {
		return Held{}
	}
	loose := own == string(render.Plain) || own == string(render.Template)
	if !loose || len(others) > 1 { // which one of manifests may have below it
		found.Others = others
	}
	return found
}

// Described is what kindAt calls a component with a component.yaml.
const Described = "described"

// KindAt says what a directory of a repository looks like.
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

// KindOf says what kind of component the entries of a directory make it;
// empty if none.
func KindOf(entries []os.DirEntry) string {
	found := ""
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		switch kind := render.Sign(e.Name()); {
		case kind == render.Helm:
			return string(kind) // before all others
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

// DescribedKindOf says whether the directories in one are components that describe
// themselves.
func DescribedKindOf(entries []os.DirEntry) string {
	for _, e := range entries {
		if !e.IsDir() && e.Name() == component.File {
			return "component"
		}
	}
	return ""
}
