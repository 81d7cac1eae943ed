package order_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ladder-cmp/ladder/argocd"
	"github.com/ladder-cmp/ladder/fleet/order"
	"github.com/ladder-cmp/ladder/internal/golden"
	"github.com/ladder-cmp/ladder/object"
)

var app = object.ID{Group: "argoproj.io", Kind: "Application", Name: "a"}

// wave is the change of a sync wave.
func wave(id object.ID, line int, to string) order.Change {
	return order.Change{ID: id, Line: line, Path: []any{"metadata", "annotations", object.SyncWave}, Value: to}
}

func TestEdit(t *testing.T) {
	const head = "apiVersion: argoproj.io/v1alpha1\nkind: Application\n"
	for name, c := range map[string]struct{ text, want string }{
		"another value": {head + "metadata:\n  name: a\n  annotations:\n    # why\n    argocd.argoproj.io/sync-wave: \"3\"  # later\n    b: c\n",
			head + "metadata:\n  name: a\n  annotations:\n    # why\n    argocd.argoproj.io/sync-wave: \"7\"  # later\n    b: c\n"},
		"single quotes": {head + "metadata: {name: a, annotations: {argocd.argoproj.io/sync-wave: '-3'}}\n",
			head + "metadata: {name: a, annotations: {argocd.argoproj.io/sync-wave: '7'}}\n"},
		"a number": {head + "metadata:\n  name: a\n  annotations:\n    argocd.argoproj.io/sync-wave: 3\n",
			head + "metadata:\n  name: a\n  annotations:\n    argocd.argoproj.io/sync-wave: \"7\"\n"},
		"other annotations": {head + "metadata:\n    name: a\n    annotations:\n        b: c # d\n\n    labels: {}\n",
			head + "metadata:\n    name: a\n    annotations:\n        b: c # d\n        argocd.argoproj.io/sync-wave: \"7\"\n\n    labels: {}\n"},
		"no annotations": {head + "metadata:\n  name: a # it\n\nspec: {}\n",
			head + "metadata:\n  name: a # it\n  annotations:\n    argocd.argoproj.io/sync-wave: \"7\"\n\nspec: {}\n"},
		"no final newline": {head + "metadata:\n  name: a",
			head + "metadata:\n  name: a\n  annotations:\n    argocd.argoproj.io/sync-wave: \"7\""},
		"other line ends": {strings.ReplaceAll(head+"metadata:\n  name: a\n", "\n", "\r\n"),
			strings.ReplaceAll(head+"metadata:\n  name: a\n  annotations:\n    argocd.argoproj.io/sync-wave: \"7\"\n", "\n", "\r\n")},
		"in braces": {head + "metadata: {name: a}\n",
			head + "metadata: {annotations: {argocd.argoproj.io/sync-wave: \"7\"}, name: a}\n"},
		"empty braces": {head + "metadata:\n  annotations: {}\n  name: a\n",
			head + "metadata:\n  annotations: {argocd.argoproj.io/sync-wave: \"7\"}\n  name: a\n"},
		"nothing": {head + "metadata:\n  annotations: # none\n  name: a\n",
			head + "metadata:\n  annotations: # none\n    argocd.argoproj.io/sync-wave: \"7\"\n  name: a\n"},
		"null": {head + "metadata:\n  annotations: null\n  name: a\n",
			head + "metadata:\n  annotations: {argocd.argoproj.io/sync-wave: \"7\"}\n  name: a\n"},
		"the last of several": {"# x\n---\n" + head + "metadata:\n  name: b\n---\n" + head + "metadata:\n  name: a\n---\n# end\n",
			"# x\n---\n" + head + "metadata:\n  name: b\n---\n" + head +
				"metadata:\n  name: a\n  annotations:\n    argocd.argoproj.io/sync-wave: \"7\"\n---\n# end\n"},
		"in a list": {
			"apiVersion: v1\nkind: List\nitems:\n- kind: Application\n  apiVersion: argoproj.io/v1alpha1\n  metadata:\n    name: a\n- kind: X\n",
			"apiVersion: v1\nkind: List\nitems:\n- kind: Application\n  apiVersion: argoproj.io/v1alpha1\n  metadata:\n    name: a\n" +
				"    annotations:\n      argocd.argoproj.io/sync-wave: \"7\"\n- kind: X\n"},
		"JSON": {"{\n\t\"apiVersion\": \"argoproj.io/v1alpha1\", \"kind\": \"Application\",\n\t\"metadata\": {\n\t\t\"name\": \"a\"\n\t}\n}\n",
			"{\n\t\"apiVersion\": \"argoproj.io/v1alpha1\", \"kind\": \"Application\",\n\t\"metadata\": {\n" +
				"\t\t\"annotations\": {\"argocd.argoproj.io/sync-wave\": \"7\"},\n\t\t\"name\": \"a\"\n\t}\n}\n"},
		"a byte order mark": {"\ufeff" + head + "metadata: {name: a}",
			"\ufeff" + head + "metadata: {annotations: {argocd.argoproj.io/sync-wave: \"7\"}, name: a}"},
		"shared":    {head + "metadata:\n  name: a\n  labels: &x\n    b: c\n  annotations: *x\n", ""},
		"an anchor": {head + "metadata: {name: a, annotations: &x {b: c}, labels: *x}\n", ""},
		"merged":    {head + "x: &x {b: c}\nmetadata:\n  name: a\n  annotations:\n    <<: *x\n", ""},
		"not YAML":  {head + "metadata: {name: a\n", ""},
		"another":   {head + "metadata: {name: b}\n", ""},
	} {
		got, err := order.Edit(c.text, []order.Change{wave(app, 1, "7")})
		if (err != nil) != (c.want == "") || got != c.want {
			t.Errorf("%s: %v, got\n%s\nwant\n%s", name, err, got, c.want)
		}
	}
}

