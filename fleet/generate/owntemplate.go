package generate

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/argocd"
	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/settings"
	"github.com/ladder-cmp/ladder/internal/textedit"
	"github.com/ladder-cmp/ladder/object"
)

// OwnTemplate is an Application or ApplicationSet that the user wrote. Ladder sets only the
// fields that determine the order and the source; all others are unchanged.
type OwnTemplate struct {
	file, text string
	object.Object
}

// NewOwnTemplate reads a template of the given kind.
func NewOwnTemplate(file, kind string, text []byte) (*OwnTemplate, error) {
	fault := func(field, message, remedy string) error {
		return finding.Finding{Severity: finding.Error, Rule: finding.BadSettings, File: file, Field: field, Message: message, Remedy: remedy}
	}
	objs, err := object.Parse(file, 1, string(text))
	if err != nil {
		return nil, err
	}
	if len(objs) != 1 {
		return nil, fault("", fmt.Sprintf("the file contains %s instead of one %s", finding.Counted(len(objs), "object"), kind),
			"keep one of them")
	}
	t := &OwnTemplate{file, string(text), objs[0]}
	if t.ID.Group != argocd.Group || t.ID.Kind != kind {
		return nil, fault("kind", fmt.Sprintf("must be %s.%s, not %s", kind, argocd.Group, t.ID.GroupKind()), "name a file with an "+kind)
	}
	for _, path := range [][]string{{"spec"}, {"metadata"}} {
		if !t.Get(path...).IsMap() {
			return nil, fault(path[0], "the field is missing or not a mapping", "add it")
		}
	}
	if kind == "ApplicationSet" && !t.Get("spec", "template").IsMap() {
		return nil, fault("spec.template", "the field is missing or not a mapping", "add the template of the Applications")
	}
	return t, nil
}

// fault returns an error about a field of the template.
func (t *OwnTemplate) fault(field, message, remedy string) error {
	return finding.Finding{Severity: finding.Error, Rule: finding.BadSettings, File: t.file, Field: field, Message: message, Remedy: remedy}
}

// field is a field to set; a nil value removes it.
type field struct {
	value any
	path  []string
}

// with returns a manifest with some fields set.
func (t *OwnTemplate) with(file string, fields ...field) (Manifest, error) {
	text := t.text
	for _, f := range fields {
		var err error
		if text, err = textedit.SetField(text, f.value, f.path...); err != nil {
			return Manifest{}, t.fault(strings.Join(f.path, "."), "cannot set the field: "+err.Error(), "simplify the file")
		}
	}
	m, err := ParseManifest(file, text)
	m.Text = strings.TrimPrefix(text, "---\n")
	return m, err
}

// ownSet writes the steps and sources of a generated ApplicationSet into the template.
func (w writer) ownSet(s fleet.Set, generated argocd.ApplicationSet) (Manifest, error) {
	t := w.template
	if !t.Get("spec", "goTemplate").True() {
		return Manifest{}, t.fault("spec.goTemplate", "must be true: the step of a component is computed with a Go template",
			"set it, and write parameters like {{ .path.basename }}")
	}
	if err := t.incomplete(s.HasNames()); err != nil {
		return Manifest{}, err
	}
	name := t.Get("spec", "template", "metadata", "name").Text()
	for _, needed := range []struct {
		is    bool
		value string
	}{{w.split(), ".values.suffix"}, {s.HasNames() && s.Suffixed, ".values.environment"}} {
		if needed.is && !strings.Contains(name, needed.value) {
			return Manifest{}, t.fault("spec.template.metadata.name",
				fmt.Sprintf("does not contain {{ %s }}, so two Applications have the same name", needed.value),
				"add it, such as "+generated.Spec.Template.Metadata.Name)
		}
	}
	patch := w.sourcePatch(s)
	if patch != "" && t.Get("spec", "templatePatch").Text() != "" {
		return Manifest{}, t.fault("spec.templatePatch",
			"the fleet needs this field for its sources: it has charts of other repositories, or components with crds: split or capabilities: fleet",
			"move the content of the field to spec.template, or vendor the charts")
	}
	fields := []field{
		{generated.Spec.Generators, []string{"spec", "generators"}},
		{generated.Spec.Strategy.Type, []string{"spec", "strategy", "type"}},
		{generated.Spec.Strategy.RollingSync, []string{"spec", "strategy", "rollingSync"}},
		{generated.Spec.Template.Metadata.Labels[w.Profile.Label], []string{"spec", "template", "metadata", "labels", w.Profile.Label}},
		{nil, []string{"spec", "template", "spec", "sources"}},
		{generated.Spec.Template.Spec.Source, []string{"spec", "template", "spec", "source"}},
	}
	if s.HasNames() {
		fields = append(fields, field{generated.Spec.Template.Spec.Destination, []string{"spec", "template", "spec", "destination"}})
	}
	if patch != "" {
		fields = append(fields, field{patch, []string{"spec", "templatePatch"}})
	}
	return t.with(s.Name, fields...)
}

