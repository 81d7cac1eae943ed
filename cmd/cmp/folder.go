package main

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/finding"
	"github.com/ladder-cmp/ladder/plugin"
	"github.com/ladder-cmp/ladder/render"
)

// forFleets are the commands that do for a folder of components what others do
// for one component; to list them is for all others.
var forFleets = map[string]string{"render": "check-render", "check": "check-render", "graph": "graph", "diff": "diff"}

// folderRule marks what is a folder of components, and no component.
const folderRule = "folder-of-components"

// notOne says why something could not be rendered. If that is because it is a
// folder of components, each of its files is at fault, and no remedy for any of
// them helps.
func (in *inputs) notOne(cmd *cobra.Command, req plugin.Request, err error) error {
	if err == nil || len(in.folderOf(req)) == 0 {
		return err
	}
	held := heldComponents(req.Repo, req.Dir)
	of, all := held.described, ", or list all with cmp fleet inventory"
	if sister, ok := forFleets[cmd.Name()]; ok {
		all = ", or use cmp fleet " + sister + " for all"
	}
	if len(of) == 0 { // and so no fleet
		return undescribed(req.Repo, req.Dir, req.Show, ", or name one of them, such as "+req.Show(held.others[0]))
	}
	return finding.Finding{Severity: finding.Error, Rule: folderRule, File: req.Show(req.Dir), Message: "this is no component, but a folder of " + counted(len(of), "component"),
		Remedy: "name one of them, such as " + req.Show(of[0]) + all}
}

// folderOf lists the components of a folder of them, sorted; none if it is one itself,
// or is rendered as one.
func (in *inputs) folderOf(req plugin.Request) []string {
	if in.flags.Changed("renderer") {
		return nil
	}
	held := heldComponents(req.Repo, req.Dir)
	return slices.Sorted(slices.Values(append(held.described, held.others...)))
}

// undescribed says that a folder holds components and none that describes itself,
// which no fleet has; nil of any other.
func undescribed(repo fs.FS, dir string, show func(string) string, also string) error {
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
	return finding.Finding{Severity: finding.Error, Rule: folderRule, File: show(dir), Message: "this is no component, but a folder of " + counted(len(held.others), "component") + " without component.yaml",
		Remedy: "run cmp init " + strings.Join(above, " ") + also}
}

// held are the components below a directory: those that describe themselves, and
// charts and kustomizations that do not.
type held struct{ described, others []string }

// mostLooked bounds the directories in which components are looked for.
const mostLooked = 5000

// heldComponents finds the components in a folder. What is a component itself, or
// has manifests of its own besides a single one that does not describe itself, is none.
func heldComponents(repo fs.FS, dir string) held {
	var found held
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
			below := path.Join(dir, e.Name())
			switch kind := kindAt(repo, below); {
			case kind == describedKind:
				found.described = append(found.described, below)
			case kind != "" && kind != string(render.Plain) && kind != string(render.Template):
				found.others = append(found.others, below)
			default:
				look(below)
			}
		}
	}
	own := kindAt(repo, dir)
	loose := own == string(render.Plain) || own == string(render.Template)
	if own != "" && !loose {
		return found
	}
	look(dir)
	if loose && len(found.others) < 2 { // which one of manifests may have below it
		found.others = nil
	}
	return found
}

// describedKind is what kindAt calls a component with a component.yaml.
const describedKind = "described"

// kindAt says what a directory of a repository looks like.
func kindAt(repo fs.FS, dir string) string {
	entries, err := fs.ReadDir(repo, dir)
	if err != nil {
		return ""
	}
	if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return !e.IsDir() && e.Name() == component.File }) {
		return describedKind
	}
	return isComponent(entries)
}
