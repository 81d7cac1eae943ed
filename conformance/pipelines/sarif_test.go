package pipelines

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	_ "github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif" // contains the schema
	"github.com/xeipuuv/gojsonschema"
)

// TestSARIF validates the reports for code hosts with the schema of SARIF 2.1.0. GitHub
// also requires the texts of rules, and shows their pages.
func TestSARIF(t *testing.T) {
	schema := schemaOfSARIF(t)
	hand, err := os.ReadFile(filepath.Join(root, "cmd/cmp/testdata/script/check.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	_, text, there := strings.Cut(string(hand), "-- hand.yaml --\n")
	if !there {
		t.Fatal("check.txtar has no hand.yaml")
	}
	text, _, _ = strings.Cut(text, "\n-- ")
	e := example{files: map[string]string{"hand/hand.yaml": text, "bad/Chart.yaml": "name: [\n"}}
	for _, command := range []string{"cmp check hand", "cmp check chart", "cmp check bad", "cmp check --deterministic chart",
		"cmp check --deterministic bad"} {
		t.Run(command, func(t *testing.T) {
			out := shell(t, "kustomize", e, command+" -o sarif || true")
			checked, err := schema.Validate(gojsonschema.NewStringLoader(out))
			if err != nil {
				t.Fatalf("%v in\n%s", err, out)
			}
			for _, fault := range checked.Errors() {
				t.Error(fault)
			}
			described(t, out)
			if strings.Contains(out, `"rules": []`) && !strings.HasSuffix(command, " chart") {
				t.Errorf("there is no finding:\n%s", out)
			}
		})
	}
}

// described checks the texts of the rules in a report.
func described(t *testing.T, report string) {
	t.Helper()
	var log struct {
		Runs []struct {
			Tool struct {
				Driver struct {
					Version, InformationURI string
					Rules                   []struct {
						ID, HelpURI                             string
						ShortDescription, FullDescription, Help struct{ Text string }
					}
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(report), &log); err != nil {
		t.Fatal(err)
	}
	driver := log.Runs[0].Tool.Driver
	if driver.Version == "" || driver.InformationURI == "" {
		t.Errorf("the tool has no version or no page:\n%s", report)
	}
	for _, rule := range driver.Rules {
		if rule.ShortDescription.Text == "" || rule.FullDescription.Text == "" || rule.Help.Text == "" || rule.HelpURI == "" {
			t.Errorf("%s is not described", rule.ID)
		}
	}
}

// schemaOfSARIF reads the schema from the source of the module that contains it: the
// module validates only its own values.
func schemaOfSARIF(t *testing.T) *gojsonschema.Schema {
	t.Helper()
	var dir bytes.Buffer
	if err := run(".", nil, &dir, "go", "list", "-f", "{{.Dir}}", "github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"); err != nil {
		t.Fatal(err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(strings.TrimSpace(dir.String()), "schema.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	value, is := file.Scope.Lookup("schema").Decl.(*ast.ValueSpec).Values[0].(*ast.BasicLit)
	if !is {
		t.Fatal("schema is not a text")
	}
	text, err := strconv.Unquote(value.Value)
	if err != nil {
		t.Fatal(err)
	}
	schema, err := gojsonschema.NewSchema(gojsonschema.NewStringLoader(text))
	if err != nil {
		t.Fatal(err)
	}
	return schema
}
