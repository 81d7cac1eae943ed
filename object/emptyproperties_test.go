package object_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ladder-cmp/ladder/object"
)

// emptyProperties is a definition with empty properties of schemas, and of what only
// looks like a schema.
const emptyProperties = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: kilns.example.com
spec:
  conversion:
    type: a
    properties: {}
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        type: object
        properties:
          security:
            type: object
            # Of no use.
            properties: {}
            description: it is empty
          list:
            type: array
            items:
              properties: {}
              type: object
          alone:
            properties: {}
          given:
            type: object
            default:
              type: a
              properties: {}
          text:
            description: |
              type: object
              properties: {}
`

// noEmptyProperties is the same without those of schemas.
const noEmptyProperties = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: kilns.example.com
spec:
  conversion:
    type: a
    properties: {}
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        type: object
        properties:
          security:
            type: object
            # Of no use.
            description: it is empty
          list:
            type: array
            items:
              type: object
          alone:
            properties: {}
          given:
            type: object
            default:
              type: a
              properties: {}
          text:
            description: |
              type: object
              properties: {}
`

// TestWithoutEmptyProperties drops those of schemas, and neither values nor
// texts nor properties of that name.
func TestWithoutEmptyProperties(t *testing.T) {
	objs, err := object.Parse("", 0, emptyProperties)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(noEmptyProperties, objs[0].WithoutEmptyProperties().Text()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	again, err := object.Parse("", 0, noEmptyProperties)
	if err != nil {
		t.Fatal(err)
	}
	if got := again[0].WithoutEmptyProperties().Text(); got != noEmptyProperties {
		t.Errorf("a second time it changes:\n%s", got)
	}
}
