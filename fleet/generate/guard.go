package generate

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/appset"
	"github.com/ladder-cmp/ladder/fleet/lint"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// This file finds faults that prevent a rollout, and that Argo CD would report too late or not
// at all.

// rolloutFaults returns findings about everything that prevents the rollout of the fleet in an
// environment.
func (w writer) rolloutFaults(environment string, sets []fleet.Set) []finding.Finding {
	var all []finding.Finding
	if w.Settings.RepoURL == "" {
		all = append(all, finding.Finding{Severity: finding.Error, Rule: finding.BadSettings, Field: "fleet.repoURL",
			Message: "the repository of the components is unknown",
			Remedy:  "set fleet.repoURL in a ladder.yaml above them, or use --repo-url"})
	}
	if name := fleet.NameOf(w.Fleet); name != "." && !object.IsName(name) {
		all = append(all, finding.Finding{Severity: finding.Error, Rule: "bad-name", Field: "fleet.name",
			Message: fmt.Sprintf("%q is not a valid object name", name), Remedy: "use lowercase letters, digits and \"-\""})
	}
	taken := map[string]*fleet.Application{}
	for _, s := range sets {
		for _, d := range w.deployments(s) {
			if other, twice := taken[d.Name]; twice && other != d.Application {
				all = append(all, d.Fault("same-name", "name",
					fmt.Sprintf("%s has an Application %s as well", other.File, d.Name), "give each component a unique name"))
				continue
			}
			if taken[d.Name] == nil {
				all = append(all, lint.NameFaults(d.Application, d.Name)...)
			}
			taken[d.Name] = d.Application
		}
	}
	for _, app := range w.Enabled() {
		if !app.Described {
			all = append(all, app.Fault(finding.BadSettings, "",
				"missing "+component.File+", from which Argo CD generates the Application",
				"add one with a name, a namespace and a "+w.Profile.Key))
		}
		if !app.Step.Set {
			found := app.Fault(appset.NoStep, "", app.Name+" has no "+w.Profile.Noun()+", so it comes last", "add "+w.Profile.Key)
			found.Severity = finding.Warning
			all = append(all, found)
		}
	}
	return slices.Concat(all, lint.Settings(w.Fleet), lint.Shared(w.Fleet, environment), w.unhealthyFaults(),
		w.environmentFaults(environment), w.blockers(environment), w.ineffective())
}

// blockers finds what keeps the rollout from finishing. With --unproven, these are warnings.
func (w writer) blockers(environment string) []finding.Finding {
	all := lint.RolloutBlockers(w.Fleet, environment)
	if w.allowBlocked {
		for i := range all {
			all[i].Severity = finding.Warning
		}
	}
	return all
}

// unhealthyFaults returns findings about Applications that may never become healthy, because
// later steps wait for them forever.
func (w writer) unhealthyFaults() []finding.Finding {
	var all []finding.Finding
	reported := map[int]bool{}
	for i, app := range w.Applications {
		reported[i] = !app.IsEnabled() || app.Failed
	}
	consumed := map[int]bool{} // objects that wait only until another object uses them, and are used
	for _, r := range w.Objects.References {
		consumed[r.To] = consumed[r.To] || w.Objects.Nodes[r.To].Kind.Placement == knowledge.WithConsumer
	}
	for i := range w.Objects.Nodes {
		n := &w.Objects.Nodes[i]
		at := n.Part // a stub of a missing chart says nothing about its health
		if n.Stub || reported[at] || consumed[i] || !n.HasHealth || n.Health.Never == "" || !n.InSync() {
			continue
		}
		reported[at] = true
		all = append(all, finding.Finding{Severity: finding.Warning, Rule: finding.Rollout, File: n.File, Line: n.Line,
			Object: n.Key.String(),
			Message: fmt.Sprintf("%s may never become healthy: %s; the rollout would wait for it forever",
				w.Applications[at].Name, n.Health.Never), Remedy: "fix the cause, or configure a health check for this kind in Argo CD"})
	}
	return all
}

// labelFaults returns findings about Applications whose step is not a valid label value.
func (w writer) labelFaults() []finding.Finding {
	var all []finding.Finding
	for _, app := range w.Enabled() {
		if app.Step.Set && app.Step.Number < 0 {
			all = append(all, app.Fault(finding.Rollout, app.StepKey(),
				fmt.Sprintf("%s is not a valid label value", app.Step.Text),
				"use steps from 0 on, or sync waves (cmp fleet apps --style waves), which may be negative"))
		}
	}
	return all
}

// environmentFaults returns findings about components for environments, in a fleet without
// environments.
func (w writer) environmentFaults(environment string) []finding.Finding {
	if len(w.Settings.Environments) > 0 || environment != "" {
		return nil
	}
	var all []finding.Finding
	for _, app := range w.Enabled() {
		if app.Environments.MayBeMissing() {
			found := app.Fault(fleet.BadEnvironment, "environments",
				app.Name+" is for "+strings.Join(w.EnvironmentsOf(app),
					", ")+" only, but the fleet has no environments, so it is deployed everywhere",
				"list them as fleet.environments in ladder.yaml, or use --environment")
			found.Severity = finding.Warning
			all = append(all, found)
		}
	}
	return all
}

