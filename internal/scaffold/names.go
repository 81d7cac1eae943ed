package scaffold

import (
	"context"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/fleet"
)

// namesFor are what a component may be called, the best first: as its chart is, as
// its directory, and with the names of the directories above where that is not
// enough to tell it from others.
func (b *Draft) namesFor(f *foundling) []string {
	own := path.Base(f.dir)
	if f.dir == "." {
		own = b.Name
	}
	names := []string{f.draft.Name, component.NameFrom(own)}
	for dir := path.Dir(f.dir); dir != "."; dir = path.Dir(dir) {
		names = append(names, component.NameFrom(path.Base(dir)+"-"+own))
	}
	names = append(names, component.NameFrom(f.dir))
	names = slices.DeleteFunc(names, func(name string) bool { return name == "" })
	if len(names) == 0 {
		return []string{"component"}
	}
	return slices.Compact(names)
}

// tellApart gives those other names that would be called as others are, or as
// components of their fleets.
func (b *Draft) tellApart(ctx context.Context) {
	taken := map[string]int{}
	homes := map[string]bool{}
	for _, f := range b.Found {
		if home, ok := b.home(f.dir); ok && !homes[home] {
			homes[home] = true
			fl, err := fleet.LoadUntilInterrupted(ctx, fleet.Source{Repo: b.Repo, NoRepository: b.NoRepository, Dirs: []string{home}, Show: b.Show, Unrendered: true, Partial: true}, b.kinds)
			if err != nil {
				continue // which is told when its phases are looked for
			}
			for _, c := range fl.Components {
				if !slices.ContainsFunc(b.Found, func(f *foundling) bool { return f.dir == c.Dir }) {
					taken[c.Name]++
				}
			}
		}
	}
	for changed := true; changed; {
		changed = false
		counts := maps.Clone(taken)
		for _, f := range b.Found {
			counts[f.draft.Name]++
		}
		for _, f := range b.Found {
			if counts[f.draft.Name] > 1 && len(f.names) > 1 {
				f.names, changed = f.names[1:], true
				f.draft.Name = f.names[0]
			}
		}
	}
}

// within are directories below one that are components by themselves.
func (b *Draft) within(dir string) []string {
	var all []string
	err := fs.WalkDir(b.Repo, dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && strings.HasPrefix(d.Name(), ".") && p != dir {
			return fs.SkipDir
		}
		if !d.IsDir() && path.Dir(p) != dir && slices.Contains([]string{"Chart.yaml", "kustomization.yaml", "kustomization.yml", component.File}, d.Name()) {
			all = append(all, b.Show(path.Dir(p)))
		}
		return nil
	})
	if err != nil {
		return nil
	}
	return slices.Compact(all)
}

// naming are arguments that name components below a directory: a pattern that fits
// them and nothing else, or else the first of them.
func (b *Draft) naming(dir string, within []string) string {
	for depth, pattern := 1, path.Join(dir, "*"); depth <= 3; depth, pattern = depth+1, pattern+"/*" {
		found, err := fs.Glob(b.Repo, pattern)
		if err != nil {
			break
		}
		fitting := 0
		for _, p := range found {
			info, err := fs.Stat(b.Repo, p)
			switch {
			case err != nil || !info.IsDir():
			case slices.Contains(within, b.Show(p)):
				fitting++
			default:
				fitting = -len(found)
			}
		}
		if fitting > 0 {
			return "'" + b.Show(pattern) + "'"
		}
	}
	const some = 3
	if len(within) > some {
		return strings.Join(within[:some], " ") + " and so on"
	}
	return strings.Join(within, " ")
}
