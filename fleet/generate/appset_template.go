package generate

import (
	"bytes"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	texttemplate "text/template"

	"github.com/ladder-cmp/ladder/argocd"
	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/lint"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/plugin"
)

// common returns the part that all Applications have in common.
func (w writer) common(s fleet.Set) argocd.Template {
	t := argocd.Template{
		Metadata: argocd.Metadata{Name: `{{ .values.name }}`, Labels: map[string]string{w.Profile.Label: `{{ .values.phase }}`},
			Finalizers: []string{cascade}},
		Spec: argocd.Spec{
			Project:     w.projectTemplate(),
			Destination: cluster(s.Destinations[0].Server, `{{ .values.namespace }}`),
			Source: &argocd.Source{RepoURL: w.Settings.RepoURL, TargetRevision: s.Destinations[0].Revision,
				Path: `{{ .path.path }}`, Plugin: &argocd.PluginSource{Name: plugin.Name}},
			SyncPolicy: argocd.SyncPolicy{Retry: w.defaultRetry()},
		},
	}
	maps.Copy(t.Metadata.Labels, w.Settings.Labels)
	put(component.ApplicationFields{}.WithDefaults(w.Settings.ApplicationFields), &t.Metadata, &t.Spec)
	for _, p := range w.parameters(s) {
		t.Spec.Source.Plugin.Parameters = append(t.Spec.Source.Plugin.Parameters,
			argocd.PluginParameter{Name: p.Name, String: "{{ " + p.Expression + " }}"})
	}
	if w.preserve {
		t.Metadata.Finalizers = nil
	}
	if w.split() {
		t.Metadata.Name += `{{ .values.suffix }}`
	}
	if s.HasNames() {
		if s.Suffixed {
			t.Metadata.Name += `-{{ .values.environment }}`
		}
		if s.HasEnvironmentLabel() {
			t.Metadata.Labels["environment"] = `{{ .values.environment }}`
		}
		t.Spec.Source.TargetRevision = `{{ .values.revision }}`
		t.Spec.Destination = argocd.Destination{Namespace: `{{ ` + environmentNamespace + ` }}`}
		if url := cluster(s.Destinations[0].Server, ""); url.Server != "" {
			t.Spec.Destination.Server = `{{ .values.cluster }}`
		} else {
			t.Spec.Destination.Name = `{{ .values.cluster }}`
		}
	}
	return t
}

// environmentNamespace is the expression for the destination namespace of a component in an
// environment, which package fleet computes in Go.
const environmentNamespace = `.values.environmentNamespace | default (print .values.namespace .values.namespaceSuffix)`

// projectTemplate returns the AppProject of every Application. Components can choose only among
// those that the platform allows.
func (w writer) projectTemplate() string {
	if len(w.Projects) == 0 {
		return w.Project()
	}
	allowed := make([]string, len(w.Projects))
	for i, name := range w.Projects {
		allowed[i] = strconv.Quote(name)
	}
	return fmt.Sprintf(`{{ $own := get . "project" }}{{ if has $own (list %s) }}{{ $own }}{{ else }}%s{{ end }}`,
		strings.Join(allowed, " "), w.Project())
}

// templateParameter is a parameter whose value is a template expression.
type templateParameter struct{ Name, Expression string }

// parameters returns the parameters of every Application of a set: the release name is that of
// the component, even if the Application is named after the environment, and the namespace that
// templates see is the destination.
func (w writer) parameters(s fleet.Set) []templateParameter {
	if !s.HasNames() {
		return nil
	}
	all := []templateParameter{{"name", ".values.name"}}
	if s.HasEnvironmentLabel() {
		all = append(all, templateParameter{"environment", ".values.environment"})
	}
	if s.HasSuffix() {
		all = append(all, templateParameter{"namespace", environmentNamespace})
	}
	return all
}

//go:embed templatepatch.tmpl
var templatePatchText string

var templatePatch = sync.OnceValue(func() *texttemplate.Template {
	return texttemplate.Must(texttemplate.New("").Delims("[[",
		"]]").Funcs(texttemplate.FuncMap{"quote": strconv.Quote}).Parse(templatePatchText))
})

// templatePatch returns the part that differs between Applications. Argo CD fills it in with the
// component.yaml of each.
func (w writer) templatePatch(s fleet.Set) string {
	type option struct{ Name, Value string }
	d := struct {
		LabelKey, ReservedKey string // regular expressions, quoted
		RepoURL               string
		Revision              string // an expression
		Options               []option
		CRDSteps, Large       []string
		Vendored              []string // names of components whose remote charts are vendored
		Addresses             []string // repositories of remote charts
		Split                 bool
		Parameters            []templateParameter
		Earlier               []*fleet.Application
		Retries               []retryGroup
		Fields                []chosenFields
		Native                []chosenFields
		Labelled              bool // Applications have an environment
		SourceOnly            bool
		Environments          string // values that environments set for remote charts, as JSON
	}{SourceOnly: w.template != nil, LabelKey: strconv.Quote(object.LabelKeyPattern),
		ReservedKey: strconv.Quote(lint.ReservedLabel(w.Fleet).String()), RepoURL: w.Settings.RepoURL,
		Revision: strconv.Quote(s.Destinations[0].Revision), CRDSteps: w.crdSteps(), Large: w.largeApplications(),
		Split: w.split(), Retries: w.retries(), Fields: w.chosenFieldsOf(), Native: w.nativeSources(), Labelled: s.HasEnvironmentLabel()}
	common := w.SyncOptions(nil)
	for _, name := range slices.Sorted(maps.Keys(common)) {
		d.Options = append(d.Options, option{name, common[name]})
	}
	if s.HasNames() {
		d.Revision = ".values.revision"
	}
	if s.HasEnvironmentLabel() {
		d.Environments = w.remoteEnvironments()
	}
	if d.Parameters = w.parameters(s); d.Parameters == nil {
		d.Parameters = []templateParameter{{"name", ".values.name"}}
	}
	for _, app := range w.Applications {
		if len(app.EarlierAPIVersions) > 0 {
			d.Earlier = append(d.Earlier, app)
		}
	}
	for _, c := range w.Components {
		switch {
		case !c.Chart.Remote():
		case c.Vendored:
			d.Vendored = append(d.Vendored, c.Name)
		default:
			d.Addresses = append(d.Addresses, c.Chart.RepoURL)
		}
	}
	slices.Sort(d.Addresses)
	d.Addresses = slices.Compact(d.Addresses)
	var b bytes.Buffer
	if err := templatePatch().Execute(&b, d); err != nil {
		panic(err) // the template uses only fields of d, and writing to memory cannot fail
	}
	return b.String()
}
