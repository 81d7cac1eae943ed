package lint

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/appset"
	"github.com/ladder-cmp/ladder/fleet/profile"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/render"
	"github.com/ladder-cmp/ladder/render/helm"
)

// notNative is the rule about components that need the plugin, or a chart in the repository.
const notNative finding.Rule = "not-native"

// Settings finds what prevents a rollout in the settings of a fleet, and in the component.yaml files
// of what it deploys: Argo CD would report it too late or not at all.
func Settings(f *fleet.Fleet) []finding.Finding {
	all := invalidFleetFields(f)
	for _, app := range f.Enabled() {
		all = slices.Concat(all, Refused(f, app), settingFaultsIn(f, app), missingValues(app))
	}
	return all
}

// NameFaults reports an invalid name of an Application.
func NameFaults(a *fleet.Application, name string) []finding.Finding {
	if object.IsName(name) {
		return nil
	}
	return []finding.Finding{a.Fault(helm.BadName, "name", fmt.Sprintf("%q is not a valid Application name", name),
		"use lowercase letters, digits and \"-\"")}
}

// settingFaultsIn finds settings that Argo CD or Kubernetes interprets differently than
// intended, or ignores. The file of a component in two parts is checked once.
func settingFaultsIn(f *fleet.Fleet, app *fleet.Application) []finding.Finding {
	if app.Part == crds.Only {
		return nil
	}
	var all []finding.Finding
	for key, step := range map[string]component.Step{app.StepKey(): app.Component.Step(), "crdsPhase": app.CRDsPhase} {
		if step.Ambiguous {
			all = append(all, app.Fault(appset.NoStep, key,
				fmt.Sprintf("Argo CD reads %s without quotes as the octal number %d", step.Text, step.Other), fmt.Sprintf("write %q", step.Text)))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(app.AllLabels())) {
		value := app.AllLabels()[key]
		var found finding.Finding
		switch {
		case key == f.Profile.Label:
			found = app.Fault(reservedLabel, "labels",
				"the label "+key+" contains the step, by which the rollout selects the Application", "remove it, and use "+f.Profile.Key)
		case isReserved(f, key):
			found = app.Fault(reservedLabel, "labels", "the label "+key+" is reserved: Argo CD or the rollout selects by it", "remove it")
		case !object.IsLabelKey(key):
			found = app.Fault(helm.BadName, "labels", fmt.Sprintf("%q is not a valid label name", key),
				"use letters, digits, \"-\", \"_\" and \".\", at most 63")
		case !object.IsLabelValue(value):
			found = app.Fault(helm.BadName, key, fmt.Sprintf("%q is not a valid label value", value),
				"use letters, digits, \"-\", \"_\" and \".\", at most 63")
			found.Line = cmp.Or(found.Line, app.Line("labels"))
		default:
			continue
		}
		found.About = key
		all = append(all, found)
	}
	for _, key := range slices.Sorted(maps.Keys(app.Annotations)) {
		if !object.IsLabelKey(key) {
			all = append(all, app.Fault(helm.BadName, "annotations", fmt.Sprintf("%q is not a valid annotation name", key),
				"use letters, digits, \"-\", \"_\" and \".\", at most 63"))
		}
	}
	if len(f.Settings.Environments) > 0 {
		for _, e := range app.Environments.Names() {
			if !slices.ContainsFunc(f.Settings.Environments, func(known profile.Environment) bool { return known.Name == e }) {
				found := app.Fault(fleet.BadEnvironment, "environments", fmt.Sprintf("unknown environment %q", e),
					"correct it, or add it to fleet.environments")
				found.Severity = finding.Warning
				all = append(all, found)
			}
		}
	}
	if app.Render == component.Native && slices.Contains([]render.Kind{render.Template, render.HelmKustomize, render.Tree}, app.Kind) {
		all = append(all, app.Fault(notNative, "render", fmt.Sprintf("Argo CD cannot render %s without the plugin", app.Kind.Article()),
			"remove render: "+component.Native))
	}
	if app.Component.Chart.Remote() && !app.Vendored && app.CRDs == component.Split {
		all = append(all, app.Fault(notNative, "crds",
			"the chart is in another repository, and only charts in this repository can be split",
			"run cmp vendor, put the chart into this repository, or remove crds: split"))
	}
	return all
}

// notAllowed finds settings of a component that the platform has to allow: another cluster,
// annotations that configure Argo CD and its add-ons, and metadata of a namespace, which
// affects the permissions of Pods and who can connect to them.
func notAllowed(f *fleet.Fleet, app *fleet.Application) []finding.Finding {
	if app.Part == crds.Only { // the file is checked once
		return nil
	}
	all := slices.Clone(app.Refused)
	allow := f.Settings.Allow
	refuse := func(field, value, list, message string) {
		all = append(all, app.Fault(platformSetting, field, message,
			fmt.Sprintf("remove it, or add %q to fleet.allow.%s of the platform's ladder.yaml", value, list)))
	}
	switch {
	case app.Server == "":
	case len(f.Settings.Environments) > 0:
		all = append(all, app.Fault(platformSetting, "server", "the fleet has environments, which decide the cluster", `remove "server"`))
	case !slices.Contains(allow.Servers, app.Server):
		refuse("server", app.Server, "servers",
			fmt.Sprintf("%s requests the cluster %q, which the platform does not allow", app.Name, app.Server))
	}
	for _, key := range slices.Sorted(maps.Keys(app.Annotations)) {
		if key == object.SyncWave {
			all = append(all, app.Fault(platformSetting, "annotations",
				"the annotation "+key+" contains the step of an app of apps", "remove it, and write "+f.Profile.Key))
		} else if isReserved(f, key) && strings.Contains(key, "/") && !profile.Allows(allow.Annotations, key) {
			refuse("annotations", key, "annotations",
				fmt.Sprintf("the annotation %s configures Argo CD or one of its add-ons, and the platform does not allow components to set it", key))
		}
	}
	if m := app.ManagedNamespaceMetadata; m != nil {
		for _, key := range slices.Sorted(maps.Keys(m.Labels)) {
			if !profile.Allows(allow.NamespaceMetadata, key) {
				refuse("managedNamespaceMetadata.labels", key, "namespaceMetadata",
					fmt.Sprintf("only the platform may set the namespace label %s", key))
			}
		}
		for _, key := range slices.Sorted(maps.Keys(m.Annotations)) {
			if !profile.Allows(allow.NamespaceMetadata, key) {
				refuse("managedNamespaceMetadata.annotations", key, "namespaceMetadata",
					fmt.Sprintf("only the platform may set the namespace annotation %s", key))
			}
		}
	}
	return all
}

// platformSettings finds components with settings that the platform does not allow.
func (l *checker) platformSettings() []fault {
	return l.each(func(app *fleet.Application) []finding.Finding { return notAllowed(l.Fleet, app) })
}

// invalidFleetFields finds fields of the fleet that must not be set for every Application.
func invalidFleetFields(f *fleet.Fleet) []finding.Finding {
	var all []finding.Finding
	fault := func(rule finding.Rule, field, message, remedy string) {
		all = append(all, finding.Finding{Severity: finding.Error, Rule: rule, File: f.Settings.File, Line: f.Settings.Line,
			Field: "fleet." + field, Message: message, Remedy: remedy})
	}
	for _, key := range slices.Sorted(maps.Keys(f.Settings.Labels)) {
		if isReserved(f, key) {
			fault(reservedLabel, "labels", "the label "+key+" is reserved: Argo CD or the rollout selects by it", "remove it")
		}
	}
	if _, is := f.Settings.Annotations[object.SyncWave]; is {
		fault(platformSetting, "annotations", "the annotation "+object.SyncWave+" contains the step of an app of apps", "remove it")
	}
	if text, err := yaml.Marshal(f.Settings.ApplicationFields); err == nil && bytes.Contains(text, []byte("{{")) {
		fault(helm.BadName, "ignoreDifferences", "a value contains a template, which Argo CD would expand", "write the literal value")
	}
	return all
}
