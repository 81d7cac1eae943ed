package helm

import (
	"strings"
	"testing"
	"testing/fstest"

	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"

	"github.com/ladder-cmp/ladder/render/input"
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

// TestGivenTextsInErrors makes a template fail over values from outside the repository. What the
// chart contains, too, is shown; what only the parameters contain is not.
func TestGivenTextsInErrors(t *testing.T) {
	repo := fstest.MapFS{
		"c/Chart.yaml":       {Data: []byte("apiVersion: v2\nname: c\nversion: 1.0.0\n")},
		"c/templates/a.yaml": {Data: []byte(`{{ fail (printf "mode %s is unknown, use production: %s" .Values.mode .Values.key) }}`)},
	}
	for mode, want := range map[string]string{"production": "mode production is unknown, use production: (a value)",
		"productionlike": "mode (a value) is unknown, use production: (a value)"} {
		given := input.Values{SetString: []string{"mode=" + mode, "key=hunter2hunter"}}
		_, err := Render(t.Context(), input.Source{FS: repo, Dir: "c"}, Options{Name: "c", KubeVersion: "1.34.0", Values: []input.Values{given}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v\nwant %s", mode, err, want)
		}
	}
}
