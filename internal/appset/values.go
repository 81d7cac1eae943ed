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
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return fmt.Errorf("%s has the wrong type", wrong.Field)
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

// layOver lays parameters over others: mappings are merged, and everything else is
// replaced.
func layOver(into, over map[string]any) {
	for key, value := range over {
		if below, above := mapping(into[key]), mapping(value); len(below) > 0 && above != nil {
			layOver(below, above)
		} else {
			into[key] = clone(value)
		}
	}
}

// underlay fills the fields of a template that are empty from another one.
func underlay(own, base map[string]any) map[string]any {
	if own == nil {
		own = map[string]any{}
	}
	for key, value := range base {
		switch inner := mapping(own[key]); {
		case inner != nil && mapping(value) != nil:
			underlay(inner, mapping(value))
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

// flatten returns nested parameters as texts by their paths.
func flatten(v map[string]any) params {
	flat := params{}
	var walk func(v any, at string)
	walk = func(v any, at string) {
		switch v := v.(type) {
		case map[string]any:
			for key, value := range v {
				walk(value, below(at, key))
			}
		case []any:
			for i, value := range v {
				walk(value, below(at, strconv.Itoa(i)))
			}
		default:
			flat[at] = fmt.Sprint(v)
		}
	}
	walk(v, "")
	return flat
}

func below(at, key string) string {
	if at == "" {
		return key
	}
	return at + "." + key
}
