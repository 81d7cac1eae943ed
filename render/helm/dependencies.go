package helm

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/remote"
	"github.com/ladder-cmp/ladder/render/input"
)

// dependency is a chart that another one lists but does not contain in charts/.
type dependency struct {
	parent *chart.Chart
	// file is the file that lists it.
	file   string
	listed *chart.Dependency
	// ref is the source to fetch; its version may come from Chart.lock.
	ref remote.Ref
}

// addRemoteDependencies fetches the dependencies that the values enable, which
// "helm dependency build" downloads to charts/. With Options.AllCRDs, it
// also fetches disabled dependencies. Charts from an archive in charts/ already contain
// theirs.
func (s source) addRemoteDependencies(ctx context.Context, ch *chart.Chart, vals map[string]any, in *chartSize) error {
	missing := s.missing(ch, ch, in)
	if len(missing) > 0 && !s.opt.AllCRDs {
		enabled, err := withoutDisabled(ch, vals, in)
		if err != nil {
			return s.Fault(finding.BadChart, "Chart.yaml", err.Error(), "correct the dependencies and their values")
		}
		missing = s.missing(ch, enabled, in)
	}
	var faults []error
	wanted := map[remote.Ref]bool{}
	for i := range missing {
		d := &missing[i]
		if err := s.locate(d, in); err != nil {
			faults = append(faults, err)
			continue
		}
		wanted[d.ref] = true
	}
	fetched := s.fetchAll(ctx, wanted)
	for _, d := range missing {
		if d.ref == (remote.Ref{}) {
			continue
		}
		got := fetched[d.ref]
		if got.err == nil {
			got.err = s.add(d, got.content, in)
		}
		for _, f := range finding.Of(got.err) {
			if f.File == "" {
				f.File, f.Line, f.Field = d.file, lineOfDependency(d.parent, d.listed), "dependencies."+d.listed.Name
			}
			faults = append(faults, f)
		}
	}
	return errors.Join(slices.CompactFunc(faults, func(x, y error) bool { return slices.Equal(finding.Of(x), finding.Of(y)) })...)
}

// fetchResult is the result of fetching a Ref.
type fetchResult struct {
	content remote.Content
	err     error
}

// maxConcurrent limits concurrent fetches for a chart, which may list any number of
// dependencies.
const maxConcurrent = 8

// fetchAll fetches Refs concurrently.
func (s source) fetchAll(ctx context.Context, wanted map[remote.Ref]bool) map[remote.Ref]fetchResult {
	var mu sync.Mutex
	var group errgroup.Group
	group.SetLimit(maxConcurrent)
	all := map[remote.Ref]fetchResult{}
	for ref := range wanted {
		group.Go(func() error {
			c, err := s.opt.Remote.Fetch(ctx, ref)
			mu.Lock()
			defer mu.Unlock()
			all[ref] = fetchResult{c, err}
			return nil
		})
	}
	_ = group.Wait() // each result has its own error
	return all
}

// missing lists the dependencies that a chart and its file:// dependencies lack. enabled
// is the same chart without disabled dependencies.
func (s source) missing(ch, enabled *chart.Chart, in *chartSize) []dependency {
	var all []dependency
	dir := in.dirs[ch]
	for _, dep := range ch.Metadata.Dependencies {
		name := dep.Name
		if dep.Alias != "" && enabled != ch {
			name = dep.Alias
		}
		if !slices.ContainsFunc(enabled.Metadata.Dependencies, func(d *chart.Dependency) bool { return d.Name == name }) {
			continue
		}
		sub := find(ch, func(c *chart.Chart) bool { return c.Name() == dep.Name && satisfies(dep.Version, c.Metadata.Version) })
		switch _, local := in.dirs[sub]; {
		case sub != nil && local:
			below := find(enabled, func(c *chart.Chart) bool { return c.Name() == name })
			if enabled == ch {
				below = sub
			}
			if below != nil {
				all = append(all, s.missing(sub, below, in)...)
			}
		case vendored(ch, dep.Name) || strings.HasPrefix(dep.Repository, "file://"):
			// Problems of charts in the repository were reported when they were
			// loaded.
		default:
			all = append(all, dependency{parent: ch, file: s.Show(path.Join(dir, dependencyFile(ch))), listed: dep})
		}
	}
	return all
}

// lineOfDependency returns the line of a dependency, or of the whole list, in the
// file of dependencyFile.
func lineOfDependency(ch *chart.Chart, dep *chart.Dependency) int {
	at := slices.IndexFunc(ch.Raw, func(f *common.File) bool { return f.Name == dependencyFile(ch) })
	if at < 0 {
		return 0
	}
	steps := []string{"dependencies"}
	if i := slices.Index(ch.Metadata.Dependencies, dep); i >= 0 {
		steps = append(steps, strconv.Itoa(i))
	}
	return input.LineOf(ch.Raw[at].Data, steps)
}

func find(ch *chart.Chart, is func(*chart.Chart) bool) *chart.Chart {
	if i := slices.IndexFunc(ch.Dependencies(), is); i >= 0 {
		return ch.Dependencies()[i]
	}
	return nil
}

// withoutDisabled returns the outline of a chart without disabled dependencies. Enabled
// ones are named after their alias.
func withoutDisabled(ch *chart.Chart, vals map[string]any, in *chartSize) (*chart.Chart, error) {
	c := outline(ch, in)
	return c, chartutil.ProcessDependencies(c, vals)
}

