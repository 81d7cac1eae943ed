package remote

import (
	"maps"
	"slices"
	"strings"
)

// Directory is a directory that a source names in a repository.
type Directory struct{ RepoURL, Path string }

// MostNamed returns the address of the repository with the most directories that exist
// here: a checkout does not say which repository it is of, but what names it does. It is
// empty if there is none.
func MostNamed(named []Directory, exists func(dir string) bool) string {
	count, first := map[string]int{}, map[string]string{}
	for _, d := range named {
		if d.RepoURL == "" || strings.Contains(d.RepoURL, "{{") || !exists(d.Path) {
			continue
		}
		name := repositoryName(d.RepoURL)
		if count[name]++; count[name] == 1 {
			first[name] = d.RepoURL
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
