package inplace

import (
	"path"
	"slices"
	"strings"
)

// A repository often holds the Applications of several Argo CDs, which have the same names. Where
// the files of two such Applications part ways, so do the Argo CDs.

// setInstallations finds out which nodes cannot be in the same Argo CD.
func (t Tree) setInstallations() {
	type key struct{ kind, namespace, name string }
	first := map[key][]int{}
	var prefixes []string
	for i, n := range t.Nodes {
		k := key{n.Object.ID.Kind, n.Object.ID.Namespace, n.Object.ID.Name}
		for _, other := range first[k] {
			for _, p := range t.part(other, i) {
				if !slices.Contains(prefixes, p) {
					prefixes = append(prefixes, p)
				}
			}
		}
		first[k] = append(first[k], i)
	}
	for i := range t.Nodes {
		for _, at := range slices.Backward(t.path(i)) {
			for _, p := range prefixes {
				if below(t.Nodes[at].Place.File, p) && len(p) > len(t.Nodes[i].Installation) {
					t.Nodes[i].Installation = p
				}
			}
			if t.Nodes[i].Installation != "" {
				break
			}
		}
	}
}

// part returns the directories or files where the paths of two nodes part ways: those of what
// creates them, or their own.
func (t Tree) part(x, y int) []string {
	tops := [2]string{t.Nodes[t.path(x)[0]].Place.File, t.Nodes[t.path(y)[0]].Place.File}
	if tops[0] == tops[1] {
		tops = [2]string{t.Nodes[x].Place.File, t.Nodes[y].Place.File}
	}
	a, b := strings.Split(tops[0], "/"), strings.Split(tops[1], "/")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return []string{path.Join(a[:i+1]...), path.Join(b[:i+1]...)}
		}
	}
	return nil
}

// below reports whether a file is in a directory, or is it.
func below(file, dir string) bool { return file == dir || strings.HasPrefix(file, dir+"/") }

// Apart reports whether two nodes are of different Argo CDs.
func (t Tree) Apart(x, y int) bool {
	a, b := t.Nodes[x].Installation, t.Nodes[y].Installation
	return a != "" && b != "" && !below(a, b) && !below(b, a)
}
