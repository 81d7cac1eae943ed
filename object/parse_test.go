package object

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/ladder-cmp/ladder/finding"
)

// TestParse reads each testdata/parse/*.txtar and compares identities, places,
// texts and faults with want.txt.
func TestParse(t *testing.T) {
	files, err := filepath.Glob("testdata/parse/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			in := ar.Files[0]
			objs, err := Parse(in.Name, 1, string(in.Data))
			got := describe(objs, err)
			if *update {
				ar.Files = append(ar.Files[:1], txtar.File{Name: "want.txt", Data: []byte(got)})
				if err := os.WriteFile(file, txtar.Format(ar), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if len(ar.Files) < 2 {
				t.Fatal("no want.txt; run with -update")
			}
			if diff := cmp.Diff(string(ar.Files[1].Data), got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func describe(objs []Object, err error) string {
	var b strings.Builder
	for _, o := range objs {
		fmt.Fprintf(&b, "%s:%d: %s\n", o.File, o.Line, o.ID.Qualified())
		for line := range strings.Lines(o.Text()) {
			b.WriteString("  | " + line)
		}
	}
	for _, f := range finding.Of(err) {
		fmt.Fprintf(&b, "%s\n", f.Error())
	}
	return b.String()
}

// TestSchemasAreNotRead makes sure that the shortcut for CRDs is taken, and
// that whatever it leaves out can still be invalid on its own: the text goes
// to the cluster as it is.
func TestSchemasAreNotRead(t *testing.T) {
	crd := `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: shops.example.com
spec:
  group: example.com
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        description: "a
 b"
        # comment
      # comment to the left
        properties: {}
    served: true
  - schema:
      openAPIV3Schema: {type: object}
    name: v2
`
	objs, err := Parse("crd.yaml", 1, strings.Replace(crd, "\n b\"", "\n         b\"", 1))
	if err != nil {
		t.Fatal(err)
	}
	versions := objs[0].Get("spec", "versions").Items()
	if len(versions) != 2 || versions[1].Get("name").Text() != "v2" || !versions[0].Get("served").True() {
		t.Errorf("the rest of the CRD was not read: %d versions", len(versions))
	}
	if versions[0].Get("schema", "openAPIV3Schema").Exists() {
		t.Error("the schema was read")
	}
	if !versions[1].Get("schema", "openAPIV3Schema").Exists() {
		t.Error("a schema in flow style was cut")
	}

	// A scalar that hangs to the left makes the cut end too early; then all
	// of the text is read.
	objs, err = Parse("crd.yaml", 1, crd)
	if err != nil {
		t.Fatal(err)
	}
	if !objs[0].Get("spec", "versions").Items()[0].Get("schema", "openAPIV3Schema").Exists() {
		t.Error("the text was not read again in full")
	}
}

// TestParseCorpus reads what 44 real charts render to, sets a wave on every
// object and compares meanings before and after.
func TestParseCorpus(t *testing.T) {
	total := 0
	for _, file := range corpus(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			objs, err := Parse(file, 1, gunzip(t, file))
			if err != nil {
				t.Fatal(err)
			}
			total += len(objs)
			for _, o := range objs {
				annotated, err := o.Annotate(waveKey, "50")
				if err != nil {
					t.Fatal(err)
				}
				if len(o.Text()) > 100_000 {
					continue // decoding the largest CRDs takes seconds under -race
				}
				checkAnnotated(t, o.Text(), annotated.Text())
			}
		})
	}
	if total < 1000 {
		t.Errorf("only %d objects in all", total)
	}
}
