// Package crds lifts CustomResourceDefinitions out of a component, so that one
// Application can hold them and another the operator.
//
// Three things make that hard, and each has its place here. Charts keep
// definitions behind values, so someone must know which values bring them and
// nothing else (see Look). What comes out must be fit to be held by an
// Application of its own (see Clean). And definitions outlive the objects
// around them, so that a change which takes away a version somebody still uses
// must be seen before it is applied (see Compare).
//
// The package is pure: charts and objects in, values out.
package crds

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/object"
)

// Mode says which part of a component is wanted.
type Mode string

const (
	// Include is all that the component's values say. The default.
	Include Mode = "include"
	// Only is every definition that the component can ship, and nothing else.
	Only Mode = "only"
	// Skip is what Include is, without the definitions.
	Skip Mode = "skip"
)

// What a definition is, as its manifest says.
const (
	group = "apiextensions.k8s.io"
	kind  = "CustomResourceDefinition"
)

// Is reports whether an object is a definition.
func Is(o object.Object) bool { return o.ID.Kind == kind && o.ID.Group == group }

// Split parts the definitions from the rest.
func Split(objs []object.Object) (definitions, rest []object.Object) {
	for _, o := range objs {
		if Is(o) {
			definitions = append(definitions, o)
		} else {
			rest = append(rest, o)
		}
	}
	return definitions, rest
}

// Unique drops definitions that are there twice with the same content, which
// charts do that keep them in crds/ and in a template. The error joins a finding
// for each that is there twice with different content: which of them would be
// applied is chance.
func Unique(objs []object.Object) ([]object.Object, error) {
	first := map[string]object.Object{}
	var faults []error
	kept := slices.DeleteFunc(slices.Clone(objs), func(o object.Object) bool {
		if !Is(o) {
			return false
		}
		before, seen := first[o.ID.Name]
		if !seen {
			first[o.ID.Name] = o
			return false
		}
		if !before.Same(o) {
			faults = append(faults, finding.Finding{Severity: finding.Error, Rule: "crd-twice", File: o.File, Line: o.Line, Object: o.ID.String(),
				Message: "the same CRD with different content is in " + place(before), Remedy: "keep one of the two"})
		}
		return true
	})
	return kept, errors.Join(faults...)
}

// place says where an object is from.
func place(o object.Object) string {
	if o.Line > 0 {
		return fmt.Sprintf("%s:%d", o.File, o.Line)
	}
	return o.File
}

// Add returns the definitions of a component with those that it ships besides;
// of what is in both the first stays.
func Add(definitions, more []object.Object) []object.Object {
	all := slices.Clone(definitions)
	for _, o := range more {
		if !slices.ContainsFunc(definitions, func(d object.Object) bool { return d.ID.Name == o.ID.Name }) {
			all = append(all, o)
		}
	}
	return all
}

// names returns the names of definitions.
func names(objs []object.Object) map[string]bool {
	all := map[string]bool{}
	for _, o := range objs {
		if Is(o) {
			all[o.ID.Name] = true
		}
	}
	return all
}

// hookKeys are annotations that would make a definition a hook. Argo CD deletes
// a hook before it creates it again, and with a definition go all its objects.
var hookKeys = []string{object.Hook, "argocd.argoproj.io/hook-delete-policy", object.HelmHook, object.HelmWeight, "helm.sh/hook-delete-policy"}

// resourcePolicy is how a chart asks to keep an object for ever.
const resourcePolicy = "helm.sh/resource-policy"

// Clean makes a definition fit for an Application that holds definitions only:
// applied on the server's side, for sizes drift over the limit of the client's;
// not pruned, for with it would go every object of the kind, unless prune says
// so and the chart does not ask to keep it; no hook; and without what shows as a
// difference for ever: a namespace, a status, preserveUnknownFields: false,
// empty properties.
func Clean(o object.Object, prune bool) (object.Object, error) {
	drop := [][]string{{"metadata", "namespace"}, {"status"}}
	if v := o.Get("spec", "preserveUnknownFields"); v.Exists() && !v.True() {
		drop = append(drop, []string{"spec", "preserveUnknownFields"})
	}
	var hooks [][]string
	for _, key := range hookKeys {
		if _, ok := o.Annotation(key); ok {
			hooks = append(hooks, []string{"metadata", "annotations", key})
		}
	}
	options := []string{object.ServerSideApply}
	if policy, _ := o.Annotation(resourcePolicy); !prune || policy == "keep" {
		options = append(options, object.NoPrune)
	}
	list, _ := o.Annotation(object.SyncOptions)
	list, _ = object.WithOptions(list, options...)

	o, err := o.WithoutEmptyProperties().Without(drop...)
	if err == nil {
		o, err = o.Annotate(object.SyncOptions, list)
	}
	if err == nil && hooks != nil { // now there is another annotation beside them
		o, err = o.Without(hooks...)
	}
	return o, err
}

// CleanAll makes definitions fit for an Application that holds nothing else.
func CleanAll(objs []object.Object, prune bool) ([]object.Object, error) {
	all := make([]object.Object, len(objs))
	var faults []error
	for i, o := range objs {
		var err error
		all[i], err = Clean(o, prune)
		faults = append(faults, err)
	}
	return all, errors.Join(faults...)
}

// NamesRelease returns the fields of a definition that lead to the operator by
// the name of its release: the Service that converts its objects, and the
// certificate that is injected. Rendered for a release of another name they
// lead nowhere, and objects of the kind can be read in no version.
func NamesRelease(o object.Object, release string) []string {
	var fields []string
	if service := o.Get("spec", "conversion", "webhook", "clientConfig", "service", "name"); named(service.Text(), release) {
		fields = append(fields, "spec.conversion.webhook.clientConfig.service.name")
	}
	for _, a := range o.Get("metadata", "annotations").Fields() {
		if strings.Contains(a.Key, "inject-ca") && named(a.Value.Text(), release) {
			fields = append(fields, "metadata.annotations["+a.Key+"]")
		}
	}
	return fields
}

// named reports whether a text holds a name that begins with that of a release:
// "shop", "shop-webhook", "demo/shop-tls".
func named(text, release string) bool {
	text = text[strings.LastIndexByte(text, '/')+1:]
	return release != "" && (text == release || strings.HasPrefix(text, release+"-"))
}

// Shared reports definitions that several components ship. Each sync of one of
// them would overwrite what the other applied. The components are named.
func Shared(components map[string][]object.Object) []finding.Finding {
	holders := map[string][]string{}
	for name, objs := range components {
		for definition := range names(objs) {
			holders[definition] = append(holders[definition], name)
		}
	}
	var all []finding.Finding
	for definition, in := range holders {
		if len(in) < 2 {
			continue
		}
		slices.Sort(in)
		all = append(all, finding.Finding{Severity: finding.Error, Rule: "crd-shared", Object: kind + " " + definition,
			Message: "several components ship this CRD, so each sync overwrites the other: " + strings.Join(in, ", "),
			Remedy:  "keep it in one of them, and set crds: skip in the others"})
	}
	finding.Sort(all)
	return all
}
