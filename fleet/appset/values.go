package appset

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// decode converts a value to a type. The error names the field with the wrong type.
func decode(v, into any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	err = json.Unmarshal(text, into)
	var typeErr *json.UnmarshalTypeError
	if errors.As(err, &typeErr) {
		return fmt.Errorf("%s has the wrong type", typeErr.Field)
	}
	return err
}

// mapping returns a value as a mapping; nil if it is not one.
func mapping(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

// clone returns a deep copy.
func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		all := map[string]any{}
		for key, value := range v {
			all[key] = clone(value)
		}
		return all
	case []any:
		all := make([]any, len(v))
		for i, value := range v {
			all[i] = clone(value)
		}
		return all
	}
	return v
}

// override overrides parameters with others: mappings are merged, and everything else
// is replaced.
func override(into, over map[string]any) {
	for key, value := range over {
		if existing, overriding := mapping(into[key]), mapping(value); len(existing) > 0 && overriding != nil {
			override(existing, overriding)
		} else {
			into[key] = clone(value)
		}
	}
}

// fillEmpty sets the empty fields of own to those of base.
func fillEmpty(own, base map[string]any) map[string]any {
	if own == nil {
		own = map[string]any{}
	}
	for key, value := range base {
		switch inner := mapping(own[key]); {
		case inner != nil && mapping(value) != nil:
			fillEmpty(inner, mapping(value))
		case isEmpty(own[key]):
			own[key] = clone(value)
		}
	}
	return own
}

func isEmpty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case bool:
		return !v
	case float64:
		return v == 0
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

// flatten returns nested parameters as a flat map from paths to strings.
func flatten(v map[string]any) params {
	flat := params{}
	var walk func(v any, at string)
	walk = func(v any, at string) {
		switch v := v.(type) {
		case map[string]any:
			for key, value := range v {
				walk(value, joinPath(at, key))
			}
		case []any:
			for i, value := range v {
				walk(value, joinPath(at, strconv.Itoa(i)))
			}
		default:
			flat[at] = fmt.Sprint(v)
		}
	}
	walk(v, "")
	return flat
}

func joinPath(at, key string) string {
	if at == "" {
		return key
	}
	return at + "." + key
}
