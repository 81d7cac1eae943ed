package helm

import (
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"
)

// TestPrintsRevision names ways by which a template can get at the revision.
// One that is missed would show an old commit from the cache.
func TestPrintsRevision(t *testing.T) {
	for text, want := range map[string]bool{
		"a: {{ .Release.Name }}-{{ .Release.Namespace }} {{ .Release.Service }}":     false,
		`{{ include "labels" . }} {{ tpl .Values.text $ }} {{ .Values.a | toYaml }}`: false,
		`{{- with .Values.a }}{{ . }}{{ toYaml . | nindent 2 }}{{ end }}`:            true, // who knows what the dot is
		"{{ .Release.Revision }}":                     true,
		"{{ $.Release.Revision | quote }}":            true,
		`{{ index .Release "Re" }}`:                   true,
		"{{ toYaml .Release }}":                       true,
		"{{ with .Release }}{{ .Revision }}{{ end }}": true,
		"{{ $r := .Release }}":                        true,
		"{{ toJson . }}":                              true,
		"{{ . | toJson }}":                            true,
		"{{ $ | toJson }}":                            true,
		`{{ printf "%v" $ }}`:                         true,
		"{{ range $k, $v := . }}{{ $v }}{{ end }}":    true,
		"{{ . }}":               true,
		`{{ get . "Release" }}`: true,
		"{{ range .Values.list }}{{ .name }}{{ end }} Relea": false,
	} {
		ch := &chart.Chart{Templates: []*common.File{{Name: "a.yaml.tmpl", Data: []byte(text)}}}
		if got := printsRevision(ch, nil); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
		if got := printsRevision(&chart.Chart{}, map[string]any{"a": []any{text}}); got != want {
			t.Errorf("as a value: %s: %v, want %v", text, got, want)
		}
	}
}
