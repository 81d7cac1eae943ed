package object

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"

	"github.com/ladder-cmp/ladder/internal/golden"
)

const waveKey = "argocd.argoproj.io/sync-wave"

// TestAnnotate sets a wave in each testdata/annotate/*.txtar and compares the
// text, and what the text says, with want.yaml.
func TestAnnotate(t *testing.T) {
	golden.Archives(t, "testdata/annotate/*.txtar", func(t *testing.T, in txtar.File) []txtar.File {
		got := annotateText(t, string(in.Data), one)
		checkAnnotated(t, string(in.Data), got, one)
		checkAnnotated(t, string(in.Data), annotateText(t, string(in.Data), several), several)
		return []txtar.File{golden.Text("want.yaml", got)}
	})
}

// one and several are what the tests set.
var (
	one     = []Annotation{{waveKey, "50"}}
	several = []Annotation{{waveKey, "50"}, {"argocd.argoproj.io/sync-options", "Prune=false,ServerSideApply=true"}, {"c", ""}}
)

func annotateText(t testing.TB, in string, all []Annotation) string {
	t.Helper()
	objs, err := Parse("in.yaml", 1, in)
	if err != nil || len(objs) != 1 {
		t.Fatalf("Parse: %d objects, %v", len(objs), err)
	}
	o, err := objs[0].AnnotateAll(all)
	if err != nil {
		t.Fatalf("Annotate: %v", err)
	}
	checkView(t, o)
	return o.Text()
}

// checkView compares what an annotated object says with what its text says.
func checkView(t testing.TB, o Object) {
	t.Helper()
	root, err := parseText(o.Text())
	if err != nil {
		t.Fatal(err)
	}
	// cmp.Diff takes much longer, also for what is equal.
	if want, got := read(Value{root}), read(o.Root()); !reflect.DeepEqual(want, got) {
		t.Errorf("the object says something else than its text (-text +object):\n%s", cmp.Diff(want, got))
	}
}

// read is all that can be seen of a value.
func read(v Value) any {
	switch {
	case v.IsMap():
		var all []any
		for _, f := range v.Fields() {
			all = append(all, f.Key, read(f.Value))
		}
		return all
	case v.IsList():
		all := []any{"-"}
		for _, item := range v.Items() {
			all = append(all, read(item))
		}
		return all
	}
	return []any{v.Text(), v.IsText(), v.Exists()}
}

// checkAnnotated holds the promise of Annotate against a second opinion: the
// edited text, decoded, is the original, decoded, plus the annotations; and
// annotating once more changes nothing.
func checkAnnotated(t testing.TB, before, after string, all []Annotation) {
	t.Helper()
	want, got := decode(t, before), decode(t, after)
	meta := want["metadata"].(map[string]any)
	annotations := map[string]any{}
	if old, ok := meta["annotations"].(map[string]any); ok {
		for k, v := range old {
			annotations[k] = v
		}
	}
	for _, a := range all {
		annotations[a.Key] = a.Value
	}
	copied := map[string]any{}
	for k, v := range meta {
		copied[k] = v
	}
	copied["annotations"] = annotations
	want["metadata"] = copied
	if !reflect.DeepEqual(want, got) {
		t.Errorf("meaning changed (-want +got):\n%s\ntext:\n%s", cmp.Diff(want, got), after)
	}
	if again := annotateText(t, after, all); again != after {
		t.Errorf("annotating twice changed the text:\n%s", cmp.Diff(after, again))
	}
}

// decode reads a manifest with the library of Kubernetes and Argo CD.
func decode(t testing.TB, text string) map[string]any {
	t.Helper()
	m := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &m); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return m
}

// TestFirstLine makes sure that the first line needs no text with annotations, unless they are in it.
func TestFirstLine(t *testing.T) {
	for _, tt := range []struct {
		text string
		made bool
	}{
		{"# Source: a/templates/b.yaml\napiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n", false},
		{"metadata:\n  name: a\napiVersion: v1\nkind: Pod\n", false},
		{"{apiVersion: v1, kind: Pod, metadata: {name: a}}\n", true},
	} {
		o, err := Parse("", 0, tt.text)
		if err != nil {
			t.Fatal(err)
		}
		for i, value := range []string{"1", "2"} {
			if o[0], err = o[0].Annotate("a", value); err != nil {
				t.Fatal(err)
			}
			got := o[0].FirstLine()
			if made := o[0].doc.text != ""; made != tt.made {
				t.Errorf("%q: the whole text is made: %v, want %v, after %d edits", tt.text, made, tt.made, i+1)
			}
			if want, _, _ := strings.Cut(o[0].Text(), "\n"); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
		if got := o[0].WithComment("# b").FirstLine(); got != "# b" {
			t.Errorf("got %q, want the comment", got)
		}
	}
}
