package object

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/golden"
)

// TestParse reads each testdata/parse/*.txtar and compares identities, places,
// texts, doubts and faults with want.txt.
func TestParse(t *testing.T) {
	golden.Archives(t, "testdata/parse/*.txtar", func(t *testing.T, in txtar.File) []txtar.File {
		return []txtar.File{golden.Text("want.txt", describe(Parse(in.Name, 1, string(in.Data))))}
	})
}

func TestBinaryFilesAreCalledSo(t *testing.T) {
	for text, want := range map[string]bool{"\x89PNG\r\n\x1a\n\x00\x00: [": true, "a: \x00\n": false, "a: \xff [\n": false,
		"\x7fELF\x00\xff\n---\n\x01\n---\n\x02\n": true, "\xff\xfea\x00:\x00[\x00": false} {
		_, err := Parse("a.yaml", 1, text)
		if err == nil || strings.Contains(err.Error(), "binary file") != want || want && len(finding.Of(err)) != 1 {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func describe(objs []Object, err error) string {
	var b strings.Builder
	for _, o := range objs {
		fmt.Fprintf(&b, "%s:%d: %s\n", o.File, o.Line, o.ID.Qualified())
		for line := range strings.Lines(o.Text()) {
			b.WriteString("  | " + line)
		}
		for _, f := range o.Warnings() {
			fmt.Fprintf(&b, "%s: %s\n", f.Severity, f.Error())
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

// TestParseCorpus reads what real charts render to, sets a wave on every object
// and compares meanings before and after.
func TestParseCorpus(t *testing.T) {
	total := 0
	golden.EachChart(t, func(t *testing.T, text string) {
		objs, err := Parse("corpus", 1, text)
		if err != nil {
			t.Fatal(err)
		}
		total += len(objs)
		for i, o := range objs {
			annotated, err := o.Annotate(waveKey, "50")
			if err != nil {
				t.Fatal(err)
			}
			if len(o.Text()) > 100_000 {
				continue // decoding the largest CRDs takes seconds under -race
			}
			if i%3 == 0 || golden.WholeCorpus() {
				checkAnnotated(t, o.Text(), annotated.Text(), one)
			}
		}
	})
	if total < 1000 {
		t.Errorf("only %d objects in all", total)
	}
}

// TestEach makes sure that all is done once, and that a panic is passed on.
func TestEach(t *testing.T) {
	done := make([]int, 1000)
	Each(len(done), func(i int) { done[i]++ })
	for i, n := range done {
		if n != 1 {
			t.Fatalf("%d was done %d times", i, n)
		}
	}
	defer func() {
		if r := fmt.Sprint(recover()); !strings.HasPrefix(r, "of 7") {
			t.Errorf("got panic %q", r)
		}
	}()
	Each(10, func(i int) {
		if i == 7 {
			panic("of 7")
		}
	})
}
