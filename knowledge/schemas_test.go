package knowledge

import (
	"testing"

	"github.com/ladder-cmp/ladder/object"
)

func TestDescribed(t *testing.T) {
	base := Default()
	for _, c := range []struct {
		description, to string
		written         bool
	}{
		{"Name of the Secret with the licence.", "Secret", false},
		{"Secret to be created\n  with the login. Kept for ever.", "Secret", true},
		{"Secret with the login. If unset, one will be created.", "Secret", false},
		{"Selects a key of a ConfigMap.", "ConfigMap", false},
		{"Name of the lamp. Its password is in a Secret.", "", false},
		{"", "", false},
	} {
		got, ok := base.ConventionFor(c.description)
		if ok != (c.to != "") || ok && got.To[0].Kind != c.to {
			t.Errorf("%q names %v, %v; want %q", c.description, got.To, ok, c.to)
		}
		if got := base.IsWritten(c.description); got != c.written {
			t.Errorf("%q is written: %v", c.description, got)
		}
	}
}

func TestSibling(t *testing.T) {
	for key, want := range map[string]string{"clusterRef": "cluster", "hazelcastResourceName": "hazelcast", "Name": "",
		"name": "", "clusterNames": ""} {
		if got, ok := Default().Sibling(key); got != want || ok != (want != "") {
			t.Errorf("%s is of %q, %v; want %q", key, got, ok, want)
		}
	}
}

// TestSeesOf: a status tells its health where the authors of the kind show it, and
// nowhere else.
func TestSeesOf(t *testing.T) {
	const status = "subresources: {status: {}}, "
	for _, c := range []struct{ version, want string }{
		{status + `additionalPrinterColumns: [{type: string, jsonPath: '.status.conditions[?(@.type=="Ready")].status'}]`, "condition Ready"},
		{status + `additionalPrinterColumns: [{type: string, jsonPath: ".status.conditions[?(@.type == 'Available')].status"}]`,
			"condition Available"},
		{status + `additionalPrinterColumns: [{type: string, jsonPath: '.status.conditions[?(@.type=="Ready")].message'}]`, ""},
		{status + `additionalPrinterColumns: [{type: string, jsonPath: '.status.conditions[?(@.type=="Lit")].status'}]`, ""},
		{`additionalPrinterColumns: [{type: string, jsonPath: '.status.conditions[?(@.type=="Ready")].status'}]`, ""},
		{status + `additionalPrinterColumns: [{type: boolean, jsonPath: .status.available}]`, "at status.available"},
		{status + `additionalPrinterColumns: [{type: string, jsonPath: .status.ready}]`, ""},
		{status + `additionalPrinterColumns: [{type: boolean, jsonPath: .spec.ready}]`, ""},
		{status + `schema: {openAPIV3Schema: {properties: {status: {properties: {conditions: {items: {properties: {type: {enum: [Lit, ` +
			`Ready]}}}}}}}}}`, "condition Ready"},
		{status + `schema: {openAPIV3Schema: {properties: {status: {properties: {conditions: {description: "Ready, Available"}}}}}}`, ""},
	} {
		objs, err := object.Parse("crd.yaml", 1, "apiVersion: v1\nkind: X\nmetadata: {name: x}\nspec: {versions: [{name: v1, "+c.version+"}]}\n")
		if err != nil {
			t.Fatal(err)
		}
		versions := objs[0].Get("spec", "versions")
		got := ""
		if sees := Default().StatusOf(versions.Items()[0], func() object.Schema { return objs[0].Schema(versions, "v1") }, "x"); sees != nil {
			if got = "condition " + sees.Healthy[0].Condition; sees.Healthy[0].At != "" {
				got = "at " + sees.Healthy[0].At
			}
		}
		if got != c.want {
			t.Errorf("%s shows %q, want %q", c.version, got, c.want)
		}
	}
}
