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

// fields returns the fields of an Application: those of the fleet, overridden by those of the
// component.
func (f *Fleet) fields(app *Application) component.ApplicationFields {
	return app.WithDefaults(f.Settings.ApplicationFields)
}

// common returns the fields that the fleet sets for every Application.
func (f *Fleet) common() component.ApplicationFields {
	return component.ApplicationFields{}.WithDefaults(f.Settings.ApplicationFields)
}

// put writes fields into an Application, or into the template for several. Labels are added
// elsewhere, because they include the step and the environment.
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

// automation returns the automated sync settings; nil for none.
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

// serverFor returns the cluster of an Application at a destination: the one that its component
// names, if the platform allows it.
func (f *Fleet) serverFor(app *Application, p place) string {
	if app.Server != "" && slices.Contains(f.Settings.Allow.Servers, app.Server) {
		return app.Server
	}
	return p.Server
}

// apart reports whether two Applications are deployed to different clusters. It ignores
// environments, which move both.
func (f *Fleet) apart(a, b *Application) bool {
	return f.serverOf(profile.Environment{Server: a.Server}) != f.serverOf(profile.Environment{Server: b.Server})
}

// chosenFields returns the fields that a component sets in its Application, as JSON.
type chosenFields struct {
	Dir  string
	JSON string
}

// chosenFields returns these fields for each component. They are fixed when the ApplicationSet
// is written, and selected by directory: this is the only property of a component that its
// file cannot change, so no other component gets the cluster or the automation of this one.
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

// destinationPatch replaces the cluster in a template: Argo CD rejects a destination with a
// URL and a name.
func destinationPatch(server string) map[string]any {
	d := cluster(server, "")
	if d.Name != "" {
		return map[string]any{"name": d.Name, "server": nil}
	}
	return map[string]any{"server": d.Server, "name": nil}
}

// asJSON converts a value of this package to JSON with the same keys as in YAML.
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

// platformSetting is the rule about settings that affect more than the Application of a
// component.
const platformSetting = "platform-setting"

// notAllowed finds settings of a component that the platform has to allow: another cluster,
// annotations that configure Argo CD and its add-ons, and metadata of a namespace, which
// affects the permissions of Pods and who can connect to them.
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
		refuse("server", app.Server, "servers", fmt.Sprintf("%s requests the cluster %q, which the platform does not allow", app.Name, app.Server))
	}
	for _, key := range slices.Sorted(maps.Keys(app.Annotations)) {
		if key == syncWave {
			all = append(all, app.fault(platformSetting, "annotations", "the annotation "+key+" holds the step of an app of apps", "remove it, and write "+f.Profile.Key))
		} else if f.reservedLabel().MatchString(key) && strings.Contains(key, "/") && !profile.Allows(allow.Annotations, key) {
			refuse("annotations", key, "annotations", fmt.Sprintf("the annotation %s configures Argo CD or one of its add-ons, and the platform does not allow components to set it", key))
		}
	}
	if m := app.ManagedNamespaceMetadata; m != nil {
		for _, key := range slices.Sorted(maps.Keys(m.Labels)) {
			if !profile.Allows(allow.NamespaceMetadata, key) {
				refuse("managedNamespaceMetadata.labels", key, "namespaceMetadata", fmt.Sprintf("only the platform may set the namespace label %s", key))
			}
		}
		for _, key := range slices.Sorted(maps.Keys(m.Annotations)) {
			if !profile.Allows(allow.NamespaceMetadata, key) {
				refuse("managedNamespaceMetadata.annotations", key, "namespaceMetadata", fmt.Sprintf("only the platform may set the namespace annotation %s", key))
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

// misset finds fields of the fleet that must not be set for every Application.
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
		fault(unsafeValue, "ignoreDifferences", "a value contains a template, which Argo CD would expand", "write the literal value")
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
