package generate

import (
	"reflect"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/settings"
)

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