// setOrderFaults returns findings about dependencies on a later set: the set of a cluster is
// rolled out before those of its environments, and cannot depend on them.
func (w writer) setOrderFaults(sets []fleet.Set) []finding.Finding {
	var all []finding.Finding
	if len(sets) < 2 {
		return nil
	}
	for _, l := range w.Links {
		from, to := w.Applications[l.From], w.Applications[l.To]
		if !l.Strength().NeedsEarlierStep() || !from.IsEnabled() || !to.IsEnabled() || !sets[0].Has(from) || sets[0].Has(to) {
			continue
		}
		severity := finding.Warning
		if l.IsCertain() {
			severity = finding.Error
		}
		all = append(all, finding.Finding{Severity: severity, Rule: finding.Rollout, File: from.File,
			Message: fmt.Sprintf("%s is for the whole cluster, but depends on %s, which comes later with each environment: %s",
				from.Name, to.Name, l.Reasons[0]),
			Remedy: "name the environments of " + from.Name + " in its component.yaml, so that each has its own"})
	}
	return all
}

// options returns the sync options of an Application: those of the fleet, overridden by its
// own.
func (w writer) options(app *fleet.Application) []string {
	own := app.SyncOptions
	if w.serverSide(app) {
		own = append([]string{"ServerSideApply=true"}, own...)
	}
	all := w.SyncOptions(own)
	var list []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list = append(list, name+"="+all[name])
	}
	return list
}

// serverSide reports whether an Application contains an object that is too large for
// client-side apply, which keeps it in an annotation.
func (w writer) serverSide(app *fleet.Application) bool {
	return slices.Contains(w.crdSteps(), w.FormatStep(app.Step)) || large(app)
}

// largeApplications returns, by name, the Applications that need server-side apply because of
// their content.
func (w writer) largeApplications() []string {
	if w.SyncOptions(nil)["ServerSideApply"] == "true" {
		return nil
	}
	var all []string
	steps := w.crdSteps()
	for _, app := range w.Enabled() {
		if large(app) && !slices.Contains(steps, w.FormatStep(app.Step)) {
			all = append(all, app.Name)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// annotationLimit is the size limit for all annotations of an object, in bytes
// (TotalAnnotationSizeLimitB of apimachinery).
const annotationLimit = 256 << 10

// large reports whether an Application contains an object that does not fit into an
// annotation, or a chart in a registry that is known to contain CRDs, whose size is unknown.
func large(a *fleet.Application) bool {
	if slices.ContainsFunc(a.KnownCharts(), func(c knowledge.Chart) bool {
		return len(c.Provides) > 0 && slices.Contains([]string{"crds", knowledge.Controllers}, c.Rung)
	}) {
		return true
	}
	return slices.ContainsFunc(a.Objects, func(o object.Object) bool {
		if len(o.Text()) <= annotationLimit/2 {
			return false // JSON is hardly twice as long as YAML
		}
		var v any
		if err := yaml.Unmarshal([]byte(o.Text()), &v); err != nil {
			return false
		}
		text, err := json.Marshal(v)
		return err == nil && len(text) > annotationLimit
	})
}

// crdSteps returns the steps in use that contain CRDs.
func (w writer) crdSteps() []string {
	only := map[string]bool{}
	for _, app := range w.Enabled() {
		place, _ := w.Profile.Place(app.Step.Number)
		isForCRDs := len(place.Rungs) > 0 && place.Rungs[0] == "crds"
		before, seen := only[w.FormatStep(app.Step)]
		only[w.FormatStep(app.Step)] = app.Step.Set && (isForCRDs || app.Rung == "crds" && (before || !seen))
	}
	var all []string
	for step, is := range only {
		if is {
			all = append(all, step)
		}
	}
	slices.Sort(all)
	return all
}

// patterns returns the patterns for the files that describe the components. If a pattern would
// match other files, too, each file is named.
func (w writer) patterns() []string {
	var all []string
	for _, dir := range w.Dirs {
		dir = path.Clean(dir)
		var own, inner bool
		for _, c := range w.Components {
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
	if len(w.Skipped) > 0 {
		all = nil
		for _, c := range w.Components {
			all = append(all, path.Join(c.Dir, component.File))
		}
	}
	return slices.Compact(all)
}

// reserved finds Applications with the name of a part of an app of apps: they would replace
// the parent, or the list of children.
func (w writer) reserved(sets []fleet.Set) []finding.Finding {
	taken := []string{rootFile, "kustomization", fleet.NameOf(w.Fleet)}
	for _, b := range w.Profile.Bands {
		taken = append(taken, w.Settings.ParentOf(fleet.NameOf(w.Fleet), b.Name))
	}
	taken = append(taken, w.Settings.ParentOf(fleet.NameOf(w.Fleet), "other"))
	var all []finding.Finding
	for _, s := range sets {
		for _, d := range w.deployments(s) {
			if slices.Contains(taken, d.Name) {
				all = append(all, d.Fault(finding.BadSettings, "name",
					fmt.Sprintf("%q is the name of a parent Application of the generated app of apps", d.Name), "rename the component"))
			}
		}
	}
	return all
}
