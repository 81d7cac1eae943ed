// Package crds extracts CRDs from a component, so that one Application can contain
// them and another one the operator.
//
// Three problems make this difficult. Charts enable CRDs by values, so the values
// that enable only CRDs must be known (see Examine). The CRDs must be suitable for an
// Application of their own (see Clean). And CRDs exist longer than the objects
// around them, so a change that removes a version in use must be detected before it
// is applied (see Compare).
//
// The package is pure: charts and objects in, values out.
package crds

import (
	"errors"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/object"
)

// Mode selects a part of a component.
type Mode string

const (
	// Include is everything that the values enable. It is the default.
	Include Mode = "include"
	// Only is every CRD that the component can install, and nothing else.
	Only Mode = "only"
	// Skip is Include without CRDs.
	Skip Mode = "skip"
)

// The identity of CRDs.
const (
	group = "apiextensions.k8s.io"
	kind  = "CustomResourceDefinition"
)

// Is reports whether an object is a CRD.
func Is(o object.Object) bool { return o.ID.Kind == kind && o.ID.Group == group }

// Split separates CRDs from other objects.
func Split(objs []object.Object) (crds, rest []object.Object) {
	for _, o := range objs {
		if Is(o) {
			crds = append(crds, o)
		} else {
			rest = append(rest, o)
		}
	}
	return crds, rest
}

// Unique removes duplicate CRDs with the same content, which occur in charts that
// contain them both in crds/ and in a template. The error joins a finding for each
// duplicate with different content, where it is undefined which one is applied.
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
			faults = append(faults, finding.Finding{Severity: finding.Error, Rule: "duplicate-object", File: o.File, Line: o.Line,
				Object:  o.ID.String(),
				Message: "the same CRD with different content is in " + before.Place(), Remedy: "keep one of the two"})
		}
		return true
	})
	return kept, errors.Join(faults...)
}

// Add returns the CRDs of a component with additional ones that it can install; of
// duplicates the first is kept.
func Add(crds, more []object.Object) []object.Object {
	all := slices.Clone(crds)
	for _, o := range more {
		if !slices.ContainsFunc(crds, func(d object.Object) bool { return d.ID.Name == o.ID.Name }) {
			all = append(all, o)
		}
	}
	return all
}

// names returns the names of CRDs.
func names(objs []object.Object) map[string]bool {
	all := map[string]bool{}
	for _, o := range objs {
		if Is(o) {
			all[o.ID.Name] = true
		}
	}
	return all
}

// hookKeys are annotations that would make a CRD a hook. Argo CD deletes a hook
// before it creates it again, and deleting a CRD deletes all its objects.
var hookKeys = []string{object.Hook, object.HookDelete, object.HelmHook, object.HelmWeight, object.HelmHookDelete}

// Clean prepares a CRD for an Application that contains only CRDs: it is applied on
// the server's side, since its size may exceed the client's limit; it is not
// pruned, which would delete every object of the kind, unless prune is set and the
// chart does not forbid it; it is not a hook; and it contains nothing without effect
// that can keep it OutOfSync, depending on the version and settings of Argo CD: a
// namespace, a status, preserveUnknownFields: false, empty properties.
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
	if policy, _ := o.Annotation(object.ResourcePolicy); !prune || policy == "keep" {
		options = append(options, object.NoPrune)
	}
	list, _ := o.Annotation(object.SyncOptions)
	list, _ = object.WithOptions(list, options...)

	o, err := o.WithoutEmptyProperties().Without(drop...)
	if err == nil {
		o, err = o.Annotate(object.SyncOptions, list)
	}
	if err == nil && hooks != nil { // there is another annotation now
		o, err = o.Without(hooks...)
	}
	return o, err
}

// CleanAll prepares CRDs for an Application that contains only CRDs.
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

// NamesRelease returns the fields of a CRD that contain the name of the operator's
// release: the Service of its conversion webhook, and the certificate to inject.
// Rendered with another release name, they refer to nothing, and objects of the
// kind cannot be read in any version.
func NamesRelease(o object.Object, release string) []string {
	var fields []string
	if service := o.Get("spec", "conversion", "webhook", "clientConfig", "service", "name"); containsName(service.Text(), release) {
		fields = append(fields, "spec.conversion.webhook.clientConfig.service.name")
	}
	for _, a := range o.Get("metadata", "annotations").Fields() {
		if strings.Contains(a.Key, "inject-ca") && containsName(a.Value.Text(), release) {
			fields = append(fields, "metadata.annotations["+a.Key+"]")
		}
	}
	return fields
}

// containsName reports whether a text contains a name that starts with the name of a
// release: "shop", "shop-webhook", "demo/shop-tls".
func containsName(text, release string) bool {
	text = text[strings.LastIndexByte(text, '/')+1:]
	return release != "" && (text == release || strings.HasPrefix(text, release+"-"))
}
