package input

import (
	"io/fs"
	"path"
	"slices"
)

// SameName returns up to three files with the base name of a missing one. It
// searches the directories of a repository in the given order.
func SameName(repo fs.FS, name string, dirs ...string) []string {
	const most, searched = 3, 10_000 // entries: a message does not justify reading a large repository
	base := path.Base(name)
	var found []string
	entries := 0
	for _, dir := range dirs {
		_ = fs.WalkDir(repo, dir, func(p string, entry fs.DirEntry, err error) error { // unreadable files are not suggested
			entries++
			switch {
			case err != nil:
				return fs.SkipDir
			case entries > searched || len(found) == most:
				return fs.SkipAll
			case entry.IsDir() && entry.Name() == ".git":
				return fs.SkipDir
			case !entry.IsDir() && entry.Name() == base && !slices.Contains(found, p):
				found = append(found, p)
			}
			return nil
		})
	}
	return found
}