// sourcePatch returns the part of templatePatch that sets the sources. It is empty if the
// sources need no patch.
func (w writer) sourcePatch(s fleet.Set) string {
	remote := slices.ContainsFunc(w.Components, func(c *fleet.Component) bool { return c.Chart.Remote() && !c.Vendored })
	earlier := slices.ContainsFunc(w.Applications, func(a *fleet.Application) bool { return len(a.EarlierAPIVersions) > 0 })
	if !remote && !earlier && !w.split() {
		return ""
	}
	return w.templatePatch(s)
}

// ownChild writes the wave and the sources of a generated Application into the template.
func (w writer) ownChild(d fleet.Deployment, file string, generated argocd.Application) (Manifest, error) {
	t := w.template
	if err := t.incomplete(d.To.Name != ""); err != nil {
		return Manifest{}, err
	}
	fields := []field{
		{generated.Metadata.Name, []string{"metadata", "name"}},
		{generated.Metadata.Annotations[object.SyncWave], []string{"metadata", "annotations", object.SyncWave}},
		{generated.Spec.Destination.Namespace, []string{"spec", "destination", "namespace"}},
	}
	if t.ID.Namespace == "" {
		fields = append(fields, field{generated.Metadata.Namespace, []string{"metadata", "namespace"}})
	}
	for _, key := range []string{w.Profile.Label, "environment"} {
		if value, is := generated.Metadata.Labels[key]; is {
			fields = append(fields, field{value, []string{"metadata", "labels", key}})
		}
	}
	if project := w.ProjectOf(d.Application); project != w.Project() {
		fields = append(fields, field{project, []string{"spec", "project"}})
	}
	if d.To.Name != "" {
		fields = append(fields, field{generated.Spec.Destination, []string{"spec", "destination"}})
	}
	if generated.Spec.Source != nil {
		fields = append(fields, field{nil, []string{"spec", "sources"}}, field{generated.Spec.Source, []string{"spec", "source"}})
	} else {
		fields = append(fields, field{nil, []string{"spec", "source"}}, field{generated.Spec.Sources, []string{"spec", "sources"}})
	}
	return t.with(file, fields...)
}

// incomplete returns the first field that a template must have and that Ladder does not write.
// hasDestination is true if Ladder writes the destination.
func (t *OwnTemplate) incomplete(hasDestination bool) error {
	spec := []string{"spec"}
	if t.ID.Kind == "ApplicationSet" {
		spec = []string{"spec", "template", "spec"}
		if name := t.Get("spec", "template", "metadata", "name").Text(); !strings.Contains(name, "{{") {
			return t.fault("spec.template.metadata.name",
				"the name contains no parameter, so all Applications have the same name", "write {{ .values.name }} into it")
		}
	}
	field := func(path ...string) (name, text string) {
		path = slices.Concat(spec, path)
		return strings.Join(path, "."), t.Get(path...).Text()
	}
	if name, text := field("project"); text == "" {
		return t.fault(name, "the field is missing, and Argo CD refuses an Application without it", "add the AppProject")
	}
	name, server := field("destination", "server")
	if _, cluster := field("destination", "name"); server == "" && cluster == "" && !hasDestination {
		return t.fault(strings.TrimSuffix(name, ".server"), `neither "server" nor "name" is set, so the cluster is unknown`,
			"add one of them")
	}
	if name, text := field("destination", "namespace"); text == "" && !hasDestination && t.ID.Kind == "ApplicationSet" {
		return t.fault(name, "the field is missing, so objects without a namespace have no destination", "write {{ .values.namespace }}")
	}
	return nil
}

// ineffective finds keys of component.yaml and of the fleet that a template overrides, one
// finding for each file.
func (w writer) ineffective() []finding.Finding {
	t := w.template
	if t == nil {
		return nil
	}
	var all []finding.Finding
	note := func(file string, line int, prefix string, keys []string) {
		if len(keys) > 0 {
			all = append(all, finding.Finding{Severity: finding.Warning, Rule: finding.BadSettings, File: file, Line: line,
				Field:   prefix + keys[0],
				Message: strings.Join(keys, ", ") + ": no effect with --template, because the fields of " + t.file + " apply",
				Remedy:  "set them in " + t.file + ", or remove them"})
		}
	}
	keys := fieldsOf(w.Settings.ApplicationFields)
	if len(w.Settings.SyncOptions) > 0 {
		keys = append(keys, "syncOptions")
	}
	note(w.Settings.File, w.Settings.Line, "fleet.", keys)
	for _, app := range w.Enabled() {
		if app.Part == crds.Only { // the file is checked once
			continue
		}
		keys := fieldsOf(app.ApplicationFields)
		for _, key := range []string{"syncOptions", "server"} {
			if app.Line(key) > 0 {
				keys = append(keys, key)
			}
		}
		if app.Line("project") > 0 && t.ID.Kind == "ApplicationSet" {
			keys = append(keys, "project")
		}
		if len(keys) > 0 {
			note(app.File, app.Line(keys[0]), "", keys)
		}
	}
	return all
}

// fieldsOf lists the keys of the fields that are set.
func fieldsOf(x component.ApplicationFields) []string {
	var keys []string
	for _, k := range settings.Keys(reflect.TypeOf(x)) {
		if !reflect.ValueOf(x).FieldByIndex(k.Index).IsZero() {
			keys = append(keys, k.Name)
		}
	}
	return keys
}
