package input

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/internal/finding"
)

// Similar returns up to three files that a missing one may be: those with its base
// name below the near directories of a repository or directly in the parents, in this
// order, or else those below the near ones whose base names are the most similar.
// Directories next to a component belong to other components, whose values it must not use.
func Similar(repo fs.FS, name string, near []string, parents ...string) []string {
	const most, searched = 3, 10_000 // entries: a message does not justify reading a large repository
	base := path.Base(name)
	like := finding.NearestTo(stem(base))
	var found []string
	visited := map[string]bool{}
	entries := 0
	for at, dir := range slices.Concat(near, parents) {
		_ = fs.WalkDir(repo, dir, func(p string, entry fs.DirEntry, err error) error { // unreadable files are not suggested
			entries++
			switch {
			case err != nil:
				return fs.SkipDir
			case entries > searched || len(found) == most:
				return fs.SkipAll
			case entry.IsDir() && (entry.Name() == ".git" || at >= len(near) && p != dir):
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

// Parents returns the directories above a directory of a repository, the nearest first.
func Parents(dir string) []string {
	var all []string
	for dir != "." {
		dir = path.Dir(dir)
		all = append(all, dir)
	}
	return all
}

func stem(base string) string { return strings.TrimSuffix(base, path.Ext(base)) }

// extension returns the extension of a file; .yml is .yaml.
func extension(name string) string {
	if ext := path.Ext(name); ext != ".yml" {
		return ext
	}
	return ".yaml"
}
