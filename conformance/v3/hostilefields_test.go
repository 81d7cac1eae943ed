package conformance

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// hostileValues are values, in YAML, that mean something to a template, to YAML, to JSON, to a
// merge patch or to Kubernetes.
var hostileValues = []string{
	`"x\n    server: https://evil.example.com"`,
	`"x\n---\nspec: {project: evil}"`, `"x\r\nproject: evil"`, `"x\0y"`, `"x\u2028y"`, `"\u202eevil"`, `"\uFEFF"`,
	`"{{ .path.path }}"`, `"{{ fail \"x\" }}"`, `"{{"`, `"}}"`, `"{{/*"`, `"{{- range . }}"`, "\"{{ `}}` }}\"",
	`"{{ define \"x\" }}evil{{ end }}"`, `"${X}"`, `"$(X)"`, `"{{path}}"`,
	`"'"`, `"\""`, `"\\"`, `"\\\""`, "\"`\"", `"#"`, `": "`, `"- x"`, `"|"`, `">"`, `"&a"`, `"*a"`, `"!!x"`, `"%"`, `"@"`, `"? x"`, `"{a: b}"`,
	`"[a]"`, `"null"`, `"~"`, `"true"`, `"1e9"`, `"0x1"`, `"010"`, `".inf"`,
	`""`, `" "`, `"\t"`, `"a b"`, `"a,b"`, `"a=b"`, `"../../other"`, `"/etc/passwd"`, `"."`, `"https://evil.example.com"`, `"in-cluster"`,
	`"*"`, `"argocd"`, `"kube-system"`,
	`x`, `3`, `-1`, `1.5`, `99999999999999999999`, `true`, `null`, `.nan`, `2001-01-01`, `!!binary aGk=`, `{}`, `[]`, `{a: b}`,
	`{a: {b: [c]}}`, `[x]`, `[[x]]`, `[{a: b}]`, `[null]`, `[3, true]`,
	`{"$patch": replace}`, `{"$patch": delete}`, `[{"$patch": replace}]`, `{"{{ .x }}": "{{ .y }}"}`, `{"a\nb": "c\nd"}`, `{? [a] : b}`,
	`&a [*a]`, `{name: evil, namespace: evil, server: https://evil.example.com, project: evil}`,
	`"` + strings.Repeat("x", 64) + `"`, `"` + strings.Repeat("x", 254) + `"`, `"` + strings.Repeat("x", 300_000) + `"`,
	strings.Repeat("[", 100) + strings.Repeat("]", 100), strings.Repeat("{a: ", 100) + "b" + strings.Repeat("}", 100),
	`"é"`, `"\U0001F600"`, `"A"`, `"-x"`, `"x-"`, `"x.y"`, `"x/y"`, `"x_y"`, `"argoproj.io/x"`,
}

// TestHostileFields puts each value into the fields of a component.yaml: into all at once, and into some alone.
func TestHostileFields(t *testing.T) {
	text, err := os.ReadFile("../../docs/component.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Properties map[string]any `json:"properties"`
	}
	if err := json.Unmarshal(text, &schema); err != nil || len(schema.Properties) < 20 {
		t.Fatal(len(schema.Properties), err)
	}
	fields := slices.Sorted(maps.Keys(schema.Properties))
	for _, within := range []string{"repoURL", "path", "chart", "version", "valueFiles", "ignoreMissingValueFiles",
		"skipCrds", "releaseName"} {
		fields = append(fields, "chart."+within)
	}
	document := func(field, value string) string {
		if outer, inner, nested := strings.Cut(field, "."); nested {
			return fmt.Sprintf("%s: {repoURL: https://charts.example.com, %s: %s}\n", outer, inner, value)
		}
		return field + ": " + value + "\n"
	}
	sets := generated(t)
	for i, value := range hostileValues {
		all := ""
		for j, field := range fields {
			if !strings.HasPrefix(field, "chart") {
				all += document(field, value)
			}
			if (i+j)%40 == 0 { // each field with a few of the values alone
				attackWith(t, sets[(i/40+j)%len(sets)], document(field, value))
			}
		}
		attackWith(t, sets[i%len(sets)], all)
	}
}

// attackWith attacks with a file that Argo CD can read.
func attackWith(t *testing.T, set *generatedSet, text string) {
	t.Helper()
	var one map[string]any
	if yaml.Unmarshal([]byte(text), &one) != nil {
		return // none of the files would be read
	}
	if set.attack(t, text); t.Failed() {
		t.Fatalf("%s: %.300s", set.fleet, text)
	}
}