// outline copies the parts of a chart that decide which dependencies are enabled,
// since evaluating that modifies the chart.
func outline(ch *chart.Chart, in *chartSize) *chart.Chart {
	about := *ch.Metadata
	about.Dependencies = nil
	for _, dep := range ch.Metadata.Dependencies {
		d := *dep
		d.ImportValues = nil
		about.Dependencies = append(about.Dependencies, &d)
	}
	c := &chart.Chart{Metadata: &about, Values: loader.MergeMaps(ch.Values, nil)}
	for _, sub := range ch.Dependencies() {
		o := &chart.Chart{Metadata: &chart.Metadata{Name: sub.Name(), Version: sub.Metadata.Version}, Values: loader.MergeMaps(sub.Values, nil)}
		if _, local := in.dirs[sub]; local {
			o = outline(sub, in)
		}
		c.AddDependency(o)
	}
	return c
}

// locate determines the source to fetch for a dependency.
func (s source) locate(d *dependency, in *chartSize) error {
	bad := func(message, remedy string) finding.Finding {
		return finding.Finding{Severity: finding.Error, Rule: finding.BadChart, File: d.file, Line: lineOfDependency(d.parent, d.listed),
			Field: "dependencies." + d.listed.Name, Message: message, Remedy: remedy}
	}
	if s.opt.Remote == nil || d.listed.Repository == "" {
		f := bad(
			fmt.Sprintf("chart %s %s (from %s) is not in charts/", d.listed.Name, d.listed.Version, d.listed.Repository),
			"run helm dependency build "+s.Show(s.Dir)+" and commit charts/, or run "+s.VendorCommand(d.listed.Repository))
		if dir, isHere := in.dirs[d.parent]; isHere {
			if hidden := s.hiddenDependency(dir, d.listed.Name); hidden != "" {
				f.Message = fmt.Sprintf("chart %s %s is not in charts/: %s", d.listed.Name, d.listed.Version, hidden)
				f.Remedy = "correct this line of .helmignore"
				return f
			}
		}
		f.Field = "dependencies"
		if d.listed.Repository == "" {
			f.Message = fmt.Sprintf("chart %s %s is not in charts/", d.listed.Name, d.listed.Version)
			f.Remedy = "put it into charts/, or name its repository"
		}
		return f
	}
	version, err := locked(d.parent, d.listed)
	if err != "" {
		f := bad(err, "run helm dependency update "+s.Show(s.Dir)+" and commit the lock")
		f.Line, f.Field = lineOfDependency(d.parent, nil), "dependencies" // the whole list
		return f
	}
	d.ref = remote.Ref{Kind: remote.Chart, URL: d.listed.Repository, Chart: d.listed.Name, Version: version}
	return nil
}

// locked returns the version of a dependency in the chart's lock file, or else the
// requested one. Like "helm dependency build" it refuses an outdated lock file.
func locked(ch *chart.Chart, dep *chart.Dependency) (version, fault string) {
	if ch.Lock == nil {
		return dep.Version, ""
	}
	if !inSync(ch) {
		name := strings.TrimSuffix(dependencyFile(ch), ".yaml") + ".lock"
		return "", name + " is out of sync with " + dependencyFile(ch)
	}
	same := func(l *chart.Dependency) bool { return l.Name == dep.Name }
	i := slices.Index(ch.Metadata.Dependencies, dep)
	if i >= len(ch.Lock.Dependencies) || !same(ch.Lock.Dependencies[i]) {
		i = slices.IndexFunc(ch.Lock.Dependencies, same)
	}
	if i < 0 {
		return dep.Version, ""
	}
	return ch.Lock.Dependencies[i].Version, ""
}

// inSync reports whether the lock file of a chart matches its dependencies. It
// checks the digests of Helm 3 and 4, and of Helm 2 (internal/resolver of Helm,
// HashReq and HashV2Req). Helm first replaces repository aliases with
// URLs, which are unknown here, so such lock files are accepted.
func inSync(ch *chart.Chart) bool {
	deps := ch.Metadata.Dependencies
	if slices.ContainsFunc(deps, func(d *chart.Dependency) bool { return byAlias(d.Repository) }) {
		return true
	}
	if digestOf([2][]*chart.Dependency{deps, ch.Lock.Dependencies}) == ch.Lock.Digest {
		return true
	}
	return ch.Metadata.APIVersion == chart.APIVersionV1 && digestOf(map[string][]*chart.Dependency{"dependencies": deps}) == ch.Lock.Digest
}

// byAlias reports whether a repository is an alias from Helm's configuration.
func byAlias(repository string) bool {
	return strings.HasPrefix(repository, "@") || strings.HasPrefix(repository, "alias:")
}

func digestOf(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// add adds a fetched chart as a chart in charts/ would be.
func (s source) add(d dependency, c remote.Content, in *chartSize) error {
	bad := func(message string) error {
		return finding.Finding{Severity: finding.Error, Rule: finding.BadChart, Message: message,
			Remedy: "correct the dependency, or its repository"}
	}
	sub, err := loader.LoadArchive(bytes.NewReader(c.Data))
	if err != nil {
		return bad(d.ref.String() + " is not a chart: " + err.Error())
	}
	size := func(f *common.File) int { return len(f.Data) }
	for _, f := range sub.Raw {
		in.files++
		in.bytes += size(f)
	}
	switch {
	case in.exceeded() != "":
		return s.Fault(finding.BadChart, "", in.exceeded(), "remove dependencies from the chart")
	case sub.Name() != d.listed.Name:
		return bad(fmt.Sprintf("%s resolved to a chart named %s", d.ref, sub.Name()))
	case !satisfies(d.listed.Version, sub.Metadata.Version):
		return bad(fmt.Sprintf("%s resolved to version %s, but the dependency requires %s", d.ref, sub.Metadata.Version, d.listed.Version))
	case find(d.parent, func(c *chart.Chart) bool { return c.Name() == sub.Name() && c.Metadata.Version == sub.Metadata.Version }) == nil:
		d.parent.AddDependency(sub)
	}
	return nil
}
