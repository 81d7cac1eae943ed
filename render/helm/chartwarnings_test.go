package helm

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/render/input"
)

// TestValuesWarnings renders a chart whose values contain what Helm passes over in silence.
func TestValuesWarnings(t *testing.T) {
	repo := fstest.MapFS{}
	for name, text := range map[string]string{
		"c/Chart.yaml":                 "apiVersion: v2\nname: c\nversion: 1.0.0\ndependencies:\n- {name: sub, version: 1.0.0, alias: db}\n",
		"c/values.yaml":                "image: {tag: 1}\ndb:\n  user: null\n  none: null\n  inner: {port: null}\nimage: {tag: 2}\n",
		"c/prod.yaml":                  "a: {b: 1, b: 2}\nsops:\n  mac: ENC[x]\n",
		"c/templates/a.yaml":           "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
		"c/charts/sub/Chart.yaml":      "apiVersion: v2\nname: sub\nversion: 1.0.0\n",
		"c/charts/sub/values.yaml":     "user: 65534\ninner: {port: 1}\n",
		"c/charts/sub/templates/a.yml": "",
	} {
		repo[name] = &fstest.MapFile{Data: []byte(text)}
	}
	read := func(name string) ([]byte, error) { return repo.ReadFile("c/" + name) }
	res, err := Render(t.Context(), input.Source{FS: repo, Dir: "c"},
		Options{Name: "c", KubeVersion: "1.34.0", Values: []input.Values{{Files: []string{"prod.yaml"}, Read: read}}})
	if err != nil {
		t.Fatal(err)
	}
	wantFindings(t, res.Findings,
		"warning c/values.yaml:3: db.user: Helm 4 ignores null here, unlike Helm 3, so the default of the subchart applies; "+
			"fix: write the null into a values file that you pass to the chart",
		"warning c/values.yaml:5: db.inner.port: Helm 4 ignores null here, unlike Helm 3, so the default of the subchart applies; "+
			"fix: write the null into a values file that you pass to the chart",
		"warning c/values.yaml:6: image: the key is on lines 1 and 6, and Helm uses only the last value; fix: keep one of the two",
		"warning prod.yaml:1: a.b: the key is on lines 1 and 1, and Helm uses only the last value; fix: keep one of the two",
		"warning prod.yaml:3: sops: the file is encrypted with sops, which neither Argo CD nor Ladder decrypts, "+
			"so the encrypted text reaches the cluster; fix: create Secrets in the cluster, for example with an operator")
}

// TestChartWarnings renders a chart of an unknown version, with a dependency of which Helm
// ignores the settings for the version in charts/.
func TestChartWarnings(t *testing.T) {
	repo := fstest.MapFS{}
	for name, text := range map[string]string{
		"c/Chart.yaml": "apiVersion: v3\nname: c\nversion: 1.0.0\ndependencies:\n- {name: sub, version: 2.x.x, alias: db, " +
			"condition: db.enabled}\n- {name: fits, version: 1.x.x, alias: other}\n- {name: plain, version: 2.x.x}\n",
		"c/values.yaml":                 "db: {enabled: false}\n",
		"c/charts/sub/Chart.yaml":       "apiVersion: v2\nname: sub\nversion: 1.0.0\n",
		"c/charts/sub/templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
		"c/charts/fits/Chart.yaml":      "apiVersion: v2\nname: fits\nversion: 1.2.0\n",
		"c/charts/plain/Chart.yaml":     "apiVersion: v2\nname: plain\nversion: 1.0.0\n",
	} {
		repo[name] = &fstest.MapFile{Data: []byte(text)}
	}
	res, err := Render(t.Context(), input.Source{FS: repo, Dir: "c"}, Options{Name: "c", KubeVersion: "1.34.0"})
	if err != nil || len(res.Documents) != 1 { // the condition has no effect
		t.Fatal(res.Documents, err)
	}
	wantFindings(t, res.Findings,
		"warning c/Chart.yaml: apiVersion: Helm 4 refuses charts of this version, unlike Helm 3; fix: write v2",
		"warning c/Chart.yaml:5: dependencies.sub: charts/ has version 1.0.0 of this chart, not 2.x.x, so Helm ignores the alias db, "+
			"with its values and condition; fix: run helm dependency update, and commit charts/")
}

func wantFindings(t *testing.T, all []finding.Finding, want ...string) {
	t.Helper()
	var got []string
	finding.Sort(all)
	for _, f := range all {
		got = append(got, string(f.Severity)+" "+f.Error())
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
