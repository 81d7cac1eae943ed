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

// namesFor returns possible names of a component, in order of preference: that of
// its chart, of its directory, and with parent directories if needed to be unique.
func (b *Draft) namesFor(f *undescribed) []string {
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

// tellApart changes names that are not unique, also within the fleet.
func (b *Draft) tellApart(ctx context.Context) {
	taken := map[string]int{}
	homes := map[string]bool{}
	for _, f := range b.Found {
		if home, ok := b.home(f.dir); ok && !homes[home] {
			homes[home] = true
			fl, err := fleet.LoadUntilInterrupted(ctx, fleet.Source{Repo: b.Repo, NoRepository: b.NoRepository, Dirs: []string{home}, Show: b.Show, Unrendered: true, Partial: true}, b.kinds)
			if err != nil {
				continue // reported when the steps are determined
			}
			for _, c := range fl.Components {
				if !slices.ContainsFunc(b.Found, func(f *undescribed) bool { return f.dir == c.Dir }) {
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

// within returns the directories below one that are separate components.
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

// naming returns arguments for the components below a directory: a pattern that
// only matches them, or else the first of them.
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
