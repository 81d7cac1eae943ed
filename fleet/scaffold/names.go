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
	"github.com/ladder-cmp/ladder/render"
	"github.com/ladder-cmp/ladder/render/kustomize"
)

// namesFor returns possible names of a component, in order of preference: that of
// its chart, of its directory, and with parent directories if needed to be unique.
// The name of an overlay includes that of what it changes.
func (b *Draft) namesFor(f *undescribed) []string {
	own := path.Base(f.dir)
	if f.dir == "." {
		own = b.Name
	}
	names := []string{f.draft.Name, component.NameFrom(own)}
	if base, app, overlay := b.overlay(f.dir); base != "" && f.kind == render.Kustomize {
		f.base, f.environment = base, component.NameFrom(overlay)
		names = []string{component.NameFrom(app + "-" + overlay)}
	}
	for dir := path.Dir(f.dir); dir != "."; dir = path.Dir(dir) {
		if !slices.Contains(aside, path.Base(dir)) {
			names = append(names, component.NameFrom(path.Base(dir)+"-"+own))
		}
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
	for _, f := range b.found {
		if home, ok := b.home(f.dir); ok && !homes[home] {
			homes[home] = true
			fl, err := fleet.LoadUntilInterrupted(ctx,
				fleet.Source{Repo: b.Repo, NoRepository: b.NoRepository, Dirs: []string{home}, Show: b.Show, SkipRendering: true,
					Partial: true}, b.kinds)
			if err != nil {
				continue // reported when the steps are determined
			}
			for _, c := range fl.Components {
				if !slices.ContainsFunc(b.found, func(f *undescribed) bool { return f.dir == c.Dir }) {
					taken[c.Name]++
				}
			}
		}
	}
	for changed := true; changed; {
		changed = false
		counts := maps.Clone(taken)
		for _, f := range b.found {
			counts[f.draft.Name]++
		}
		for _, f := range b.found {
			if counts[f.draft.Name] > 1 && len(f.names) > 1 {
				f.names, changed = f.names[1:], true
				f.draft.Name = f.names[0]
			}
		}
	}
}

// overlay is what a kustomization is an overlay of: the directory that it changes, and
// what the two are about together; empty if it is none.
func (b *Draft) overlay(dir string) (base, app, overlay string) {
	own := path.Base(dir)
	for _, to := range kustomize.References(b.Repo, dir) {
		if info, err := fs.Stat(b.Repo, to); err != nil || !info.IsDir() || strings.HasPrefix(to, dir+"/") ||
			strings.HasPrefix(dir, to+"/") && to != "." {
			continue
		}
		common := path.Dir(dir)
		for common != "." && !strings.HasPrefix(to, common+"/") {
			common = path.Dir(common)
		}
		about := path.Base(common)
		if common == "." {
			about = b.Name
		}
		switch {
		case path.Base(to) == own:
			return to, own, path.Base(path.Dir(dir))
		case slices.Contains(aside, path.Base(to)) || slices.Contains(aside, path.Base(path.Dir(dir))):
			return to, about, own
		}
	}
	return "", "", ""
}

// aside are directories whose names say how a component is made, and not which it is.
var aside = []string{"base", "bases", "overlay", "overlays", "env", "envs", "environment", "environments"}

// environments are those of overlays that several have one base: each is for one.
func (b *Draft) environments() {
	of := map[string][]*undescribed{}
	for _, f := range b.found {
		if f.base != "" {
			of[f.base] = append(of[f.base], f)
		}
	}
	for _, several := range of {
		for _, f := range several {
			if len(several) > 1 {
				f.draft.Environment = f.environment
			}
		}
	}
}
