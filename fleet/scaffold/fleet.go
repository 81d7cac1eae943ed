package scaffold

import (
	"cmp"
	"context"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/steps"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/vfs"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/plugin"
)

// home returns the directory whose ladder.yaml configures the fleet of a component: one of the
// platform, above the component.
func (b *Draft) home(dir string) (string, bool) {
	top, _ := plugin.Owned(b.Repo, dir, dir)
	for d := top; d != "." && d != "/"; {
		d = path.Dir(d)
		if text, err := fs.ReadFile(b.Repo, path.Join(d, knowledge.File)); err == nil {
			var l struct {
				Fleet yaml.Node `yaml:"fleet"`
			}
			if yaml.Unmarshal(text, &l) == nil && !l.Fleet.IsZero() {
				return d, true
			}
		}
	}
	return "", false
}

// place determines the steps of components in a fleet with a profile.
func (b *Draft) place(ctx context.Context) {
	homes := map[string][]*undescribed{}
	for _, f := range b.found {
		if home, ok := b.home(f.dir); ok {
			homes[home] = append(homes[home], f)
		}
	}
	for _, home := range slices.Sorted(maps.Keys(homes)) {
		fl := b.fleet(ctx, home, homes[home])
		if fl == nil {
			continue
		}
		for _, f := range homes[home] {
			f.join(fl, home)
		}
		places := steps.Compute(fl, steps.Options{OnlyMissing: true})
		for _, f := range homes[home] {
			f.settle(fl, places)
		}
	}
}

// fleet loads the fleet including the drafts; nil if that fails.
func (b *Draft) fleet(ctx context.Context, home string, members []*undescribed) *fleet.Fleet {
	repo := vfs.Overlay{FS: b.Repo, Files: map[string]string{}}
	for _, f := range members {
		repo.Files[path.Join(f.dir, component.File)] = f.draft.Text()
	}
	fl, err := fleet.LoadUntilInterrupted(ctx, fleet.Source{Repo: repo, NoRepository: b.NoRepository, Dirs: []string{home},
		Show: b.Show, Assume: true}, b.kinds)
	if err != nil {
		for _, f := range members {
			f.draft.StepWhy = "its place in the rollout; the fleet could not be read"
		}
		for _, fault := range finding.Of(err) {
			fault.Severity = finding.Warning
			if !slices.Contains(b.findings, fault) {
				b.findings = append(b.findings, fault)
			}
		}
		return nil
	}
	return fl
}

// join determines the domain of a component, and adds the component to the fleet.
func (f *undescribed) join(fl *fleet.Fleet, home string) {
	f.draft.StepKey = cmp.Or(f.draft.StepKey, fl.Profile.Key, "rolloutPhase")
	f.draft.DomainKey, f.draft.Domain = f.partIn(fl, home)
	for _, c := range fl.Components {
		if c.Dir == f.dir {
			c.Domain = f.draft.Domain
		}
	}
}

// partIn returns the domain of a component and its key: as in its neighbors, or by
// the name of its directory.
func (f *undescribed) partIn(fl *fleet.Fleet, home string) (key, part string) {
	if f.said.DomainOrTier() != "" {
		return "", f.said.DomainOrTier()
	}
	key = "domain"
	var parts []string
	for _, c := range fl.Components {
		if c.Dir == f.dir {
			continue
		}
		if c.Tier != "" && c.Domain == "" {
			key = "tier"
		}
		if path.Dir(c.Dir) == path.Dir(f.dir) && c.DomainOrTier() != "" {
			parts = append(parts, c.DomainOrTier())
		}
	}
	slices.Sort(parts)
	parts = slices.Compact(parts)
	var domains []string
	for _, band := range fl.Profile.Bands {
		domains = append(domains, band.Domains...)
	}
	if len(parts) == 1 {
		return key, parts[0]
	}
	rel := strings.TrimPrefix(f.dir, strings.TrimPrefix(home+"/", "./"))
	for _, name := range strings.Split(path.Dir(rel), "/") {
		if slices.Contains(domains, name) {
			return key, name
		}
	}
	return key, ""
}

// settle uses the computed place.
func (f *undescribed) settle(fl *fleet.Fleet, places *steps.Plan) {
	at := application(fl, f.dir)
	if at < 0 {
		return
	}
	p := places.Steps[at]
	f.splitIn(fl, p.Application)
	if !p.Computed.Set {
		f.draft.StepWhy = "its place in the rollout"
		for _, fault := range places.Findings {
			if fault.Object == p.Name {
				f.draft.StepWhy += "; " + finding.Finding{Message: fault.Message, Remedy: fault.Remedy, Question: fault.Question}.Error()
			}
		}
		return
	}
	f.draft.Step = fl.Profile.Write(p.Computed.Number)
	f.draft.StepWhy = finding.Sanitize(f.draft.Step + " is the earliest: " + p.Why + ".")
	if p.Rung != "" {
		f.summary += ", for " + p.Rung
	}
	// The labels of other components at such a place.
	var called []string
	for _, other := range places.Steps {
		if other.Title == p.Title && other.DependencyPhase != "" {
			called = append(called, other.DependencyPhase)
		}
	}
	slices.Sort(called)
	if called = slices.Compact(called); len(called) == 1 {
		f.draft.DependencyPhase = called[0]
	}
}

// splitIn decides how to treat bundled CRDs in a fleet: another component may
// already contain them, and the profile may have a place for them.
func (f *undescribed) splitIn(fl *fleet.Fleet, app *fleet.Application) {
	if f.draft.CRDs == "" {
		return
	}
	for _, other := range fl.Applications {
		held := slices.ContainsFunc(other.Objects, func(o object.Object) bool {
			return crds.Is(o) && slices.ContainsFunc(app.Objects, func(own object.Object) bool { return own.ID == o.ID })
		})
		if other.Dir != f.dir && held {
			f.draft.CRDs, f.draft.CRDsWhy = string(crds.Skip), finding.Sanitize("The component "+other.Name+" contains the same CRDs.")
			return
		}
	}
	for _, band := range fl.Profile.BandsOf(f.draft.Domain) {
		for _, place := range band.Places {
			if f.draft.CRDsPhase == "" && place.Accepts(crdsRung) {
				f.draft.CRDsPhase = fl.Profile.Write(place.Step)
			}
		}
	}
}
