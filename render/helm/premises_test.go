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
	res, err := Render(t.Context(), input.Source{FS: repo, Dir: "c"}, Options{Name: "c", KubeVersion: "1.34.0", Values: []input.Values{{Files: []string{"prod.yaml"}, Read: read}}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	finding.Sort(res.Findings)
	for _, f := range res.Findings {
		got = append(got, string(f.Severity)+" "+f.Error())
	}
	want := []string{
		"warning c/values.yaml:3: db.user: Helm 4 ignores null here, unlike Helm 3, so the default of the subchart applies; fix: write the null into a values file that you pass to the chart",
		"warning c/values.yaml:5: db.inner.port: Helm 4 ignores null here, unlike Helm 3, so the default of the subchart applies; fix: write the null into a values file that you pass to the chart",
		"warning c/values.yaml:6: image: the key is on lines 1 and 6, and Helm uses only the last value; fix: keep one of the two",
		"warning prod.yaml:1: a.b: the key is on lines 1 and 1, and Helm uses only the last value; fix: keep one of the two",
		"warning prod.yaml:3: sops: the file is encrypted with sops, which neither Argo CD nor Ladder decrypts, so the encrypted text reaches the cluster; fix: create Secrets in the cluster, for example with an operator",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
