// Package repeat renders a component several times and compares.
//
// Vary finds why a component renders differently although nobody changed it: random and
// time functions, API versions of the cluster, and the version of Kubernetes.
//
// It renders with another seed, a later time, all API versions that templates name, and
// the oldest and the newest version of Kubernetes, and compares each result with the
// first. Only where a result differs, it renders again to find which of the versions does
// that. The objects that differ are certain; template and line are found by
// searching their template, or the helpers, for possible reasons. It covers charts
// and templated YAML, also within kustomizations and trees.
//
// Adopt finds the values of a chart that replace what its templates generate into
// Secrets. An Application that runs with passwords that cannot be derived keeps them
// this way. Generated fields are those that differ between two renderings with two
// throwaway seeds. The value for a field is found by trying: each empty value of the
// chart is set to a probe text, and if the probe appears in the field, that is the value.
// Finally all values are set to the content of the cluster, and only fields that
// match it count. Nothing is concluded from names.
package repeat

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"
	"helm.sh/helm/v4/pkg/chart/common"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/render"
	"github.com/ladder-cmp/ladder/render/helm"
	"github.com/ladder-cmp/ladder/render/input"
	"github.com/ladder-cmp/ladder/render/random"
)

// ClusterDependent is the rule for templates that ask the cluster, without which Argo CD renders.
const ClusterDependent finding.Rule = "cluster-dependent"

const (
	// sharedBytes is the cache size for decoded text: the CRDs of the largest
	// charts.
	sharedBytes = 32 << 20
	// maxGroups limits the API versions that are tried.
	maxGroups = 100
	// minorVersions is the number of earlier minor versions of Kubernetes to try:
	// more than the clusters of one company use.
	minorVersions = 6
	// later is long enough to affect any format of the time.
	later = 1000 * time.Hour
)

// component is the component to render repeatedly.
type component struct {
	ctx   context.Context
	fsys  fs.FS
	dir   string
	opt   render.Options
	probe *probe
	// first are the objects of the unmodified component.
	first []object.Object
}

// Vary renders a component several times, and reports why the results differ. The
// error is that of rendering the component as it is, or of the context.
func Vary(ctx context.Context, fsys fs.FS, dir string, opt render.Options) ([]finding.Finding, error) {
	opt.Memory, opt.AllCRDs, opt.AllowEmpty = input.NewMemory(sharedBytes), false, true
	c := &component{ctx: ctx, fsys: fsys, dir: dir, opt: opt, probe: newProbe(opt.Random.Key != nil)}
	c.opt.Probe = c.probe.functions
	var err error
	if c.first, err = c.render(world{}, c.opt); err != nil {
		return nil, err
	}
	called := maps.Clone(c.probe.called) // by the unmodified component
	found := c.volatile(called)
	if !opt.Pinned {
		found = append(found, c.apiVersions()...)
	}
	if opt.KubeVersion == "" {
		found = append(found, c.kubeVersions()...)
	}
	finding.Sort(found)
	return slices.Compact(found), ctx.Err()
}

func (c *component) render(w world, opt render.Options) ([]object.Object, error) {
	c.probe.world = w
	res, err := render.Dir(c.ctx, c.fsys, c.dir, opt)
	return res.Objects, err
}

// show returns the component's name for messages.
func (c *component) show() string {
	if c.opt.Show == nil {
		return path.Clean(c.dir)
	}
	return c.opt.Show(path.Clean(c.dir))
}

// volatile reports random and time-dependent output.
func (c *component) volatile(called map[string]bool) []finding.Finding {
	var found []finding.Finding
	for _, other := range []struct {
		world   world
		clock   bool
		message string
	}{
		{world{seed: 1}, false, "every render %[2]s (%[1]s), so Argo CD always shows a diff"},
		{world{later: later}, true, "rendering at a later time %[2]s (%[1]s), so Argo CD shows a diff"},
	} {
		functions := slices.DeleteFunc(slices.Sorted(maps.Keys(called)), func(name string) bool {
			return random.IsClock(name) != other.clock
		})
		if len(functions) == 0 {
			continue
		}
		after, err := c.render(other.world, c.opt)
		if err != nil {
			continue // not in the unmodified component
		}
		for at, changes := range c.byPlace(compare(c.first, after), functions) {
			remedy := c.opt.Random.WhyRandom.Remedy() + ", or set a value that replaces the generated one, if the chart has such a value"
			if len(at.values) > 0 {
				remedy = c.opt.Random.WhyRandom.Remedy() + ", or set " + at.values + " of the chart, if that replaces what it generates"
			}
			words := at.words
			if words == "" {
				words = strings.Join(functions, ", ")
			}
			found = append(found, finding.Finding{Severity: finding.Warning, Rule: helm.Random, File: at.file, Line: at.line,
				Message: fmt.Sprintf(other.message, words, changes), Remedy: remedy})
		}
	}
	return found
}

// apiVersions reports the API versions of the cluster that affect the output.
// Built-in groups depend on the Kubernetes version.
func (c *component) apiVersions() []finding.Finding {
	candidates := c.probe.apiVersions()
	known := common.DefaultCapabilities.APIVersions
	maps.DeleteFunc(candidates, func(group string, a apiVersion) bool {
		name, _, _ := strings.Cut(group, "/")
		return slices.Contains(c.opt.APIVersions, group) ||
			slices.ContainsFunc(known, func(k string) bool { return strings.HasPrefix(k, name+"/") })
	})
	groups := slices.Sorted(maps.Keys(candidates))
	var found []finding.Finding
	if len(groups) > maxGroups {
		groups = groups[:maxGroups]
		found = append(found, finding.Finding{Severity: finding.Note, Rule: ClusterDependent, File: c.show(),
			Message: fmt.Sprintf("templates check more than %d API versions; the others were not tried", maxGroups),
			Remedy:  "lint parts of the component separately"})
	}
	return append(found, c.affecting(groups, candidates)...)
}

