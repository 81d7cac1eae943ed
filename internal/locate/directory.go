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

// ComponentsRule is the rule for a directory of components that is not a component.
const ComponentsRule finding.Rule = "folder-of-components"

// NotComponent says what to name instead, if a command failed with err because the directory of
// its request contains components and is none; otherwise it returns err.
func NotComponent(command string, req plugin.Request, err error) error {
	held := Below(req.Repo, req.Dir)
	kind := render.Kind(KindAt(req.Repo, req.Dir))
	if len(held.Described)+len(held.Others) == 0 || kind == render.Kustomize || kind == render.Helm {
		return err // what makes a directory a component was read, and says more
	}
	of, all := held.Described, ", or list all with cmp fleet inventory"
	switch command {
	case "render":
		all = ", or check all with cmp check"
	case "health":
		all = ", or several"
	}
	if len(of) == 0 { // so there is no fleet
		return CheckFleet(req.Repo, req.Dir, req.Show, ", or name one of them, such as "+req.Show(held.Others[0]))
	}
	return finding.Finding{Severity: finding.Error, Rule: ComponentsRule, File: req.Show(req.Dir),
		Message: "not a component, but a directory of " + finding.Counted(len(of), "component"),
		Remedy:  "name one of them, such as " + req.Show(of[0]) + all}
}

// Components lists the components in a directory, sorted; none if the directory is
// or renders as a component itself. left are warnings about manifests there that belong
// to none of them.
func Components(req plugin.Request) (all []string, left []finding.Finding) {
	held := Below(req.Repo, req.Dir)
	all = append(slices.Clone(held.Described), held.Others...)
	plain, left := held.rest(req.Repo, req.Dir, req.Show)
	return slices.Sorted(slices.Values(append(all, plain...))), left
}

// fleetOf lists the directories to load as the fleet in a directory: itself if it contains a
// component.yaml or is a component, otherwise the components below it. left are warnings
// about what a fleet leaves out.
func fleetOf(repo fs.FS, dir string, show func(string) string) (dirs []string, left []finding.Finding) {
	held := Below(repo, dir)
	plain, left := held.rest(repo, dir, show)
	if !held.undescribed() {
		for _, other := range held.Others {
			kind := render.Kind(KindAt(repo, other))
			left = append(left, leftOut(show(other), "this is "+kind.Article()+" without component.yaml", "run cmp init "+show(other)))
		}
		return []string{dir}, left
	}
	return append(slices.Clone(held.Others), plain...), left
}

// Fleets is Fleet for several directories. A directory that is named itself is not left out.
func Fleets(repo fs.FS, dirs []string, show func(string) string) (all []string, left []finding.Finding) {
	named := make([]string, len(dirs))
	for i, dir := range dirs {
		named[i] = show(dir)
	}
	for i, dir := range dirs {
		members, out := fleetOf(repo, dir, show)
		all = append(all, members...)
		for _, f := range out {
			if f.File == named[i] || !slices.Contains(named, f.File) {
				left = append(left, f)
			}
		}
	}
	return all, left
}

// HoldsOnlyComponents reports whether a directory is not a component and has components, all of them
// without component.yaml.
func HoldsOnlyComponents(repo fs.FS, dir string) bool {
	switch render.Kind(KindAt(repo, dir)) {
	case render.Helm, render.Kustomize:
		return false // even if it only groups others, it renders all of them
	}
	return Below(repo, dir).undescribed()
}

// rest finds the directories with manifests that belong to no component. Where no component
// has a component.yaml, these directories are components like the others, unless there are
// components below them. left are warnings about all others.
func (f Found) rest(repo fs.FS, dir string, show func(string) string) (plain []string, left []finding.Finding) {
	for _, l := range f.loose(repo, dir) {
		if f.undescribed() && !l.HasComponents {
			plain = append(plain, l.Dir)
		} else {
			left = append(left, looseFinding(l, show(l.Dir)))
		}
	}
	return plain, left
}

// loose finds the directories with manifests that belong to no component. What cannot be read
// has none: who renders it says why.
func (f Found) loose(repo fs.FS, dir string) []render.LooseDir {
	all := append(slices.Clone(f.Described), f.Others...)
	if len(all) == 0 {
		return nil
	}
	loose, _ := render.LooseDirs(repo, dir, all)
	return loose
}

// Outside returns warnings about the manifests in a directory that belong to none of the
// components found in it.
func (f Found) Outside(repo fs.FS, dir string, show func(string) string) []finding.Finding {
	var all []finding.Finding
	for _, l := range f.loose(repo, dir) {
		all = append(all, looseFinding(l, show(l.Dir)))
	}
	return all
}

func looseFinding(l render.LooseDir, shown string) finding.Finding {
	remedy := "run cmp init " + shown
	if l.HasComponents {
		remedy = "move them to a directory of a component"
	}
	return leftOut(shown, "the manifests in this directory belong to no component", remedy)
}

func leftOut(shown, why, remedy string) finding.Finding {
	return finding.Finding{Severity: finding.Warning, Rule: finding.NotRendered, File: shown, Message: "left out: " + why, Remedy: remedy}
}

// CheckFleet reports a directory with components but without any component.yaml,
// which is not a fleet; otherwise nil.
func CheckFleet(repo fs.FS, dir string, show func(string) string, also string) error {
	held := Below(repo, dir)
	if !held.undescribed() {
		return nil
	}
	return finding.Finding{Severity: finding.Error, Rule: ComponentsRule, File: show(dir),
		Message: "not a component, but a directory of " + finding.Counted(len(held.Others), "component") + " without component.yaml",
		Remedy:  "run cmp init --recursive " + show(dir) + also}
}

// Found are the components below a directory: those with a component.yaml, and
// charts and kustomizations without one.
type Found struct{ Described, Others []string }

// undescribed reports whether there are components, and none has a component.yaml.
func (f Found) undescribed() bool { return len(f.Described) == 0 && len(f.Others) > 0 }

// maxDirs limits the directories to search.
const maxDirs = 5000

// Below finds the components in a directory. A component itself, or a directory with
// manifests and a single component without a component.yaml, has none.
func Below(repo fs.FS, dir string) Found {
	var found Found
	own := KindAt(repo, dir)
	if own == Described {
		return found
	}
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
			if below := path.Join(dir, e.Name()); KindAt(repo, below) == Described {
				found.Described = append(found.Described, below)
			} else {
				look(below)
			}
		}
	}
	if look(dir); budget < 0 {
		return Found{}
	}
	others, err := render.Roots(repo, dir, found.Described)
	if err != nil || slices.Contains(others, dir) {
		return Found{}
	}
	loose := own == string(render.Plain) || own == string(render.Template)
	if !loose || len(found.Described)+len(others) > 1 { // a component of plain manifests may contain one
		found.Others = others
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
		switch kind := render.KindOfFile(e.Name()); {
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
