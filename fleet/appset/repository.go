package appset

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/argocd"
	"github.com/ladder-cmp/ladder/internal/remote"
	"github.com/ladder-cmp/ladder/object"
)

// FindRepository returns the URL of repo: the one that the largest number of sources,
// values files and generators use with a path that exists in repo; empty if there is
// none.
func FindRepository(objs []object.Object, repo fs.FS) string {
	var referenced []remote.Directory
	for _, o := range objs {
		if o.ID.Group != argocd.Group {
			continue
		}
		referenced = slices.Concat(referenced, referencedDirectories(o.Get("spec")), referencedDirectories(o.Get("spec", "template", "spec")))
		for _, g := range o.Get("spec", "generators").Items() {
			for _, git := range slices.Concat(g.Get("matrix", "generators").Items(), g.Get("merge", "generators").Items(), []object.Value{g}) {
				referenced = append(referenced, remote.Directory{RepoURL: git.Get("git", "repoURL").Text(), Path: "."})
			}
		}
	}
	return remote.MostNamed(referenced, func(name string) bool {
		_, err := fs.Stat(repo, name)
		return err == nil
	})
}

// referencedDirectories lists the directories and the values files that the sources of
// an Application refer to.
func referencedDirectories(spec object.Value) []remote.Directory {
	sources := argocd.SourcesOf(spec)
	urls := map[string]string{}
	for _, s := range sources {
		urls["$"+s.Get("ref").Text()] = s.Get("repoURL").Text()
	}
	var referenced []remote.Directory
	add := func(url, name string) {
		referenced = append(referenced, remote.Directory{RepoURL: url, Path: path.Clean(name)})
	}
	for _, s := range sources {
		if s.Get("path").Exists() {
			add(s.Get("repoURL").Text(), s.Get("path").Text())
		}
		for _, file := range s.Get("helm", "valueFiles").Items() {
			if ref, name, ok := strings.Cut(file.Text(), "/"); ok && strings.HasPrefix(ref, "$") && ref != "$" {
				add(urls[ref], name)
			}
		}
	}
	return referenced
}
