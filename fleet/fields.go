package fleet

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/profile"
)

// fields are those of an Application: the fleet's, and over them its component's.
func (f *Fleet) fields(app *Application) component.ApplicationFields {
	return app.Over(f.Settings.ApplicationFields)
}

// common are the fields of every Application that the fleet sets.
func (f *Fleet) common() component.ApplicationFields {
	return component.ApplicationFields{}.Over(f.Settings.ApplicationFields)
}

// put writes fields into an Application, or into the template for some. Labels come from
// elsewhere, since a step and an environment join them.
func put(x component.ApplicationFields, m *metadata, spec *applicationSpec) {
	if len(x.Annotations) > 0 {
		if m.Annotations == nil {
			m.Annotations = map[string]string{}
		}
		maps.Copy(m.Annotations, x.Annotations)
	}
	spec.IgnoreDifferences, spec.Info, spec.RevisionHistoryLimit = x.IgnoreDifferences, x.Info, x.RevisionHistoryLimit
	spec.SyncPolicy.Automated, spec.SyncPolicy.ManagedNamespaceMetadata = automation(x.Automated), x.ManagedNamespaceMetadata
}

// automation is what Argo CD does without being told; nil for nothing.
func automation(a *component.Automated) *automated {
	made := automated{Prune: true, SelfHeal: true}
	if a == nil {
		return &made
	}
	if a.Enabled != nil && !*a.Enabled {
		return nil
	}
	if a.Prune != nil {
		made.Prune = *a.Prune
	}
	if a.SelfHeal != nil {
		made.SelfHeal = *a.SelfHeal
	}
	made.AllowEmpty = a.AllowEmpty != nil && *a.AllowEmpty
	return &made
}

// serverFor is the cluster of an Application at a place: the one that its component names,
// where the platform allows that.
func (f *Fleet) serverFor(app *Application, p place) string {
	if app.Server != "" && slices.Contains(f.Settings.Allow.Servers, app.Server) {
		return app.Server
	}
	return p.Server
}

// apart reports whether two Applications go to different clusters. Environments are not
// looked at: they move both.
func (f *Fleet) apart(a, b *Application) bool {
	return f.serverOf(profile.Environment{Server: a.Server}) != f.serverOf(profile.Environment{Server: b.Server})
}

// chosenFields are what a component writes into its Application, as JSON.
type chosenFields struct {
	Dir  string
	JSON string
}

// chosenFields are those of each component. They are fixed when the ApplicationSet is
// written, and found by the directory: it is the one thing about a component that its
// file cannot change, and so no other component gets the cluster or the automation of
// this one.
func (f *Fleet) chosenFields() []chosenFields {
	var all []chosenFields
	for _, c := range f.Components {
		app := &Application{Component: c}
		x, own := f.fields(app), c.ApplicationFields
		annotations, spec, policy := map[string]any{}, map[string]any{}, map[string]any{}
		for key, value := range own.Annotations {
			annotations[key] = value
		}
		if len(own.IgnoreDifferences) > 0 {
			spec["ignoreDifferences"] = x.IgnoreDifferences
		}
		if len(own.Info) > 0 {
			spec["info"] = x.Info
		}
		if own.RevisionHistoryLimit != nil {
			spec["revisionHistoryLimit"] = x.RevisionHistoryLimit
		}
		if c.Server != "" {
			spec["destination"] = destinationPatch(f.serverFor(app, place{Server: f.Settings.Server}))
		}
		if own.Automated != nil {
			policy["automated"] = automation(x.Automated)
		}
		if own.ManagedNamespaceMetadata != nil {
			policy["managedNamespaceMetadata"] = x.ManagedNamespaceMetadata
		}
		if len(annotations)+len(spec)+len(policy) == 0 {
			continue
		}
		all = append(all, chosenFields{c.Dir, asJSON(map[string]any{"annotations": annotations, "spec": spec, "syncPolicy": policy})})
	}
	return all
}

// destinationPatch takes the place of the cluster in a template: Argo CD refuses one that
// has a URL and a name.
func destinationPatch(server string) map[string]any {
	d := cluster(server, "")
	if d.Name != "" {
		return map[string]any{"name": d.Name, "server": nil}
	}
	return map[string]any{"server": d.Server, "name": nil}
}

// asJSON writes a value of this package as YAML has it: with the same keys.
func asJSON(value any) string {
	var plain any
	if err := encoded(value).Decode(&plain); err != nil {
		panic(err) // what was just encoded
	}
	text, err := json.Marshal(plain)
	if err != nil {
		panic(err) // mappings with keys that are texts
	}
	return string(text)
}

