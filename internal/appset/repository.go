package appset

import (
	"cmp"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/internal/remote"
	"github.com/ladder-cmp/ladder/object"
)

// FindRepository returns the address of a repository: the one with which most
// Applications and generators name a directory that exists in it. It is empty if there is
// none.
func FindRepository(objs []object.Object, repo fs.FS) string {
	count, first := map[string]int{}, map[string]string{}
	tell := func(url, dir string) {
		dir = path.Clean(dir)
		if url == "" || strings.Contains(url, "{{") || !fs.ValidPath(dir) {
			return
		}
		if info, err := fs.Stat(repo, dir); err != nil || !info.IsDir() {
			return
		}
		name := remote.RepositoryName(url)
		count[name]++
		first[name] = cmp.Or(first[name], url)
	}
	for _, o := range objs {
		if o.ID.Group != "argoproj.io" {
			continue
		}
		for _, s := range append(o.Get("spec", "sources").Items(), o.Get("spec", "source")) {
			if s.Get("path").Exists() {
				tell(s.Get("repoURL").Text(), s.Get("path").Text())
			}
		}
		for _, g := range o.Get("spec", "generators").Items() {
			for _, git := range slices.Concat(g.Get("matrix", "generators").Items(), g.Get("merge", "generators").Items(), []object.Value{g}) {
				tell(git.Get("git", "repoURL").Text(), ".")
			}
		}
	}
	best := ""
	for _, name := range slices.Sorted(maps.Keys(count)) {
		if count[name] > count[best] {
			best = name
		}
	}
	return first[best]
}
