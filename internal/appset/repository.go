package appset

import (
	"io/fs"
	"path"
	"slices"

	"github.com/ladder-cmp/ladder/internal/remote"
	"github.com/ladder-cmp/ladder/object"
)

// FindRepository returns the address of a repository: the one with which most
// Applications and generators name a directory that exists in it. It is empty if there is
// none.
func FindRepository(objs []object.Object, repo fs.FS) string {
	var named []remote.Directory
	for _, o := range objs {
		if o.ID.Group != "argoproj.io" {
			continue
		}
		for _, s := range append(o.Get("spec", "sources").Items(), o.Get("spec", "source")) {
			if s.Get("path").Exists() {
				named = append(named, remote.Directory{RepoURL: s.Get("repoURL").Text(), Path: path.Clean(s.Get("path").Text())})
			}
		}
		for _, g := range o.Get("spec", "generators").Items() {
			for _, git := range slices.Concat(g.Get("matrix", "generators").Items(), g.Get("merge", "generators").Items(), []object.Value{g}) {
				named = append(named, remote.Directory{RepoURL: git.Get("git", "repoURL").Text(), Path: "."})
			}
		}
	}
	return remote.MostNamed(named, func(dir string) bool {
		info, err := fs.Stat(repo, dir)
		return err == nil && info.IsDir()
	})
}