// platformSetting is the rule about what reaches beyond the Application of a component.
const platformSetting = "platform-setting"

// notAllowed finds the settings of a component that the platform has to allow: another
// cluster, annotations that Argo CD and its companions obey, and metadata of a namespace,
// which decides what Pods there may do and who reaches them.
func (f *Fleet) notAllowed(app *Application) []finding.Finding {
	var all []finding.Finding
	allow := f.Settings.Allow
	refuse := func(field, value, list, message string) {
		all = append(all, app.fault(platformSetting, field, message, fmt.Sprintf("remove it, or add %q to fleet.allow.%s of the platform's ladder.yaml", value, list)))
	}
	switch {
	case app.Server == "":
	case len(f.Settings.Environments) > 0:
		all = append(all, app.fault(platformSetting, "server", "the fleet has environments, which decide the cluster", "remove server"))
	case !slices.Contains(allow.Servers, app.Server):
		refuse("server", app.Server, "servers", fmt.Sprintf("%s asks for the cluster %q, which the platform does not allow", app.Name, app.Server))
	}
	for _, key := range slices.Sorted(maps.Keys(app.Annotations)) {
		if key == syncWave {
			all = append(all, app.fault(platformSetting, "annotations", "the annotation "+key+" holds the step of an app of apps", "remove it, and write "+f.Profile.Key))
		} else if f.reservedLabel().MatchString(key) && strings.Contains(key, "/") && !profile.Allows(allow.Annotations, key) {
			refuse("annotations", key, "annotations", fmt.Sprintf("Argo CD or a program next to it obeys the annotation %s, and the platform does not allow it", key))
		}
	}
	if m := app.ManagedNamespaceMetadata; m != nil {
		for _, key := range slices.Sorted(maps.Keys(m.Labels)) {
			if !profile.Allows(allow.NamespaceMetadata, key) {
				refuse("managedNamespaceMetadata.labels", key, "namespaceMetadata", fmt.Sprintf("the label %s of a namespace is for the platform to decide, which does not allow it", key))
			}
		}
		for _, key := range slices.Sorted(maps.Keys(m.Annotations)) {
			if !profile.Allows(allow.NamespaceMetadata, key) {
				refuse("managedNamespaceMetadata.annotations", key, "namespaceMetadata", fmt.Sprintf("the annotation %s of a namespace is for the platform to decide, which does not allow it", key))
			}
		}
	}
	return all
}

// platformSettings finds components with settings that the platform does not allow.
func (l *lint) platformSettings() []fault {
	var all []fault
	for _, app := range l.Applications {
		if app.Part != crds.Only { // the file is looked at once
			for _, found := range l.notAllowed(app) {
				all = append(all, fault{of: app.Name, Finding: found})
			}
		}
	}
	return all
}

// misset finds fields of the fleet that cannot be in every Application.
func (f *Fleet) misset() []finding.Finding {
	var all []finding.Finding
	fault := func(rule, field, message, remedy string) {
		all = append(all, finding.Finding{Severity: finding.Error, Rule: rule, File: f.Settings.File, Line: f.Settings.Line, Field: "fleet." + field, Message: message, Remedy: remedy})
	}
	for _, key := range slices.Sorted(maps.Keys(f.Settings.Labels)) {
		if f.reservedLabel().MatchString(key) {
			fault(reservedLabel, "labels", "the label "+key+" is reserved: Argo CD or the rollout selects by it", "remove it")
		}
	}
	if _, is := f.Settings.Annotations[syncWave]; is {
		fault(platformSetting, "annotations", "the annotation "+syncWave+" holds the step of an app of apps", "remove it")
	}
	if text := asJSON(f.Settings.ApplicationFields); strings.Contains(text, "{{") {
		fault(unsafeValue, "ignoreDifferences", "a value contains a template, which Argo CD would fill in", "write a plain value")
	}
	return all
}

// unautomated: Argo CD syncs what is in a step, whether its syncs are automated or not.
func (f *Fleet) unautomated() []finding.Finding {
	var all []finding.Finding
	for _, app := range f.Enabled() {
		place, _ := f.Profile.Place(app.Phase.Number)
		if automation(f.fields(app).Automated) == nil && !place.Manual {
			found := app.fault("automated-in-steps", "automated", "automated syncs are off, but Argo CD syncs the Applications of a step itself", "put it at a place with manual: true, or use cmp fleet apps")
			found.Severity = finding.Warning
			all = append(all, found)
		}
	}
	return all
}
