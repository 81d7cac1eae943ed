package component_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/plugin"
)

// schema is the subset of JSON Schema that is needed here.
type schema struct {
	Schema      string             `json:"$schema,omitempty"`
	Title       string             `json:"title,omitempty"`
	Description string             `json:"description,omitempty"`
	Type        any                `json:"type,omitempty"`
	Enum        []string           `json:"enum,omitempty"`
	Pattern     string             `json:"pattern,omitempty"`
	Minimum     *int               `json:"minimum,omitempty"`
	Maximum     *int               `json:"maximum,omitempty"`
	Items       *schema            `json:"items,omitempty"`
	Properties  map[string]*schema `json:"properties,omitempty"`
	// Additional is false, or the schema of other keys.
	Additional   any            `json:"additionalProperties,omitempty"`
	Dependencies map[string]any `json:"dependencies,omitempty"`
	Required     []string       `json:"required,omitempty"`
	Const        string         `json:"const,omitempty"`
	AnyOf        []*schema      `json:"anyOf,omitempty"`
	Not          *schema        `json:"not,omitempty"`
	Default      any            `json:"default,omitempty"`
}

// schemaFile returns the JSON Schema (draft 7, which editors support best) of component.yaml. It
// is generated from the keys of descriptions and the parameters of renderings, and accepts
// exactly what the reader of the file accepts.
func schemaFile(t *testing.T) ([]byte, error) {
	root := schema{Schema: "http://json-schema.org/draft-07/schema#", Title: component.File,
		Description: "A component of a fleet: what it is, where it is deployed, when it is rolled out, and how it is rendered.",
		Type:        "object", Properties: map[string]*schema{}, Additional: false,
		Dependencies: map[string]any{"crdsPhase": &schema{Properties: map[string]*schema{"crds": {Const: component.Split}},
			Required: []string{"crds"}}},
	}
	for _, p := range plugin.Parameters() {
		root.Properties[p.Key()] = ofParameter(p)
	}
	for _, k := range documentedKeys(t) {
		s := ofKey(k)
		if before, parameter := root.Properties[k.name]; parameter {
			s.Enum = before.Enum
		}
		root.Properties[k.name] = s
	}
	root.Properties["crds"].Enum = append(root.Properties["crds"].Enum, component.Split)
	chart := root.Properties["chart"]
	chart.Not = &schema{Required: []string{"chart", "path"}}
	chart.Dependencies = map[string]any{
		"chart":   []string{"repoURL"},
		"repoURL": &schema{AnyOf: []*schema{{Required: []string{"chart"}}, {Required: []string{"path"}}}},
	}
	root.Properties["syncOptions"].Items.Pattern = "^[^=]+=.+$"
	root.Properties["retry"].Required = []string{"limit"}
	least := 0
	root.Properties["revisionHistoryLimit"].Minimum = &least
	ignored := root.Properties["ignoreDifferences"].Items
	ignored.Required = []string{"kind"}
	ignored.AnyOf = []*schema{{Required: []string{"jsonPointers"}}, {Required: []string{"jqPathExpressions"}},
		{Required: []string{"managedFieldsManagers"}}}
	root.Properties["info"].Items.Required = []string{"name", "value"}
	root.Properties["enabled"].Default = true
	text, err := json.MarshalIndent(root, "", "  ")
	return append(text, '\n'), err
}

// single lists the types of scalar values.
var single = []string{"string", "number", "boolean", "null"}

func ofParameter(p plugin.Parameter) *schema {
	s := &schema{Description: p.Tooltip, Type: "string", Enum: slices.Clone(p.Choices)}
	switch {
	case p.YAML && p.Collection == "array":
		s.Type, s.Items = "array", &schema{Type: []string{"object", "string"}}
	case p.YAML:
		s.Type = []string{"object", "string"}
	case p.Collection == "array":
		s.Type, s.Items = "array", &schema{Type: "string"}
	case p.Collection == "map":
		s.Type, s.Additional = "object", &schema{Type: single}
	case p.Item == "boolean": // as a parameter of an Application, it is a text
		s.Type, s.AnyOf = nil, []*schema{{Type: "boolean"}, {Type: "string", Pattern: "^(true|false)$"}}
	}
	return s
}

func ofKey(k key) *schema {
	if k.of == reflect.TypeFor[component.Environments]() {
		return ofEnvironments(k)
	}
	s := ofType(k.of)
	s.Description = k.doc
	if k.keys != nil {
		of := s
		if s.Items != nil {
			of = s.Items
		}
		of.Properties, of.Additional = map[string]*schema{}, false
		for _, inner := range k.keys {
			of.Properties[inner.name] = ofKey(inner)
		}
	}
	return s
}

// ofEnvironments returns the schema of the two forms of environments.
func ofEnvironments(k key) *schema {
	there := schema{Type: "object", Properties: map[string]*schema{}, Additional: false}
	for _, inner := range k.keys {
		there.Properties[inner.name] = ofKey(inner)
	}
	there.Properties["set"].Additional = &schema{Type: []string{"string", "number", "boolean"}}
	return &schema{Description: k.doc, AnyOf: []*schema{{Type: "array", Items: &schema{Type: "string"}},
		{Type: "object", Additional: &there}}}
}

// ofType returns the schema of a Go type that a value is decoded into.
func ofType(t reflect.Type) *schema {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == reflect.TypeFor[component.Step]() {
		least, most := -component.MaxStep, component.MaxStep
		return &schema{AnyOf: []*schema{{Type: "integer", Minimum: &least, Maximum: &most},
			{Type: "string", Pattern: component.StepPattern}}}
	}
	switch t.Kind() {
	case reflect.Struct:
		return &schema{Type: "object"}
	case reflect.Map:
		return &schema{Type: "object", Additional: &schema{Type: "string"}}
	case reflect.Slice:
		return &schema{Type: "array", Items: ofType(t.Elem())}
	case reflect.Bool:
		return &schema{Type: "boolean"}
	case reflect.Int:
		return &schema{Type: "integer"}
	}
	return &schema{Type: "string"}
}
