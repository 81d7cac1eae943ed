package plugin

import (
	"io/fs"
	"path"
	"slices"

	"github.com/ladder-cmp/ladder/component"
)

// Owned returns the outermost component at or above a directory of a repository: everything in
// its directory belongs to the owner of the component, and everything above it to the platform.
// It reports false if the directory is the platform's. undescribed are components without a
// component.yaml.
//
// The outermost one counts, because the owner of a directory can put another component into it.
func Owned(repo fs.FS, dir string, undescribed ...string) (top string, ok bool) {
	for dir = path.Clean(dir); ; dir = path.Dir(dir) {
		if slices.Contains(undescribed, dir) || describes(repo, dir) {
			top, ok = dir, true
		}
		if dir == "." || dir == "/" {
			return top, ok
		}
	}
}

// describes reports whether a directory has a component.yaml. In a chart's templates, a file with
// that name is a manifest.
func describes(repo fs.FS, dir string) bool {
	if path.Base(dir) == "templates" {
		return false
	}
	_, err := fs.Stat(repo, path.Join(dir, component.File))
	return err == nil
}
