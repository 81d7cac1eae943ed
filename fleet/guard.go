package fleet

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/profile"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// Faults that prevent a rollout, and that Argo CD would report too late or not at all.

// dnsName matches a valid name of a Kubernetes object, labelValue a valid value of a label.
var (
	dnsName    = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$`)
	labelValue = regexp.MustCompile(`^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$`)
	labelKey   = regexp.MustCompile(`^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`)
)

// guard finds everything that prevents the rollout of the fleet.
func (f *Fleet) guard(t Target, sets []set) []finding.Finding {
	var all []finding.Finding
	if cmp.Or(t.RepoURL, f.Settings.RepoURL) == "" {
		all = append(all, finding.Finding{Severity: finding.Error, Rule: "no-repository", Field: "fleet.repoURL",
			Message: "the repository of the components is unknown", Remedy: "set fleet.repoURL in a ladder.yaml above them, or use --repo-url"})
	}
	if name := f.name(t); f.name(t) != "." && !dnsName.MatchString(name) {
		all = append(all, finding.Finding{Severity: finding.Error, Rule: "bad-name", Field: "fleet.name",
			Message: fmt.Sprintf("%q is not a valid object name", name), Remedy: "use lowercase letters, digits and \"-\""})
	}
	taken := map[string]*Application{}
	for _, s := range sets {
		for _, d := range f.deployments(s) {
			if other, twice := taken[d.Name]; twice && other != d.Application {
				all = append(all, d.fault("same-name", "name", fmt.Sprintf("%s has an Application %s as well", other.File, d.Name), "give each component a unique name"))
				continue
			}
			if taken[d.Name] == nil {
				all = append(all, d.misnamed(d.Name)...)
			}
			taken[d.Name] = d.Application
		}
	}
	for _, app := range f.Enabled() {
		all = append(all, f.guardOne(app)...)
	}
	return slices.Concat(all, f.misset(), f.sharing(t), f.neverHealthy())
}

func (f *Fleet) guardOne(app *Application) []finding.Finding {
	var all []finding.Finding
	if !app.Described {
		all = append(all, app.fault("not-described", "", "missing "+component.File+", from which Argo CD generates the Application", "add one with a name, a namespace and a "+f.Profile.Key))
	}
	if !app.Phase.Set {
		found := app.fault(NoStep, "", app.Name+" has no "+f.Profile.Noun()+", so it comes last", "add "+f.Profile.Key)
		found.Severity = finding.Warning
		all = append(all, found)
	}
	if app.Part != crds.Only {
		all = append(all, f.overreach(app)...)
	}
	return append(all, f.miswritten(app)...)
}

// misnamed finds an invalid name of an Application.
func (a *Application) misnamed(name string) []finding.Finding {
	if dnsName.MatchString(name) {
		return nil
	}
	return []finding.Finding{a.fault("bad-name", "name", fmt.Sprintf("%q is not a valid Application name", name), "use lowercase letters, digits and \"-\"")}
}

// miswritten finds settings that Argo CD or Kubernetes interprets differently than intended,
// or ignores. The file of a component in two parts is checked once.
func (f *Fleet) miswritten(app *Application) []finding.Finding {
	if app.Part == crds.Only {
		return nil
	}
	var all []finding.Finding
	for key, phase := range map[string]component.Phase{app.PhaseKey(): app.Component.Phase(), "crdsPhase": app.CRDsPhase} {
		if phase.Ambiguous {
			all = append(all, app.fault(octalStep, key, fmt.Sprintf("Argo CD reads %s without quotes as the octal number %d", phase.Text, phase.Other), fmt.Sprintf("write %q", phase.Text)))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(app.labels())) {
		value := app.labels()[key]
		switch {
		case key == f.Profile.Label:
			all = append(all, app.fault(stepLabel, "labels", "the label "+key+" holds the step, by which the rollout selects the Application", "remove it, and use "+f.Profile.Key))
		case f.reservedLabel().MatchString(key):
			all = append(all, app.fault(reservedLabel, "labels", "the label "+key+" is reserved: Argo CD or the rollout selects by it", "remove it"))
		case !labelKey.MatchString(key):
			all = append(all, app.fault("bad-label", "labels", fmt.Sprintf("%q is not a valid label name", key), "use letters, digits, \"-\", \"_\" and \".\", at most 63"))
		case !labelValue.MatchString(value):
			found := app.fault("bad-label", key, fmt.Sprintf("%q is not a valid label value", value), "use letters, digits, \"-\", \"_\" and \".\", at most 63")
			found.Line = cmp.Or(found.Line, app.Line("labels"))
			all = append(all, found)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(app.Annotations)) {
		if !labelKey.MatchString(key) {
			all = append(all, app.fault("bad-label", "annotations", fmt.Sprintf("%q is not a valid annotation name", key), "use letters, digits, \"-\", \"_\" and \".\", at most 63"))
		}
	}
	if len(f.Settings.Environments) > 0 {
		for _, e := range app.Environments.Names() {
			if !slices.ContainsFunc(f.Settings.Environments, func(known profile.Environment) bool { return known.Name == e }) {
				found := app.fault("no-environment", "environments", fmt.Sprintf("unknown environment %q", e), "correct it, or add it to fleet.environments")
				found.Severity = finding.Warning
				all = append(all, found)
			}
		}
	}
	all = append(all, app.missingValues()...)
	if app.Component.Chart.Remote() && !app.Vendored && app.CRDs == component.Split {
		all = append(all, app.fault("remote-split", "crds", "the chart is in another repository, and only charts in this repository can be split", "run cmp vendor, put the chart into this repository, or remove crds: split"))
	}
	return all
}

// neverHealthy: later steps wait for an Application forever.
func (f *Fleet) neverHealthy() []finding.Finding {
	var all []finding.Finding
	told := map[int]bool{}
	for i, app := range f.Applications {
		told[i] = !app.IsEnabled() || app.Failed
	}
	consumed := map[int]bool{} // what waits only for somebody to use it, and is used
	for _, r := range f.Objects.References {
		consumed[r.To] = consumed[r.To] || f.Objects.Nodes[r.To].Kind.Place == knowledge.WithConsumer
	}
	for i := range f.Objects.Nodes {
		n := &f.Objects.Nodes[i]
		at := n.Part // what stands for a chart says nothing of its health
		if n.Stub || told[at] || consumed[i] || !n.HasHealth || n.Waits.Never == "" || !n.InSync() {
			continue
		}
		told[at] = true
		all = append(all, finding.Finding{Severity: finding.Warning, Rule: "never-healthy", File: n.File, Line: n.Line, Object: n.Key.String(),
			Message: fmt.Sprintf("%s may never become healthy: %s; the rollout would wait for it forever", f.Applications[at].Name, n.Waits.Never), Remedy: "fix that, or give Argo CD a health check for it"})
	}
	return all
}

// unlabelled: Applications whose step is not a valid label value.
func (f *Fleet) unlabelled() []finding.Finding {
	var all []finding.Finding
	for _, app := range f.Enabled() {
		if app.Phase.Set && app.Phase.Number < 0 {
			all = append(all, app.fault("negative-step", app.PhaseKey(), fmt.Sprintf("%s is not a valid label value", app.Phase.Text), "use steps from 0 on, or sync waves (cmp fleet apps), which may be negative"))
		}
	}
	return all
}

// nowhere: components for environments, in a fleet without environments.
func (f *Fleet) nowhere(t Target) []finding.Finding {
	if len(f.Settings.Environments) > 0 || t.Environment != "" {
		return nil
	}
	var all []finding.Finding
	for _, app := range f.Enabled() {
		if app.Environments.Limited() {
			found := app.fault("no-environment", "environments", app.Name+" is for "+strings.Join(f.Having(app), ", ")+" only, but the fleet has no environments, so it is deployed everywhere", "list them as fleet.environments in ladder.yaml, or use --environment")
			found.Severity = finding.Warning
			all = append(all, found)
		}
	}
	return all
}

// before: the set of a cluster is rolled out before those of its environments, and cannot
// depend on them.
func (f *Fleet) before(sets []set) []finding.Finding {
	var all []finding.Finding
	if len(sets) < 2 {
		return nil
	}
	for _, l := range f.Links {
		from, to := f.Applications[l.From], f.Applications[l.To]
		if !l.Strength().NeedsEarlierStep() || !from.IsEnabled() || !to.IsEnabled() || !sets[0].has(from) || sets[0].has(to) {
			continue
		}
		severity := finding.Warning
		if l.IsCertain() {
			severity = finding.Error
		}
		all = append(all, finding.Finding{Severity: severity, Rule: "cluster-before-environment", File: from.File,
			Message: fmt.Sprintf("%s is for the whole cluster, but depends on %s, which comes later with each environment: %s", from.Name, to.Name, l.Reasons[0]),
			Remedy:  "name the environments of " + from.Name + " in its component.yaml, so that each has its own"})
	}
	return all
}

func (a *Application) fault(rule, field, message, remedy string) finding.Finding {
	return finding.Finding{Severity: finding.Error, Rule: rule, File: a.File, Line: a.Line(field), Field: field, Message: message, Remedy: remedy}
}

// labels returns the labels that a component sets.
func (a *Application) labels() map[string]string {
	all := maps.Clone(a.Component.Labels)
	if all == nil {
		all = map[string]string{}
	}
	for key, value := range map[string]string{"domain": a.Domain, "tier": a.Tier, "componentType": a.Type, "dependencyPhase": a.DependencyPhase} {
		if value != "" && all[key] == "" {
			all[key] = value
		}
	}
	return all
}

// options returns the sync options of an Application: those of the fleet, overridden by its
// own.
func (f *Fleet) options(app *Application) []string {
	all := f.commonOptions()
	if f.serverSide(app) {
		all["ServerSideApply"] = "true"
	}
	for _, o := range app.SyncOptions {
		name, value, _ := strings.Cut(o, "=")
		all[name] = value
	}
	var list []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list = append(list, name+"="+all[name])
	}
	return list
}

// commonOptions are the sync options of every Application: create missing namespaces, respect
// ignored differences, and skip the dry run of objects whose CRD an earlier step installs.
func (f *Fleet) commonOptions() map[string]string {
	all := map[string]string{"CreateNamespace": "true", "RespectIgnoreDifferences": "true", "SkipDryRunOnMissingResource": "true"}
	for _, o := range f.Settings.SyncOptions {
		name, value, _ := strings.Cut(o, "=")
		all[name] = value
	}
	return all
}

// makesNamespace reports whether Argo CD creates the namespace of an Application.
func (f *Fleet) makesNamespace(app *Application) bool {
	value := f.commonOptions()["CreateNamespace"]
	for _, o := range app.SyncOptions {
		if given, ok := strings.CutPrefix(o, "CreateNamespace="); ok {
			value = given
		}
	}
	return value == "true"
}

// serverSide reports whether an Application contains an object that is too large for
// client-side apply, which keeps it in an annotation.
func (f *Fleet) serverSide(app *Application) bool {
	return slices.Contains(f.definitionPhases(), f.Write(app.Phase)) || app.large()
}

// largeApplications returns, by name, the Applications that need server-side apply because of
// their content.
func (f *Fleet) largeApplications() []string {
	if f.commonOptions()["ServerSideApply"] == "true" {
		return nil
	}
	var all []string
	phases := f.definitionPhases()
	for _, app := range f.Enabled() {
		if app.large() && !slices.Contains(phases, f.Write(app.Phase)) {
			all = append(all, app.Name)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// mostAnnotated is the size limit for all annotations of an object, in bytes
// (TotalAnnotationSizeLimitB of apimachinery).
const mostAnnotated = 256 << 10

// large reports whether an Application contains an object that does not fit into an
// annotation, or a chart in a registry that is known to contain CRDs, whose size is unknown.
func (a *Application) large() bool {
	if slices.ContainsFunc(a.KnownCharts(), func(c knowledge.Chart) bool {
		return len(c.Provides) > 0 && slices.Contains([]string{"crds", knowledge.Controllers}, c.Rung)
	}) {
		return true
	}
	return slices.ContainsFunc(a.Objects, func(o object.Object) bool {
		if len(o.Text()) <= mostAnnotated/2 {
			return false // JSON is hardly twice as long as YAML
		}
		var v any
		if err := yaml.Unmarshal([]byte(o.Text()), &v); err != nil {
			return false
		}
		text, err := json.Marshal(v)
		return err == nil && len(text) > mostAnnotated
	})
}

// definitionPhases returns the steps in use that contain CRDs.
func (f *Fleet) definitionPhases() []string {
	only := map[string]bool{}
	for _, app := range f.Enabled() {
		place, _ := f.Profile.Place(app.Phase.Number)
		made := len(place.Rungs) > 0 && place.Rungs[0] == "crds"
		before, seen := only[f.Write(app.Phase)]
		only[f.Write(app.Phase)] = app.Phase.Set && (made || app.Rung == "crds" && (before || !seen))
	}
	var all []string
	for phase, is := range only {
		if is {
			all = append(all, phase)
		}
	}
	slices.Sort(all)
	return all
}

// patterns returns the patterns for the files that describe the components. If a pattern would
// match other files, too, each file is named.
func (f *Fleet) patterns() []string {
	var all []string
	for _, dir := range f.Dirs {
		dir = path.Clean(dir)
		var own, inner bool
		for _, c := range f.Components {
			own = own || c.Dir == dir
			inner = inner || strings.HasPrefix(c.Dir, dir+"/") || dir == "." && c.Dir != "."
		}
		if own {
			all = append(all, path.Join(dir, component.File))
		}
		if inner {
			all = append(all, path.Join(dir, "**", component.File))
		}
	}
	if len(f.Passed) > 0 {
		all = nil
		for _, c := range f.Components {
			all = append(all, path.Join(c.Dir, component.File))
		}
	}
	return slices.Compact(all)
}
