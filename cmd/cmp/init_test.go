package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/internal/manifests"
)

// TestInitAgreesWithTheSchema writes a component.yaml for every component and chart
// of the tests, and compares each with the schema, as it is and with the comments
// taken at their word.
func TestInitAgreesWithTheSchema(t *testing.T) {
	text, err := fleet.Schema()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("component.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("component.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, pattern := range []string{"components/*", "charts/*"} {
		dirs, err := filepath.Glob(filepath.Join("../../testdata", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, dir := range dirs {
			if !manifests.IsDir(dir) {
				continue
			}
			var out, faults bytes.Buffer
			if code := run([]string{"init", dir, "--force", "--stdout"}, streams{Out: &out, Err: &faults}); code != exitOK {
				if !strings.Contains(faults.String(), "a library chart renders nothing") {
					t.Errorf("%s: %s", dir, faults.String())
				}
				continue
			}
			seen++
			said := strings.NewReplacer("# crds", "crds", "# namespace: ", "namespace: ", "# rolloutPhase: ", "rolloutPhase: ", "# values: ", "values: ").Replace(out.String())
			for _, text := range []string{out.String(), said} {
				var value any
				if err := yaml.Unmarshal([]byte(text), &value); err != nil {
					t.Fatalf("%s: %v in\n%s", dir, err, text)
				}
				if err := schema.Validate(value); err != nil {
					t.Errorf("%s: %v in\n%s", dir, err, text)
				}
			}
		}
	}
	if seen < 8 {
		t.Errorf("only %d were written", seen)
	}
}

// TestDraftIsHarmless makes sure that nothing which somebody wrote into a chart
// becomes a key.
func TestDraftIsHarmless(t *testing.T) {
	d := component.Draft{Facts: []string{"a\nrolloutPhase: 1"}, Name: "a", NamespaceWhy: "b\nnamespace: c", About: "x: y # z\nproject: other", PhaseWhy: "d\r\nwave: 2"}
	var got map[string]string
	if err := yaml.Unmarshal([]byte(d.Text()), &got); err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got["name"] != "a" || got["description"] != "x: y # z project: other" {
		t.Errorf("read %v of\n%s", got, d.Text())
	}
	for text, want := range map[string]string{"My_App.v2": "my-app-v2", "--": "", strings.Repeat("a", 60): strings.Repeat("a", 53)} {
		if got := component.NameFrom(text); got != want {
			t.Errorf("%q became %q", text, got)
		}
	}
}
