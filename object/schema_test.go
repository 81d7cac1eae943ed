package object_test

import (
	"strings"
	"testing"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/object"
)

const beacons = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: beacons.light.example.com}
spec:
  versions:
  - name: v1alpha1
    schema:
      openAPIV3Schema:
        type: object
    served: false
  - {name: v1beta1, schema: {openAPIV3Schema: {type: object, description: in one line}}}
  - additionalPrinterColumns:
    - {jsonPath: .status.ready, name: Ready, type: boolean}
    name: v1
    schema:
      openAPIV3Schema:

        # an operator's own words
        description: |-
          Beacon is
          spec: not a key
        type: object
        properties:
          spec:
            type: object
            required:
            - lamp
            - keeper
            properties:
              lamp:
                description: 'name: of the lamp,
                  which burns'
                type: string
              keeper:
                default: nobody
                type: string
              flow: {type: object, properties: {depth: {type: integer}}}
          status:
            properties:
              conditions:
                items:
                  properties:
                    type:
                      enum:
                      - Ready
                      - "Lit"
                      type: string
                  type: object
                type: array
              x:
                type: string
            type: object
    served: true
`

// TestSchema: what is found by indentation is what a parser finds.
func TestSchema(t *testing.T) {
	objs, err := object.Parse("crds.yaml", 1, beacons)
	if err != nil {
		t.Fatal(err)
	}
	schema := objs[0].Schema(objs[0].Get("spec", "versions"), "v1")
	if !schema.Exists() {
		t.Fatal("there is no schema of v1")
	}
	compare(t, schema, whole(t, beacons, 2), "")
	if got := schema.Get("properties", "spec", "properties", "lamp", "description").Text(); got != "name: of the lamp, which burns" {
		t.Errorf("the lamp is described as %q", got)
	}
	if got := len(schema.Get("properties", "status", "properties", "conditions", "items", "properties", "type", "enum").Items()); got != 2 {
		t.Errorf("the condition has %d types, want 2", got)
	}
	for _, path := range []string{"spec", "properties.lamp", "properties.spec.properties.lam",
		"properties.spec.properties.flow.properties.height"} {
		if schema.Get(strings.Split(path, ".")...).Exists() {
			t.Errorf("%s is in the schema", path)
		}
	}
	beta := objs[0].Schema(objs[0].Get("spec", "versions"), "v1beta1")
	compare(t, beta, whole(t, beacons, 1), "v1beta1")
	if objs[0].Schema(objs[0].Get("spec", "versions"), "v2").Exists() {
		t.Error("there is a schema of v2")
	}
}

// whole is a schema as a parser reads it.
func whole(t *testing.T, text string, version int) object.Value {
	t.Helper()
	var root yaml.Node
	if err := yaml.Unmarshal([]byte(text), &root); err != nil {
		t.Fatal(err)
	}
	return object.ValueOf(root.Content[0]).Get("spec", "versions").Items()[version].Get("schema", "openAPIV3Schema")
}

func compare(t *testing.T, got object.Schema, want object.Value, path string) {
	t.Helper()
	if !got.Exists() {
		t.Errorf("%s is missing", path)
	}
	if got.Text() != want.Text() || len(got.Items()) != len(want.Items()) {
		t.Errorf("%s is %q of %d items, want %q of %d", path, got.Text(), len(got.Items()), want.Text(), len(want.Items()))
	}
	for _, f := range want.Fields() {
		compare(t, got.Get(f.Key), f.Value, path+"."+f.Key)
	}
}
