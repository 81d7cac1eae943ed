package conformance

import (
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/ladder-cmp/ladder/component"
)

// hostileValues are values, in YAML, that mean something to a template, to YAML, to JSON, to a
// merge patch or to Kubernetes.
var hostileValues = []string{
	`"x\n    server: https://evil.example.com"`, `"x\n---\nspec: {project: evil}"`, `"x\r\nproject: evil"`, `"x\0y"`, `"x\u2028y"`, `"\u202eevil"`, `"\uFEFF"`,
	`"{{ .path.path }}"`, `"{{ fail \"x\" }}"`, `"{{"`, `"}}"`, `"{{/*"`, `"{{- range . }}"`, "\"{{ `}}` }}\"", `"{{ define \"x\" }}evil{{ end }}"`, `"${X}"`, `"$(X)"`, `"{{path}}"`,
	`"'"`, `"\""`, `"\\"`, `"\\\""`, "\"`\"", `"#"`, `": "`, `"- x"`, `"|"`, `">"`, `"&a"`, `"*a"`, `"!!x"`, `"%"`, `"@"`, `"? x"`, `"{a: b}"`, `"[a]"`, `"null"`, `"~"`, `"true"`, `"1e9"`, `"0x1"`, `"010"`, `".inf"`,
	`""`, `" "`, `"\t"`, `"a b"`, `"a,b"`, `"a=b"`, `"../../other"`, `"/etc/passwd"`, `"."`, `"https://evil.example.com"`, `"in-cluster"`, `"*"`, `"argocd"`, `"kube-system"`,
	`x`, `3`, `-1`, `1.5`, `99999999999999999999`, `true`, `null`, `.nan`, `2001-01-01`, `!!binary aGk=`, `{}`, `[]`, `{a: b}`, `{a: {b: [c]}}`, `[x]`, `[[x]]`, `[{a: b}]`, `[null]`, `[3, true]`,
	`{"$patch": replace}`, `{"$patch": delete}`, `[{"$patch": replace}]`, `{"{{ .x }}": "{{ .y }}"}`, `{"a\nb": "c\nd"}`, `{? [a] : b}`, `&a [*a]`, `{name: evil, namespace: evil, server: https://evil.example.com, project: evil}`,
	`"` + strings.Repeat("x", 64) + `"`, `"` + strings.Repeat("x", 254) + `"`, `"` + strings.Repeat("x", 300_000) + `"`, strings.Repeat("[", 100) + strings.Repeat("]", 100), strings.Repeat("{a: ", 100) + "b" + strings.Repeat("}", 100),
	`"é"`, `"\U0001F600"`, `"A"`, `"-x"`, `"x-"`, `"x.y"`, `"x/y"`, `"x_y"`, `"argoproj.io/x"`,
}

// TestHostileFields puts each value into each field of a component.yaml.
func TestHostileFields(t *testing.T) {
	fields := component.Keys()
	for _, within := range []string{"repoURL", "path", "chart", "version", "valueFiles", "ignoreMissingValueFiles", "skipCrds", "releaseName"} {
		fields = append(fields, "chart."+within)
	}
	sets := generated(t)
	for _, field := range fields {
		t.Run(field, func(t *testing.T) {
			for _, value := range hostileValues {
				text := field + ": " + value + "\n"
				if outer, inner, nested := strings.Cut(field, "."); nested {
					text = fmt.Sprintf("%s: {repoURL: https://charts.example.com, %s: %s}\n", outer, inner, value)
				}
				var one map[string]any
				if yaml.Unmarshal([]byte(text), &one) != nil {
					continue // not YAML: Argo CD reads none of the files
				}
				for _, set := range sets {
					if t.Failed() {
						t.Fatalf("%s: %.300s", set.fleet, text)
					}
					set.attack(t, text)
				}
			}
		})
	}
}
