package importer

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/object"
)

// Parameters are what generators find that look outside of the repository: those of each
// ApplicationSet by its name, and of each kind of generator by its key, such as clusters.
type Parameters map[string]map[string][]map[string]any

// addSet adds the Applications that an ApplicationSet makes.
func (w *work) addSet(o object.Object, above *application) {
	fields := fieldsOf(o.Root().Plain())
	w.sets[o.ID.Name] = nil // what is said about the file that a parent renders is said once
	fault := func(err error) {
		w.sets[o.ID.Name] = append(w.sets[o.ID.Name], finding.Finding{Severity: finding.Warning, Rule: NotImported, File: o.File, Line: o.Line, Object: o.ID.String(), Message: err.Error(),
			Remedy: "correct it, or describe what the generator finds with --generators FILE"})
	}
	spec := fieldsOf(fields["spec"])
	e := expansion{work: w, name: o.ID.Name, typed: takeTrue(spec, "goTemplate")}
	for _, option := range takeList(spec, "goTemplateOptions") {
		e.options = append(e.options, text(option))
	}
	template, patch := fieldsOf(take(spec, "template")), takeText(spec, "templatePatch")
	steps := takeList(spec, "strategy", "rollingSync", "steps")
	preserve := takeTrue(spec, "syncPolicy", "preserveResourcesOnDeletion")
	var all []map[string]any
	for _, g := range takeList(spec, "generators") {
		found, err := e.generate(fieldsOf(g), nil)
		if err != nil {
			fault(err)
		}
		all = append(all, found...)
	}
	wave, _ := o.Wave()
	seen := map[string]bool{}
	for _, params := range all {
		made, err := e.application(template, patch, params)
		if err != nil {
			fault(err)
			continue
		}
		app := &application{name: text(at(made, "metadata", "name")), fields: made, file: o.File, line: o.Line, from: o.ID.Name, above: above, wave: wave, text: asText(made)}
		if app.name == "" || seen[app.name] {
			fault(fmt.Errorf("two of its Applications are called %q", app.name))
			continue
		}
		seen[app.name] = true
		app.step = stepOf(steps, made)
		if metadata := fieldsOf(made["metadata"]); metadata["namespace"] == nil {
			metadata["namespace"] = text(at(fields, "metadata", "namespace"))
		}
		if metadata := fieldsOf(made["metadata"]); metadata["finalizers"] == nil && !preserve {
			metadata["finalizers"] = []any{finalizer} // which Argo CD adds
		}
		w.put(app, above != nil)
	}
	take(spec, "strategy", "type")
	take(spec, "strategy", "deletionOrder")
	for _, field := range left(tree{"spec": spec}, "") {
		w.sets[o.ID.Name] = append(w.sets[o.ID.Name], finding.Finding{Severity: finding.Warning, Rule: NotImported, File: o.File, Line: o.Line, Object: o.ID.String(), Field: field,
			Message: "no key of ladder.yaml holds this field", Remedy: "check whether it is needed"})
	}
}

// stepOf is the first step that selects an Application, from 1; what none selects comes
// last.
func stepOf(steps []any, app tree) int {
	if len(steps) == 0 {
		return 0
	}
	labels := fieldsOf(at(app, "metadata", "labels"))
	for i, item := range steps {
		expressions, _ := fieldsOf(item)["matchExpressions"].([]any)
		selects := true
		for _, item := range expressions {
			x := fieldsOf(item)
			selects = selects && matches(text(x["operator"]), text(labels[text(x["key"])]), labels[text(x["key"])] != nil, x["values"])
		}
		if selects {
			return i + 1
		}
	}
	return len(steps) + 1
}

// matches is an expression of a selector.
func matches(operator, value string, there bool, list any) bool {
	values, _ := list.([]any)
	in := slices.ContainsFunc(values, func(v any) bool { return text(v) == value })
	switch operator {
	case "In":
		return there && in
	case "NotIn":
		return !there || !in
	case "Exists":
		return there
	case "DoesNotExist":
		return !there
	}
	return false
}

// application is what a template makes of parameters.
func (e expansion) application(template tree, patch string, params map[string]any) (tree, error) {
	filled, err := e.fill(clone(template), params)
	if err != nil {
		return nil, err
	}
	made := fieldsOf(filled)
	if made == nil {
		return nil, errors.New("it has no template")
	}
	if patch == "" {
		return made, nil
	}
	written, err := e.replace(patch, params)
	if err != nil {
		return nil, fmt.Errorf("templatePatch: %w", err)
	}
	over, err := object.PlainText(written)
	if err != nil {
		return nil, errors.New("templatePatch is not valid YAML once it is filled in")
	}
	merge(made, fieldsOf(over))
	return made, nil
}

// merge lays a patch over a manifest: null deletes, mappings are merged, and everything
// else takes the place of what was there.
func merge(into, patch tree) {
	for key, value := range patch {
		below, is := value.(tree)
		switch {
		case value == nil:
			delete(into, key)
		case is && fieldsOf(into[key]) != nil:
			merge(fieldsOf(into[key]), below)
		default:
			into[key] = value
		}
	}
}
