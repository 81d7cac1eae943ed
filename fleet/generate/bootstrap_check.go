package generate

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/object"
)

// The files of a bootstrap that do not belong to a single step.
const (
	ScriptFile = "apply.sh"
	talosFile  = "talos.yaml"
)

// Files returns the files of a bootstrap by name.
func (b Bundle) Files(talos bool) map[string]string {
	files := map[string]string{ScriptFile: b.Script()}
	for _, step := range b.Steps {
		files[step.Name+".yaml"] = step.Text
	}
	if talos {
		files[talosFile] = b.Talos()
	}
	return files
}

// List lists the files of the steps with what they contain.
func (b Bundle) List() string {
	var text strings.Builder
	for _, step := range b.Steps {
		fmt.Fprintf(&text, "%s.yaml  %s\n", step.Name, step.About)
	}
	return text.String()
}

// Check compares an existing bootstrap, given by the names of its files, with what Argo CD
// would sync from the same components now. It does not print values, because some are secret.
func (b Bundle) Check(written map[string]string) []finding.Finding {
	var all []finding.Finding
	report := func(file string, line int, id, message, remedy string) {
		all = append(all, finding.Finding{Severity: finding.Error, Rule: "out-of-date", File: file, Line: line, Object: id,
			Message: message, Remedy: remedy})
	}
	const again = "apply it, and generate the bootstrap again"
	now, _ := objectsIn(b.Files(false))
	before, faults := objectsIn(written)
	for _, id := range slices.Sorted(maps.Keys(now)) {
		old, exists := before[id]
		switch {
		case !exists:
			report(now[id].File, 0, now[id].ID.String(), "Argo CD syncs this object, but the bootstrap does not contain it", again)
		case !old.Same(now[id]):
			report(old.File, old.Line, old.ID.String(), "the bootstrapped object differs from what Argo CD syncs", again)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(before)) {
		if _, exists := now[id]; !exists {
			report(before[id].File, before[id].Line, before[id].ID.String(),
				"the bootstrap contains this object, but Argo CD does not sync it",
				"delete it from the cluster, or add it to a component; then generate the bootstrap again")
		}
	}
	if len(all) == 0 && written[ScriptFile] != b.Script() {
		report(ScriptFile, 0, "", "the order or the conditions to wait for have changed", "generate the bootstrap again")
	}
	if text, exists := written[talosFile]; exists && text != b.Talos() {
		report(talosFile, 0, "", "the inline manifests differ from what Argo CD syncs",
			"generate the bootstrap again, and patch the machine configuration with it")
	}
	return append(all, faults...)
}

// objectsIn returns the objects in the files of a bootstrap by name, with their groups,
// because several groups may have a kind with the same name.
func objectsIn(files map[string]string) (map[string]object.Object, []finding.Finding) {
	all := map[string]object.Object{}
	var faults []finding.Finding
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if path.Ext(name) != ".yaml" || name == talosFile {
			continue
		}
		objs, err := object.Parse(name, 1, files[name])
		faults = append(faults, finding.Of(err)...)
		for _, o := range objs {
			all[o.ID.Qualified()] = o
		}
	}
	return all, faults
}
