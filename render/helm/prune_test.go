package helm

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/ladder-cmp/ladder/render/input"
)

// TestPrune renders a chart with one memory and values in turn, and makes sure that the output is
// that of a rendering without memory, and how many branches are left out each time.
func TestPrune(t *testing.T) {
	t.Parallel()
	const chart = "apiVersion: v2\nname: a\nversion: 1.0.0\n"
	object := func(name, more string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\n" + more
	}
	templates := map[string]string{
		"whole.yaml": "{{- /* {{ if }} */ -}}\n{{ if and .Values.a (ne \"}}{{ end }}\" `{{`) -}}\n" +
			object("{{ .Release.Name }}", "") + "{{- end }}\n",
		"else.yaml": object("else", "data:\n  {{- if .Values.a }}\n  is: a{{ .Values.a }}\n  {{- else if .Values.b }}\n  is: b{{ .Values.b }}\n"+
			"  {{- else }}\n  is: {{ .Values.c | quote }}\n  {{- end }}\n"),
		"nested.yaml": object("nested",
			"data:\n  x: y\n  {{- with .Values.b }}\n  b: \"{{ . }}{{ range $.Values.list }}{{ if eq (int .) 2 }}{{ break }}{{ end }}"+
				"{{ . }}{{ end }}\"\n  {{- end }}\n"),
		"_part.tpl": "{{ define \"part\" }}{{ if .Values.a }}{{ .Values.a }}{{ else }}none{{ end }}{{ end }}",
		"included.yaml": object("included",
			"data:\n  sum: {{ include (print $.Template.BasePath \"/whole.yaml\") . | sha256sum }}\n  part: {{ include \"part\" . | quote }}\n"),
		"context.yaml": object("context",
			"data:\n  sum: {{ include \"a/templates/nested.yaml\" (dict \"Values\" (dict \"b\" .Values.d \"list\" .Values.list)) | sha256sum }}\n"),
		"set.yaml": "{{ if .Values.b }}{{ $_ := set .Values \"c\" (print .Values.c \"+\") }}{{ end }}",
		"defines.yaml": "{{ if false }}{{ block \"late\" . }}late{{ end }}{{ .Values.a }}{{ end }}" +
			object("defines", "data: {a: {{ template \"late\" }}}\n"),
		"tpl.yaml": object("tpl", "data: {a: {{ tpl \"{{ if .Values.a }}{{ .Values.a }}{{ end }}\" . | quote }}}\n"),
	}
	render := func(values string, memory *input.Memory, prune bool) (string, error) {
		files := fstest.MapFS{"c/Chart.yaml": {Data: []byte(chart)}, "c/values.yaml": {Data: []byte(values)}}
		for name, text := range templates {
			files["c/templates/"+name] = &fstest.MapFile{Data: []byte(text)}
		}
		res, err := Render(t.Context(), input.Source{FS: files, Dir: "c"},
			Options{Name: "r", Namespace: "n", KubeVersion: "1.34.0", Memory: memory, Prune: prune})
		var out strings.Builder
		for _, d := range res.Documents {
			d.Print(&out)
		}
		return out.String(), err
	}
	countPruned := func(memory *input.Memory) (n int) {
		for _, text := range templates {
			if p, ok := memory.Template(sha256.Sum256([]byte(text))).(pruned); ok {
				n += strings.Count(string(p.text), "{{"+notePruned)
			}
		}
		return n
	}
	const off, a, b = "c: 1\nlist: [1, 2, 3]\n", "a: 1\nc: 1\nlist: [1, 2, 3]\n", "b: 1\nc: 1\nlist: [1, 2, 3]\n"
	memory := input.NewMemory(1 << 20)
	var got []string
	for i, values := range []string{off, off, off, off, "d: 1\n" + off, off, a, a, "d: 1\n" + a, "a: {{\n", b, "b: {x: 1\n", b,
		"b: 1\nlist: 1\n", off} {
		want, wantErr := render(values, nil, true)
		out, err := render(values, memory, true)
		repeated := ""
		if errors.Is(err, ErrPruned) {
			repeated = " repeated"
			out, err = render(values, memory, false)
		}
		if out != want || fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Errorf("rendering %d: got %v\n%s\nwant %v\n%s", i, err, out, wantErr, want)
		}
		got = append(got, fmt.Sprint(countPruned(memory), repeated))
	}
	want := []string{"0", "0", "5", "5", "4 repeated", "4", "2 repeated", "2", "2", "2", "0 repeated", "0", "0", "0", "0"}
	if !slices.Equal(got, want) {
		t.Errorf("branches left out after each rendering: got %q, want %q", got, want)
	}
}

