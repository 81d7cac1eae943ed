package generate

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/argocd"
	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/internal/finding"
)

// fields returns the fields of an Application: those of the fleet, overridden by those of the
// component.
func (w writer) fields(app *fleet.Application) component.ApplicationFields {
	return app.WithDefaults(w.Settings.ApplicationFields)
}

// put writes fields into an Application, or into the template for several. Labels are added by
// childLabels and common, because they include the step and the environment.
func put(x component.ApplicationFields, m *argocd.Metadata, spec *argocd.Spec) {
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
func automation(a *component.Automated) *argocd.Automated {
	settings := argocd.Automated{Prune: true, SelfHeal: true}
	if a == nil {
		return &settings
	}
	if a.Enabled != nil && !*a.Enabled {
		return nil
	}
	if a.Prune != nil {
		settings.Prune = *a.Prune
	}
	if a.SelfHeal != nil {
		settings.SelfHeal = *a.SelfHeal
	}
	settings.AllowEmpty = a.AllowEmpty != nil && *a.AllowEmpty
	return &settings
}

// serverFor returns the cluster of an Application at a destination: the one that its component
// names, if the platform allows it.
func (w writer) serverFor(app *fleet.Application, p fleet.Destination) string {
	if app.Server != "" && slices.Contains(w.Settings.Allow.Servers, app.Server) {
		return app.Server
	}
	return p.Server
}

// chosenFields are the fields that a component sets in its Application.
type chosenFields struct {
	Dir  string
	JSON string
}

// chosenFieldsOf returns these fields for each component. They are fixed when the ApplicationSet
// is written, and selected by directory: this is the only property of a component that its file
// cannot change, so no other component gets the cluster or the automation of this one.
func (w writer) chosenFieldsOf() []chosenFields {
	var all []chosenFields
	for _, c := range w.Components {
		app := &fleet.Application{Component: c}
		x, own := w.fields(app), c.ApplicationFields
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
			spec["destination"] = destinationPatch(w.serverFor(app, fleet.Destination{Server: w.Settings.Server}))
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
	var n yaml.Node
	var plain any
	text, err := []byte(nil), n.Encode(value)
	if err == nil {
		err = n.Decode(&plain)
	}
	if err == nil {
		text, err = json.Marshal(plain)
	}
	if err != nil {
		panic(err) // all keys of these mappings are strings
	}
	return string(text)
}

// withoutAutomatedSync returns findings about Applications without automated sync, because Argo
// CD syncs the Applications of a step in any case.
func (w writer) withoutAutomatedSync() []finding.Finding {
	var all []finding.Finding
	for _, app := range w.Enabled() {
		place, _ := w.Profile.Place(app.Step.Number)
		if automation(w.fields(app).Automated) == nil && !place.Manual {
			found := app.Fault(finding.Rollout, "automated",
				"automated syncs are off, but Argo CD syncs the Applications of a step itself",
				"put it at a place with manual: true, or use cmp fleet apps --style waves")
			found.Severity = finding.Warning
			all = append(all, found)
		}
	}
	return all
}

// cluster returns the destination for a server, which is a URL or a name.
func cluster(server, namespace string) argocd.Destination {
	if server == "" {
		server = argocd.InCluster
	}
	if strings.Contains(server, "://") || strings.Contains(server, "{{") {
		return argocd.Destination{Server: server, Namespace: namespace}
	}
	return argocd.Destination{Name: server, Namespace: namespace}
}

// cascade is the finalizer with which Argo CD deletes the resources of an Application
// before the Application.
const cascade = "resources-finalizer.argocd.argoproj.io"