// TestEditTestdata sets the wave of Applications in testdata: by default of the first two and the
// last of a file, and with LADDER_CORPUS=whole of all.
func TestEditTestdata(t *testing.T) {
	edited := 0
	err := filepath.WalkDir("../../testdata", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(name) != ".yaml" {
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		objs, err := object.Parse(name, 1, string(text))
		if err != nil {
			return nil // a template
		}
		objs = slices.DeleteFunc(objs, func(o object.Object) bool { return !argocd.IsApplication(o.ID) && !argocd.IsSet(o.ID) })
		for i, o := range objs {
			if i > 1 && i < len(objs)-1 && !golden.WholeCorpus() {
				continue // generated like the one before
			}
			edited++
			checkWrite(t, string(text), o)
		}
		return nil
	})
	if err != nil || edited < 20 {
		t.Errorf("%d Applications, %v", edited, err)
	}
}

// checkWrite sets a wave: writing twice changes nothing more, and what was there can be written
// again.
func checkWrite(t *testing.T, text string, o object.Object) {
	t.Helper()
	first, err := order.Edit(text, []order.Change{wave(o.ID, o.Line, "41")})
	if err != nil {
		t.Errorf("%s: %v", o.File, err)
		return
	}
	again, err := order.Edit(first, []order.Change{wave(o.ID, o.Line, "41")})
	if err != nil || again != first {
		t.Errorf("%s: a second time, %v:\n%s", o.File, err, again)
	}
	if old := o.Get("metadata", "annotations", object.SyncWave); old.Exists() {
		if back, err := order.Edit(first, []order.Change{wave(o.ID, o.Line, old.Text())}); err != nil || back != text {
			t.Errorf("%s: back, %v:\n%s", o.File, err, back)
		}
		return
	}
	if lines := strings.Count(first, "\n") - strings.Count(text, "\n"); lines > 3 || len(first)-len(text) > 120 {
		t.Errorf("%s: %d more lines", o.File, lines)
	}
}

// FuzzEdit edits odd texts: what is written can be written again, and nothing else changes, which
// Edit verifies itself.
func FuzzEdit(f *testing.F) {
	const head = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata:\n"
	for _, text := range []string{
		head + "  name: a", head + "  {name: a,\n  annotations: {? b : c}}", head + "  name: a\n  annotations:\n    ? b\n    : c\n",
		head + "  name: a\n  annotations: !!map\n    b: |\n      c\n\n  # d\n",
		"{\"apiVersion\": \"argoproj.io/v1\",\n\"kind\": \"Application\", \"metadata\": {\n\"name\": \"a\"}}",
		head + "  annotations: &x\n    argocd.argoproj.io/sync-wave: &y \"1\"\n  name: a\n---\n" + head + "  name: a\n  annotations:\r\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		first, err := order.Edit(text, []order.Change{wave(app, 1, "7")})
		if err != nil {
			return
		}
		if again, err := order.Edit(first, []order.Change{wave(app, 1, "7")}); err != nil || again != first {
			t.Errorf("a second time, %v:\n%q\n%q", err, first, again)
		}
	})
}
