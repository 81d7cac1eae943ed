package scaffold

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/internal/checkout"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
)

// TestAgreesWithTheSchema writes a component.yaml for every component and chart
// of the tests, and compares each with the schema, as it is and with the comments
// taken at their word.
func TestAgreesWithTheSchema(t *testing.T) {
	text, err := os.ReadFile("../../docs/component.schema.json")
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
	seen := 0
	for _, pattern := range []string{"components/*", "charts/*"} {
		dirs, err := filepath.Glob(filepath.Join("../../testdata", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, dir := range dirs {
			if !checkout.IsDir(dir) {
				continue
			}
			text, err := draftOf(t, dir)
			if err != nil {
				if !strings.Contains(err.Error(), "a library chart renders nothing") {
					t.Errorf("%s: %v", dir, err)
				}
				continue
			}
			seen++
			said := strings.NewReplacer("# crds", "crds", "# namespace: ", "namespace: ", "# rolloutPhase: ", "rolloutPhase: ",
				"# values: ", "values: ").Replace(text)
			for _, text := range []string{text, said} {
				var value any
				if err := yaml.Unmarshal([]byte(text), &value); err != nil {
					t.Fatalf("%s: %v in\n%s", dir, err, text)
				}
				if err := compiled.Validate(value); err != nil {
					t.Errorf("%s: %v in\n%s", dir, err, text)
				}
			}
		}
	}
	if seen < 8 {
		t.Errorf("only %d were written", seen)
	}
}

// draftOf writes the component.yaml of a directory, with what is missing if there is one.
func draftOf(t *testing.T, dir string) (string, error) {
	t.Helper()
	b, found, err := Begin(t.Context(), knowledge.Default(), []string{dir}, Options{Force: true})
	if err != nil {
		return "", errors.Join(err, finding.Err(found))
	}
	defer b.Close()
	return b.Text(true), nil
}
