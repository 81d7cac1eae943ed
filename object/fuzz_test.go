package object

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"
)

// FuzzAnnotate holds the promise of Annotate on any text: whatever manifests
// are in it, an annotated one says what it said before plus the annotation,
// and annotating it again changes nothing.
func FuzzAnnotate(f *testing.F) {
	for _, text := range seeds(f) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		objs, _ := Parse("fuzz.yaml", 1, text)
		for _, o := range objs {
			if yaml.Unmarshal([]byte(o.Text()), &map[string]any{}) != nil || !agreed(o) {
				continue // Kubernetes would not read it, or not as we do
			}
			for _, all := range [][]Annotation{one, several} {
				annotated, err := o.AnnotateAll(all)
				if err == nil {
					checkAnnotated(t, o.Text(), annotated.Text(), all)
				} else if !strings.Contains(err.Error(), "metadata.annotations") {
					t.Errorf("the error does not say where: %v", err)
				}
			}
		}
	})
}

// seeds are the inputs of the other tests.
func seeds(f *testing.F) []string {
	f.Helper()
	var texts []string
	for _, pattern := range []string{"testdata/annotate/*.txtar", "testdata/parse/*.txtar"} {
		files, _ := filepath.Glob(pattern)
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			texts = append(texts, string(txtar.Parse(data).Files[0].Data))
		}
	}
	return texts
}

// bareTag is the tag "!", which says that a scalar is a string. The library of
// Kubernetes knows it, ours does not.
var bareTag = regexp.MustCompile(`!([\s,\]}]|$)`)

// agreed reports whether the two YAML libraries read the same. They differ in
// corners that no manifest has.
func agreed(o Object) bool {
	if bareTag.MatchString(o.Text()) {
		return false
	}
	var head struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Metadata   struct {
			Name         string            `json:"name"`
			GenerateName string            `json:"generateName"`
			Annotations  map[string]string `json:"annotations"`
		} `json:"metadata"`
	}
	if err := yaml.Unmarshal([]byte(o.Text()), &head); err != nil || !textKeys(o.Root()) {
		return false
	}
	return head.APIVersion == o.APIVersion && head.Kind == o.ID.Kind && (head.Metadata.Name == o.ID.Name || o.Generated)
}

// textKeys reports whether every key is a string. Others, such as 0 and .0,
// can become the same key of JSON, and then chance decides which one counts.
func textKeys(v Value) bool {
	for _, f := range v.Fields() {
		if f.key.Tag != "!!str" || !textKeys(f.Value) {
			return false
		}
	}
	for _, item := range v.Items() {
		if !textKeys(item) {
			return false
		}
	}
	return true
}

// FuzzParse reads any text twice: the manifests found in it, put behind each
// other, are found again with the same identity and text.
func FuzzParse(f *testing.F) {
	for _, text := range seeds(f) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		objs, err := Parse("fuzz.yaml", 1, text)
		if err != nil {
			return
		}
		var all strings.Builder
		for _, o := range objs {
			all.WriteString("---\n" + o.Text())
		}
		again, err := Parse("again.yaml", 1, all.String())
		if err != nil {
			t.Fatalf("what was read once is not read again: %v\n%s", err, all.String())
		}
		if len(again) != len(objs) {
			t.Fatalf("%d objects, and then %d in\n%s", len(objs), len(again), all.String())
		}
		for i := range objs {
			if objs[i].ID != again[i].ID || objs[i].Text() != again[i].Text() {
				t.Errorf("%s became %s:\n%s", objs[i].ID, again[i].ID, again[i].Text())
			}
		}
	})
}