// affecting reports which of some API versions affect the output. It renders with all of
// them, and with each half only if that changes the output. If neither half does, several
// are needed at once, and the finding lists all of them.
func (c *component) affecting(groups []string, candidates map[string]apiVersion) []finding.Finding {
	if len(groups) == 0 {
		return nil
	}
	opt := c.opt
	opt.APIVersions = slices.Clone(opt.APIVersions)
	for _, group := range groups {
		opt.APIVersions = append(opt.APIVersions, candidates[group].names...)
	}
	after, err := c.render(world{}, opt)
	changes := compare(c.first, after)
	if c.ctx.Err() != nil || err == nil && len(changes) == 0 {
		return nil
	}
	if half := len(groups) / 2; half > 0 {
		found := append(c.affecting(groups[:half], candidates), c.affecting(groups[half:], candidates)...)
		if len(found) > 0 || c.ctx.Err() != nil {
			return found
		}
	}
	a := candidates[groups[0]]
	f := finding.Finding{Severity: finding.Warning, Rule: ClusterDependent, File: cmp.Or(a.file, c.show()), Line: a.line}
	what := "the API version " + groups[0]
	if len(groups) > 1 {
		what = "several of the API versions " + strings.Join(groups, ", ")
	}
	if err != nil {
		f.Message = "if the cluster has " + what + ", the component does not render: " + finding.Of(err)[0].Message
		f.Remedy = "correct the template"
		return []finding.Finding{f}
	}
	f.Message = "if the cluster has " + what + ", rendering " + summary(changes) + ", so the first rollout and later ones differ"
	f.Remedy = "write apiVersions: [" + strings.Join(opt.APIVersions[len(c.opt.APIVersions):],
		", ") + "] into component.yaml if the API is installed before this component, or capabilities: pinned to ignore the APIs of the cluster"
	return []finding.Finding{f}
}

// kubeStep maps places to what changes between the previous minor version of Kubernetes
// and this one.
type kubeStep struct {
	minor   int
	changes map[place]string
}

// rendering is the result of rendering with one version of Kubernetes. A chart may refuse
// a version.
type rendering struct {
	minor   int
	objects []object.Object
	err     error
}

// kubeVersions reports what changes between consecutive recent versions of
// Kubernetes.
func (c *component) kubeVersions() []finding.Finding {
	own, err := semver.NewVersion(render.DefaultKubeVersion)
	if err != nil {
		return nil
	}
	newest := int(own.Minor()) + 1
	oldest := max(newest-1-minorVersions, 0)
	at := func(minor int) rendering {
		opt := c.opt
		opt.KubeVersion = fmt.Sprintf("%d.%d.0", own.Major(), minor)
		objs, err := c.render(world{}, opt)
		return rendering{minor, objs, err}
	}
	type step struct {
		version string
		changes string
	}
	steps := map[place][]step{}
	for _, s := range c.kubeSteps(at(oldest), at(newest), at) {
		version := fmt.Sprintf("%d.%d", own.Major(), s.minor)
		for at, changes := range s.changes {
			steps[at] = append(steps[at], step{version, changes})
		}
	}
	var found []finding.Finding
	for at, all := range steps {
		var changes []string
		versions := map[string][]string{}
		for _, s := range all {
			if versions[s.changes] == nil {
				changes = append(changes, s.changes)
			}
			versions[s.changes] = append(versions[s.changes], s.version)
		}
		for i, text := range changes {
			to := versions[text][0]
			if len(versions[text]) > 1 {
				to = "any of " + strings.Join(versions[text], ", ")
			}
			changes[i] = "an upgrade to " + to + " " + text
		}
		found = append(found, finding.Finding{Severity: finding.Note, Rule: ClusterDependent, File: at.file, Line: at.line,
			Message: "the output depends on the Kubernetes version: " + strings.Join(changes, "; "),
			Remedy: "write kubeVersion: " + render.DefaultKubeVersion +
				" into component.yaml to pin the version, or expect the change when clusters are upgraded"})
	}
	return found
}

// kubeSteps finds the versions between two renderings that change the output. It renders
// those between only if the two differ, so what changes and changes back is not found.
func (c *component) kubeSteps(before, after rendering, at func(minor int) rendering) []kubeStep {
	refused := before.err != nil || after.err != nil
	var changes []change
	if !refused {
		changes = compare(before.objects, after.objects)
	}
	switch {
	case !refused && len(changes) == 0:
		return nil
	case after.minor-before.minor > 1:
		middle := at((before.minor + after.minor) / 2)
		return append(c.kubeSteps(before, middle, at), c.kubeSteps(middle, after, at)...)
	case refused:
		return nil
	}
	all := map[place]string{}
	for at, summary := range c.byPlace(changes, []string{"KubeVersion", "semverCompare"}) {
		at.words, at.values = "", ""
		all[at] = summary
	}
	return []kubeStep{{after.minor, all}}
}
