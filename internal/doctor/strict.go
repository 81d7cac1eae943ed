package doctor

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/nearest"
)

// decodeStrictly decodes a value like the API server with strict field validation, and
// reports errors. The decoder stops at the first value of a wrong type; that value is
// removed, and the rest is decoded again. Values are not shown, since they may be
// secret.
func decodeStrictly(t node, into any) (all []finding.Finding) {
	typ := reflect.TypeOf(into).Elem()
	tree, all := plain(t, false)
	for {
		data, err := json.Marshal(tree)
		if err != nil {
			return append(all, withRemedy(t.fault("Kubernetes cannot read it"), "correct the YAML"))
		}
		unknown, err := kjson.UnmarshalStrict(data, reflect.New(typ).Interface(), kjson.DisallowUnknownFields)
		var mistyped *json.UnmarshalTypeError
		switch {
		case errors.As(err, &mistyped):
			at := pathAt(json.NewDecoder(bytes.NewReader(data)), nil, mistyped.Offset)
			all = append(all, wrongType(t.follow(at), mistyped))
			if len(at) == 0 {
				return all
			}
			tree = setNull(tree, at)
			continue
		case err != nil: // of a type with its own decoder, which reports no position
			return append(all, withRemedy(t.fault("Kubernetes cannot read it: %v", err), "correct it; kubectl explain pod.spec lists the fields"))
		}
		for _, err := range unknown {
			var field kjson.FieldError
			if errors.As(err, &field) {
				all = append(all, unknownField(t, splitPath(field.FieldPath()), typ))
			}
		}
		return all
	}
}

// plain converts a value for the decoder, without texts that the chart fills in,
// and without invalid quantities, for which the decoder reports no position.
func plain(t node, quantity bool) (tree any, all []finding.Finding) {
	switch {
	case !t.Exists() || strings.Contains(t.Text(), "{{"):
		return nil, nil
	case t.IsMap():
		entries := map[string]any{}
		for key, v := range t.entries() {
			below := quantity || key == "sizeLimit" || key == "divisor"
			if key == "limits" || key == "requests" {
				below = v.IsMap()
			}
			one, found := plain(v, below)
			entries[key], all = one, append(all, found...)
		}
		return entries, all
	case t.IsList() && !quantity:
		items := []any{}
		for _, v := range t.items() {
			one, found := plain(v, false)
			items, all = append(items, one), append(all, found...)
		}
		return items, all
	case quantity:
		const remedy = "write bytes as 512Mi or 2Gi, and CPUs as 500m or 2"
		if t.IsList() {
			return nil, []finding.Finding{withRemedy(t.fault("must be a quantity, not a list"), remedy)}
		}
		if _, err := resource.ParseQuantity(t.Text()); err != nil {
			return nil, []finding.Finding{withRemedy(t.fault("%q is not a valid quantity", t.Text()), remedy)}
		}
		return t.Text(), nil
	case t.IsText():
		return t.Text(), nil
	}
	if err := yaml.Unmarshal([]byte(t.Text()), &tree); err != nil {
		return t.Text(), nil
	}
	return tree, nil
}

// setNull replaces the value at a path with null, which is valid for every type.
func setNull(tree any, path []string) any {
	if len(path) == 0 {
		return nil
	}
	switch v := tree.(type) {
	case map[string]any:
		v[path[0]] = setNull(v[path[0]], path[1:])
	case []any:
		if i, err := strconv.Atoi(path[0]); err == nil && i < len(v) {
			v[i] = setNull(v[i], path[1:])
		}
	}
	return tree
}

// pathAt returns the path of the value whose first token ends at an offset; nil for
// the root.
func pathAt(d *json.Decoder, path []string, offset int64) []string {
	token, err := d.Token()
	if err != nil {
		return nil
	}
	if d.InputOffset() == offset {
		return path
	}
	begin, ok := token.(json.Delim)
	if !ok {
		return nil
	}
	for i := 0; d.More(); i++ {
		key := strconv.Itoa(i)
		if begin == '{' {
			name, err := d.Token()
			if err != nil {
				return nil
			}
			key, _ = name.(string)
		}
		if found := pathAt(d, append(slices.Clone(path), key), offset); found != nil {
			return found
		}
	}
	_, _ = d.Token() // its end; a syntax error is reported at the next token
	return nil
}

// splitPath splits a path such as a.b[0].c.
func splitPath(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return strings.ContainsRune(".[]", r) })
}

// follow follows keys and list indexes.
func (t node) follow(path []string) node {
	for _, key := range path {
		if i, err := strconv.Atoi(key); err == nil && t.IsList() {
			t = t.items()[i]
			continue
		}
		if v, ok := t.entries()[key]; ok {
			t = v
		}
	}
	return t
}

// unknownField reports an unknown key.
func unknownField(t node, path []string, typ reflect.Type) finding.Finding {
	last := len(path) - 1
	names := fields(typ, path[:last])
	return withRemedy(t.follow(path).fault("unknown field %q", path[last]), "correct or remove the field").Asking(nearest.Suggest(path[last], names))
}

// fields returns the keys of the type at a path.
func fields(typ reflect.Type, path []string) (names []string) {
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	switch typ.Kind() {
	case reflect.Slice, reflect.Map:
		if len(path) > 0 {
			return fields(typ.Elem(), path[1:])
		}
	case reflect.Struct:
		for _, f := range reflect.VisibleFields(typ) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if len(path) > 0 && name == path[0] {
				return fields(f.Type, path[1:])
			}
			if name != "" && name != "-" {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// wrongType reports a value of the wrong type.
func wrongType(t node, err *json.UnmarshalTypeError) finding.Finding {
	written, ok := map[string]string{"object": "a mapping", "array": "a list", "string": "text", "bool": "true or false"}[err.Value]
	if !ok {
		written = "a number"
	}
	wanted, remedy := "a mapping", "write a mapping"
	switch err.Type.Kind() {
	case reflect.Slice:
		wanted, remedy = "a list", "write a list, such as [one, two]"
		if t.IsMap() {
			remedy = `write a list, with "- " before each of its items`
		}
	case reflect.String:
		wanted, remedy = "text", "write it in quotes"
	case reflect.Bool:
		wanted, remedy = "true or false", "write true or false"
	case reflect.Int, reflect.Int32, reflect.Int64:
		wanted, remedy = "a whole number", "write a whole number"
	}
	if t.IsText() && json.Unmarshal([]byte(t.Text()), reflect.New(err.Type).Interface()) == nil {
		remedy = "write it without quotes"
	}
	return withRemedy(t.fault("must be %s, not %s", wanted, written), "%s", remedy)
}
