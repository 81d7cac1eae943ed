package fleet

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	texttemplate "text/template"
)

// template is the part that all Applications have in common.
func (f *Fleet) template(s set, opt SetOptions) template {
	t := template{
		Metadata: metadata{Name: `{{ .values.name }}`, Labels: map[string]string{f.Profile.Label: `{{ .values.phase }}`}, Finalizers: []string{cascade}},
		Spec: applicationSpec{
			Project:     f.projectTemplate(),
			Destination: cluster(s.places[0].Server, `{{ .values.namespace }}`),
			Source:      &source{RepoURL: cmp.Or(opt.RepoURL, f.Settings.RepoURL), TargetRevision: s.places[0].Revision, Path: `{{ .path.path }}`, Plugin: &pluginSource{Name: pluginName}},
			SyncPolicy:  syncPolicy{Retry: f.patient()},
		},
	}
	maps.Copy(t.Metadata.Labels, f.Settings.Labels)
	put(f.common(), &t.Metadata, &t.Spec)
	for _, p := range f.parameters(s) {
		t.Spec.Source.Plugin.Parameters = append(t.Spec.Source.Plugin.Parameters, pluginParameter{Name: p.Name, String: "{{ " + p.Expression + " }}"})
	}
	if opt.Preserve {
		t.Metadata.Finalizers = nil
	}
	if f.split() {
		t.Metadata.Name += `{{ .values.suffix }}`
	}
	if s.named() {
		if s.suffixed {
			t.Metadata.Name += `-{{ .values.environment }}`
		}
		if s.labelled() {
			t.Metadata.Labels["environment"] = `{{ .values.environment }}`
		}
		t.Spec.Source.TargetRevision = `{{ .values.revision }}`
		t.Spec.Destination = destination{Namespace: `{{ ` + namespaceThere + ` }}`}
		if url := cluster(s.places[0].Server, ""); url.Server != "" {
			t.Spec.Destination.Server = `{{ .values.cluster }}`
		} else {
			t.Spec.Destination.Name = `{{ .values.cluster }}`
		}
	}
	return t
}

// namespaceThere is the expression for the destination namespace of a component in an
// environment, which [place.namespaceOf] computes in Go.
const namespaceThere = `.values.environmentNamespace | default (print .values.namespace .values.namespaceSuffix)`

// projectTemplate is the AppProject of every Application. Components can choose only among
// those that the platform allows.
func (f *Fleet) projectTemplate() string {
	if len(f.Projects) == 0 {
		return f.project()
	}
	allowed := make([]string, len(f.Projects))
	for i, name := range f.Projects {
		allowed[i] = strconv.Quote(name)
	}
	return fmt.Sprintf(`{{ $own := get . "project" }}{{ if has $own (list %s) }}{{ $own }}{{ else }}%s{{ end }}`, strings.Join(allowed, " "), f.project())
}

// templated is a parameter whose value is a template expression.
type templated struct{ Name, Expression string }

// parameters are the parameters of every Application of a set: the release name is that of the
// component, even if the Application is named after the environment, and the namespace that
// templates see is the destination.
func (f *Fleet) parameters(s set) []templated {
	if !s.named() {
		return nil
	}
	all := []templated{{"name", ".values.name"}}
	if s.labelled() {
		all = append(all, templated{"environment", ".values.environment"})
	}
	if s.moved() {
		all = append(all, templated{"namespace", namespaceThere})
	}
	return all
}

//go:embed templatepatch.tmpl
var templatePatchText string

var templatePatch = texttemplate.Must(texttemplate.New("").Delims("[[", "]]").Funcs(texttemplate.FuncMap{"quote": strconv.Quote}).Parse(templatePatchText))

// templatePatch contains what differs between Applications. Argo CD fills it in with the
// component.yaml of each.
func (f *Fleet) templatePatch(s set, opt SetOptions) string {
	type option struct{ Name, Value string }
	d := struct {
		LabelKey, ReservedKey string // regular expressions, quoted
		RepoURL               string
		Revision              string // an expression
		Options               []option
		Definitions, Large    []string
		Vendored              []string // whose charts from elsewhere lie beside them
		Addresses             []string // of charts from elsewhere
		Split                 bool
		Parameters            []templated
		Earlier               []*Application
		Retries               []retried
		Fields                []chosenFields
		SourceOnly            bool
		Environments          string // what they set for charts from elsewhere, as JSON
	}{SourceOnly: opt.Template != nil, LabelKey: strconv.Quote(labelKey.String()), ReservedKey: strconv.Quote(f.reservedLabel().String()), RepoURL: cmp.Or(opt.RepoURL, f.Settings.RepoURL),
		Revision: strconv.Quote(s.places[0].Revision), Definitions: f.definitionPhases(), Large: f.largeApplications(), Split: f.split(), Retries: f.retries(), Fields: f.chosenFields()}
	common := f.commonOptions()
	for _, name := range slices.Sorted(maps.Keys(common)) {
		d.Options = append(d.Options, option{name, common[name]})
	}
	if s.named() {
		d.Revision = ".values.revision"
	}
	if s.labelled() {
		d.Environments = f.remoteEnvironments()
	}
	if d.Parameters = f.parameters(s); d.Parameters == nil {
		d.Parameters = []templated{{"name", ".values.name"}}
	}
	for _, app := range f.Applications {
		if len(app.Earlier) > 0 {
			d.Earlier = append(d.Earlier, app)
		}
	}
	for _, c := range f.Components {
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
	if err := templatePatch.Execute(&b, d); err != nil {
		panic(err) // the template names fields of d only, and memory takes all
	}
	return b.String()
}