// TestPrunedTexts makes sure that what looks like a branch and is none stays in a template.
func TestPrunedTexts(t *testing.T) {
	t.Parallel()
	for text, branches := range map[string]int{
		"{{ if .a }}{{ .b }}{{ end }}":                                                1,
		"{{if .a}}{{.b}}{{else}}{{.c}}{{end}}":                                        2,
		"{{- if .a -}} {{- .b -}} {{- else if .c -}} {{ . }} {{- end -}}":             2,
		"{{ if .a }}b{{ else }}c{{ end }}":                                            0,
		"{{ if eq .a \"{{ end }}\" }}{{ .b }}{{ end }}":                               1,
		"{{ if eq .a `}}\"` }}{{ .b }}{{ end }}":                                      1,
		"{{ if eq .a '}' }}{{ .b }}{{ end }}":                                         1,
		"{{/* if \" */}}{{ if .a }}{{ .b }}{{ end }}":                                 1,
		"{{- /* {{ if }} */ -}}{{ if .a }}{{ .b }}{{ end }}":                          1,
		"{{ define \"x\" }}{{ if .a }}{{ .b }}{{ end }}{{ end }}":                     0,
		"{{ if .a }}{{ block \"x\" . }}{{ end }}{{ end }}":                            0,
		"{{ if(eq .a 1) }}{{ .b }}{{ end }}":                                          1,
		"{{ range $i, $x := .a }}{{ if $x }}{{ continue }}{{ end }}{{ $i }}{{ end }}": 2,
		"{{ $x := 1 }}{{ if .a }}{{ $x = 2 }}{{ end }}{{ $x }}":                       1,
		"{{ end }}": 0, "{{ if .a }}{{ .b }}": 0, "{{ else }}": 0, "{{ if": 0, "{{/*": 0, "": 0, "{{ if .a }}{{ `x": 0,
	} {
		known := marked("id", text)
		if len(known.branches) != branches || (known.text != nil) != (branches > 0) {
			t.Errorf("%s: got %d branches, want %d; %s", text, len(known.branches), branches, known.text)
			continue
		}
		if branches > 0 {
			u := prunedUse{pruned: known, whole: text, calls: make([]bool, branches)}
			if now := u.learn("id"); !isPruned(text, string(now.text)) || strings.Count(string(now.text), notePruned) == 0 {
				t.Errorf("%s: no branch ran, got %s", text, now.text)
			}
		}
	}
	if secret := "kind: Secret\n{{ if .a }}{{ .b }}{{ end }}"; marked("id", secret).text != nil {
		t.Error("the template of a Secret is kept")
	}
	for _, other := range []string{"{{ if .a }}{{ .c }}{{ end }}", "{{ if .a }}{{ .b }}{{ end }} ", "{{ if .x }}{{ .b }}{{ end }}",
		"{{ with .a }}{{ .b }}{{ end }}",
		"{{ if .a }}{{ .b }}{{ else }}{{ end }}", "{{ if .a }}{{ .b }}{{ " + notePruned + " 1 }}{{ end }}", "{{ if"} {
		if isPruned("{{ if .a }}{{ .b }}{{ end }}", other) {
			t.Errorf("%s is called a pruned template", other)
		}
	}
}
