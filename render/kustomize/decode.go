package kustomize

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/render/input"
)

// decode reads the kustomization. The library stops at the first unknown key or value
// of the wrong type, so what it refuses is read again with a decoder that reports all
// unknown keys, and without the fields that contain a value of the wrong type.
func (c *checker) decode() (k types.Kustomization, faults []error) {
	err := k.Unmarshal(c.data)
	if err == nil {
		return k, nil
	}
	var fields map[string]any
	if yaml.Unmarshal(c.data, &fields) != nil {
		f := c.invalid(err)
		// The library omits the number of the first line, and counts past the end of a
		// truncated text.
		f.Line = min(max(f.Line, 1), bytes.Count(bytes.TrimSuffix(c.data, []byte("\n")), []byte("\n"))+1)
		return k, []error{f}
	}
	if version, _ := fields["apiVersion"].(string); strings.HasPrefix(version, "kustomize.toolkit.fluxcd.io/") {
		f := c.invalid(errors.New("this is a Flux Kustomization (" + version + "), not a file of kustomize"))
		f.Line, f.Remedy = input.LineOf(c.written, []string{"apiVersion"}), "give it another file name, and list it under resources"
		return k, []error{f}
	}
	for into := &k; ; into = new(types.Kustomization) { // the first decodes all other values
		text, err := json.Marshal(fields)
		if err != nil {
			return k, append(faults, c.invalid(err))
		}
		unknown, err := kjson.UnmarshalStrict(text, into, kjson.DisallowUnknownFields)
		for _, err := range unknown {
			var field kjson.FieldError
			if errors.As(err, &field) && isUnknown(fieldSteps(field.FieldPath())) {
				steps := fieldSteps(field.FieldPath())
				f := c.invalid(fmt.Errorf("unknown field %q", steps[len(steps)-1]))
				f.Line = input.LineOf(c.written, steps)
				f.Remedy = "remove it, or correct its name"
				if len(steps) == 1 {
					f = f.Asking(finding.Suggest(steps[0], topFields()))
				}
				faults = append(faults, f)
			}
		}
		if err == nil {
			return k, faults
		}
		f := input.Mistyped(c.invalid(err), err, c.written)
		if strings.HasPrefix(f.Message, "patches[") && strings.HasSuffix(f.Message, string(object.Text)) {
			f.Remedy = "write path: before the name of the file"
		} else if strings.HasSuffix(f.Message, "].env: must be a string, not a list") {
			f.Remedy = "rename env to envs"
		}
		faults = append(faults, f)
		var mistyped *json.UnmarshalTypeError
		if !errors.As(err, &mistyped) {
			return k, faults
		}
		field, _, _ := strings.Cut(mistyped.Field, ".")
		if _, exists := fields[field]; !exists {
			return k, faults
		}
		delete(fields, field)
	}
}

// IsKustomization reports whether kustomize accepts a text: it refuses unknown fields, and allows a
// missing kind.
func IsKustomization(text string) bool {
	var k types.Kustomization
	return k.Unmarshal([]byte(text)) == nil && len(k.EnforceFields()) == 0
}

// topFields lists the fields of a kustomization.
func topFields() []string {
	var all []string
	for _, field := range reflect.VisibleFields(reflect.TypeFor[types.Kustomization]()) {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" && name != "-" {
			all = append(all, name)
		}
	}
	return all
}

// isUnknown reports whether the library refuses a key, in which it ignores case.
func isUnknown(path []string) bool {
	var tree any
	for _, step := range slices.Backward(path) {
		if _, err := strconv.Atoi(step); err == nil {
			tree = []any{tree}
		} else {
			tree = map[string]any{step: tree}
		}
	}
	text, err := json.Marshal(tree)
	return err != nil || new(types.Kustomization).Unmarshal(text) != nil
}

// invalid reports that the kustomization cannot be decoded.
func (c *checker) invalid(err error) finding.Finding {
	f := input.InvalidYAML(c.Show(c.file), err)
	f.Rule, f.Message, f.Remedy = finding.BadKustomization, strings.TrimPrefix(strings.TrimPrefix(f.Message, "not valid YAML: "),
		"json: "), "correct the kustomization"
	return f
}
