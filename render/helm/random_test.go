package helm

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/ladder-cmp/ladder/render/input"
	"github.com/ladder-cmp/ladder/render/random"
)

// drawing is a chart whose templates generate passwords: by themselves, by a helper, by a
// text of the values, by including each other, and in a subchart that it has twice.
var drawing = fstest.MapFS{
	"Chart.yaml": {Data: []byte("apiVersion: v2\nname: shop\nversion: 1.0.0\n" +
		"dependencies: [{name: db, version: 1.0.0, alias: one}, {name: db, version: 1.0.0, alias: two}]\n")},
	"values.yaml":            {Data: []byte("text: '{{ randAlphaNum 20 }}'\n")},
	"templates/_helpers.tpl": {Data: []byte(`{{ define "password" }}{{ randAlphaNum 20 }}{{ end }}`)},
	"templates/a.yaml":       {Data: []byte("a: {{ include \"password\" . }}\nb: {{ tpl .Values.text . }}\n")},
	"templates/a.yaml.txt":   {Data: []byte("c: {{ randAlphaNum 20 }}\n")},
	"templates/b.yaml": {
		Data: []byte("d: {{ include \"password\" . }}\ne: {{ include (print .Template.BasePath \"/a.yaml\") . | sha256sum }}\n")},
	"templates/z/a.yaml":   {Data: []byte("f: {{ randAlphaNum 20 }}\n")},
	"templates/NOTES.txt":  {Data: []byte("{{ randAlphaNum 20 }}")},
	"charts/db/Chart.yaml": {Data: []byte("apiVersion: v2\nname: db\nversion: 1.0.0\n")},
	"charts/db/templates/secret.yaml": {
		Data: []byte("apiVersion: v1\nkind: Secret\nmetadata: {name: {{ .Chart.Name }}}\nstringData: {g: {{ randAlphaNum 20 }}}\n")},
	"charts/db/templates/service.yaml": {Data: []byte("apiVersion: v1\nkind: Service\nmetadata: {name: {{ .Chart.Name }}}\n")},
}

func derived(t *testing.T) *random.Rendering {
	t.Helper()
	s, err := random.ParseSeed([]byte(strings.Repeat("0123456789abcdef", 2)))
	if err != nil {
		t.Fatal(err)
	}
	key := s.Key(random.Owner{Project: "default", Name: "shop", Namespace: "shop"})
	return random.New(random.Source{Key: &key, Now: time.Unix(1_800_000_000, 0)})
}

// renderFiles renders the chart with some files instead of its own.
func renderFiles(t *testing.T, r *random.Rendering, files fstest.MapFS) (Result, string) {
	t.Helper()
	chart := fstest.MapFS{}
	for _, all := range []fstest.MapFS{drawing, files} {
		for name, f := range all {
			chart[name] = f
		}
	}
	res, err := Render(context.Background(), input.Source{FS: chart, Dir: "."},
		Options{Name: "shop", Namespace: "shop", KubeVersion: "1.36.0", Random: r})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, d := range res.Documents {
		d.Print(&b)
	}
	return res, b.String()
}

var password = regexp.MustCompile(`(?m)[a-g]: ([0-9A-Za-z]{20})\b`)

// TestDerivedByTemplate: each call of each template has a value of its own, and the markers
// by which templates are told apart leave nothing behind.
func TestDerivedByTemplate(t *testing.T) {
	_, text := renderFiles(t, derived(t), nil)
	if _, again := renderFiles(t, derived(t), nil); text != again {
		t.Errorf("the second rendering differs:\n%s\n%s", text, again)
	}
	if strings.Contains(text, "\x00") || strings.Contains(text, enter) {
		t.Errorf("a marker is left:\n%s", text)
	}
	var all []string
	for _, m := range password.FindAllStringSubmatch(text, -1) {
		if slices.Contains(all, m[1]) {
			t.Errorf("%s comes twice:\n%s", m[1], text)
		}
		all = append(all, m[1])
	}
	if len(all) != 7 {
		t.Errorf("%d passwords, want those of a, b, c, d, f and of two subcharts:\n%s", len(all), text)
	}
}

// TestDerivedStays: a value stays when others come and go in other templates, whether they
// run before it or behind it.
func TestDerivedStays(t *testing.T) {
	_, before := renderFiles(t, derived(t), nil)
	_, after := renderFiles(t, derived(t), fstest.MapFS{
		"Chart.yaml": {
			Data: []byte("apiVersion: v2\nname: shop\nversion: 1.0.1\ndependencies: [{name: db, version: 1.0.0, alias: two}]\n")},
		"templates/a.yaml":       {Data: []byte("a: {{ include \"password\" . }}\n")},
		"templates/aa.yaml":      {Data: []byte("b: {{ randAlphaNum 20 }}\n")},
		"templates/z/a.yaml":     {Data: []byte("e: none\n")},
		"templates/z/zz/aa.yaml": {Data: []byte("f: {{ randAlphaNum 20 }}\n")},
	})
	value := func(text, key, source string) string {
		_, text, _ = strings.Cut(text, "# Source: "+source+"\n")
		text, _, _ = strings.Cut(text, "---")
		return regexp.MustCompile(key + `: (\w*)`).FindString(text)
	}
	for source, key := range map[string]string{"shop/templates/a.yaml": "a", "shop/templates/b.yaml": "d",
		"shop/charts/two/templates/secret.yaml": "g"} {
		if a, b := value(before, key, source), value(after, key, source); a == "" || a != b {
			t.Errorf("%s: %q became %q\n%s", source, a, b, after)
		}
	}
}

// TestChangingObjects: without a seed, a note names the objects of the templates that
// generate something, and of no others.
func TestChangingObjects(t *testing.T) {
	res, text := renderFiles(t, nil, nil)
	if _, again := renderFiles(t, nil, nil); text == again {
		t.Error("the same without a seed")
	}
	var notes []string
	for _, f := range res.Findings {
		if f.Rule == Random {
			notes = append(notes, f.Error())
		}
	}
	want := "Secret one, Secret two differ on every render, because their templates call randAlphaNum;"
	if len(notes) != 1 || !strings.Contains(notes[0], want) || !strings.Contains(notes[0], "--seed-file") {
		t.Errorf("got %v, want one with %s", notes, want)
	}
	if res, _ := renderFiles(t, derived(t), nil); len(res.Findings) > 0 {
		t.Errorf("notes with a seed: %v", res.Findings)
	}
}
