package component_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/internal/golden"
	"github.com/ladder-cmp/ladder/plugin"
)

// TestSchemaIsPublished keeps the schema in the documents up to date.
func TestSchemaIsPublished(t *testing.T) {
	text, err := schemaFile(t)
	if err != nil {
		t.Fatal(err)
	}
	golden.File(t, "../docs/component.schema.json", string(text))
}

// TestSchemaKnowsEveryKey makes sure that each key has a description.
func TestSchemaKnowsEveryKey(t *testing.T) {
	var visit func(under string, keys []key)
	visit = func(under string, keys []key) {
		for _, k := range keys {
			if k.doc == "" {
				t.Errorf("nothing says what the key %s%s is for", under, k.name)
			}
			visit(under+k.name+".", k.keys)
		}
	}
	visit("", documentedKeys(t))
}

// TestSchemaAgrees compares what the schema says of files with what their reader
// says.
func TestSchemaAgrees(t *testing.T) {
	text, err := schemaFile(t)
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
	compiled, err := compiler.Compile("component.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	check := func(t *testing.T, text string, good bool) {
		t.Helper()
		var value any
		if err := yaml.Unmarshal([]byte(text), &value); err != nil {
			t.Fatal(err)
		}
		if err := compiled.Validate(value); (err == nil) != good {
			t.Errorf("the schema says %v of\n%s", err, text)
		}
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, component.File), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := (plugin.Request{Repo: os.DirFS(dir), Dir: "."}).Describe(); (err == nil) != good {
			t.Errorf("the reader says %v of\n%s", err, text)
		}
	}
	cases, err := os.ReadFile("testdata/component-examples.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var examples struct{ Good, Bad []string }
	if err := yaml.Unmarshal(cases, &examples); err != nil {
		t.Fatal(err)
	}
	if len(examples.Good) == 0 || len(examples.Bad) == 0 {
		t.Fatal("there are no examples")
	}
	for _, text := range examples.Good {
		check(t, text, true)
	}
	for _, text := range examples.Bad {
		check(t, text, false)
	}
	files, err := filepath.Glob("../testdata/fleets/*/components/*/" + component.File)
	if err != nil || len(files) == 0 {
		t.Fatal("there are no fleets", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(strings.TrimPrefix(file, "../testdata/fleets/"), func(t *testing.T) { check(t, string(text), true) })
	}
}
