package plugin

import (
	"errors"
	"io/fs"
	"path"
	"slices"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/render/input"
)

// Knowledge returns the knowledge for the component of the request: base, extended
// by every ladder.yaml from the root of the repository to the component's
// directory. The nearest takes precedence. A file of the owner of a component decides nothing
// about fleets (see Owned); undescribed are components without a component.yaml.
//
// An invalid file is skipped, so that the problems of all files are found.
func (req Request) Knowledge(base *knowledge.Base, undescribed ...string) (*knowledge.Base, error) {
	var dirs []string
	for dir := path.Clean(req.Dir); ; dir = path.Dir(dir) {
		dirs = append([]string{dir}, dirs...)
		if dir == "." || dir == "/" {
			break
		}
	}
	owned, isOwned := Owned(req.Repo, req.Dir, undescribed...)
	var faults []error
	tenants := false
	for _, dir := range dirs {
		if info, err := fs.Stat(req.Repo, dir); err != nil || !info.IsDir() {
			break // the renderer reports the problem with the directory
		}
		var err error
		tenants = tenants || isOwned && dir == owned
		base, err = req.Files.ladder(base, dir, tenants, req.ladder)
		faults = append(faults, err)
	}
	return base, errors.Join(faults...)
}

// ladder adds the content of the ladder.yaml in a directory, if there is one. tenants means that
// the directory belongs to the owner of a component.
func (req Request) ladder(base *knowledge.Base, dir string, tenants bool) (*knowledge.Base, error) {
	file := path.Join(dir, knowledge.File)
	text, err := fs.ReadFile(req.Repo, file)
	if errors.Is(err, fs.ErrNotExist) {
		return base, nil
	}
	if err != nil {
		return base, Unreadable(req.show(file), err)
	}
	if tenants {
		return base.WithTenants(req.show(file), string(text))
	}
	return base.With(req.show(file), string(text))
}

// Unreadable reports a ladder.yaml that cannot be read.
func Unreadable(name string, err error) finding.Finding {
	return finding.Finding{Severity: finding.Error, Rule: finding.BadSettings, File: name, Message: input.Cause(err),
		Remedy: input.UnreadableRemedy(err)}
}

// refusedSettings returns warnings about what the component's own ladder.yaml files set without
// effect.
func refusedSettings(base *knowledge.Base) []finding.Finding {
	all := slices.Clone(base.Refused())
	for i := range all {
		all[i].Severity = finding.Warning
	}
	return all
}
