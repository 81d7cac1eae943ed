package importer

import (
	"github.com/ladder-cmp/ladder/internal/appset"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/object"
)

// addSet adds the Applications that an ApplicationSet generates.
func (w *work) addSet(o object.Object, parentApp *application) {
	w.sets[o.ID.Name] = nil // replaces the findings of an earlier reading, so that each is reported once
	set := appset.Expand(o, appset.Input{Open: w.open, Values: w.Values})
	for _, f := range set.Faults {
		w.sets[o.ID.Name] = append(w.sets[o.ID.Name], f.Finding(o, finding.Warning, NotImported))
	}
	wave, _ := o.Wave()
	for _, a := range set.Applications {
		if parentApp != nil && parentApp.isBelow(a.ID.Name) {
			continue // a set may generate the Application that it is rendered by
		}
		w.put(&application{name: a.ID.Name, fields: fieldsOf(a.Root().Plain()), file: o.File, line: o.Line, set: o.ID.Name, parentApp: parentApp, wave: wave, step: a.Step, text: a.Text()}, parentApp != nil)
	}
	for _, field := range remainingFields(tree{"spec": unexpanded(o)}, "") {
		w.sets[o.ID.Name] = append(w.sets[o.ID.Name], finding.Finding{Severity: finding.Warning, Rule: NotImported, File: o.File, Line: o.Line, Object: o.ID.String(), Field: field,
			Message: "ladder.yaml has no key for this field", Remedy: "check whether it is needed"})
	}
}

// unexpanded returns the fields of an ApplicationSet that are neither in its
// Applications nor in a ladder.yaml.
func unexpanded(o object.Object) tree {
	spec := fieldsOf(at(fieldsOf(o.Root().Plain()), "spec"))
	for _, keys := range [][]string{{"goTemplate"}, {"goTemplateOptions"}, {"generators"}, {"template"}, {"templatePatch"},
		{"strategy", "type"}, {"strategy", "rollingSync", "steps"}, {"strategy", "deletionOrder"}, {"syncPolicy", "preserveResourcesOnDeletion"}} {
		take(spec, keys...)
	}
	return spec
}
