package input

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/internal/nearest"
)

// Similar returns up to three files that a missing one may be: those with its base
// name in the near and far directories of a repository, in this order, or else those
// in the near ones whose base names are the most similar.
func Similar(repo fs.FS, name string, near []string, far ...string) []string {
	const most, searched = 3, 10_000 // entries: a message does not justify reading a large repository
	base := path.Base(name)
	like := nearest.New(stem(base))
	var found []string
	visited := map[string]bool{}
	entries := 0
	for at, dir := range slices.Concat(near, far) {
		_ = fs.WalkDir(repo, dir, func(p string, entry fs.DirEntry, err error) error { // unreadable files are not suggested
			entries++
			switch {
			case err != nil:
				return fs.SkipDir
			case entries > searched || len(found) == most:
				return fs.SkipAll
			case entry.IsDir() && entry.Name() == ".git":
				return fs.SkipDir
			case entry.IsDir() || visited[p]:
				return nil
			}
			visited[p] = true
			if entry.Name() == base {
				found = append(found, p)
			} else if at < len(near) && extension(p) == extension(base) {
				like.Add(p, stem(entry.Name()))
			}
			return nil
		})
	}
	if len(found) > 0 {
		return found
	}
	closest := like.Closest()
	return closest[:min(len(closest), most)]
}

func stem(base string) string { return strings.TrimSuffix(base, path.Ext(base)) }

// extension returns the extension of a file; .yml is .yaml.
func extension(name string) string {
	if ext := path.Ext(name); ext != ".yml" {
		return ext
	}
	return ".yaml"
}
