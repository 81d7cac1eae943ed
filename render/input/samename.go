package input

import (
	"io/fs"
	"path"
	"slices"
)

// SameName returns the first three files with the base name of one that was not found,
// below directories of a repository that are searched in the order given.
func SameName(repo fs.FS, name string, dirs ...string) []string {
	const most, searched = 3, 10_000 // entries: a message is not worth reading all of a large repository
	base := path.Base(name)
	var found []string
	entries := 0
	for _, dir := range dirs {
		_ = fs.WalkDir(repo, dir, func(p string, entry fs.DirEntry, err error) error { // what cannot be read is not suggested
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
