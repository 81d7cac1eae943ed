package plugin_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/remote"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/plugin"
)

// away fetches archives by what they are called.
type away map[string]remote.Content

func (a away) Fetch(_ context.Context, ref remote.Ref) (remote.Content, error) {
	c, ok := a[ref.String()]
	if !ok {
		return c, finding.Finding{Severity: finding.Error, Rule: remote.NotVendored, Object: ref.String(), Message: "is not allowed"}
	}
	return c, nil
}

func archive(t *testing.T, version string, files ...string) remote.Content {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for i := 0; i < len(files); i += 2 {
		if err := w.WriteHeader(&tar.Header{Name: files[i], Mode: 0o644, Size: int64(len(files[i+1])), Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(files[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return remote.Content{Version: version, Digest: remote.Digest(b.Bytes()), Data: b.Bytes()}
}

const commit = "0123456789abcdef0123456789abcdef01234567"

// TestChartInAnotherRepository: a directory of another git repository is rendered
// with all that it refers to there, and with the values of here.
func TestChartInAnotherRepository(t *testing.T) {
	base := knowledge.Default()
	const cm = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Chart.Name }}}\ndata: {a: {{ .Values.a | quote }}}\n"
	elsewhere := away{"repository https://git.example.com/charts.git at main": archive(t, commit,
		"charts/shop/Chart.yaml", "{apiVersion: v2, name: shop, version: 1.0.0, dependencies: [{name: lib, version: 1.x, "+
			"repository: 'file://../lib'}, {name: redis, version: ^17, repository: 'https://charts.example.com'}]}",
		"charts/shop/templates/cm.yaml", cm,
		"charts/shop/values.yaml", "{a: shop}",
		"charts/lib/Chart.yaml", "{apiVersion: v2, name: lib, version: 1.2.0}",
		"charts/lib/templates/cm.yaml", cm,
		"charts/lib/values.yaml", "{a: lib}",
		"overlay/kustomization.yaml", "resources: [cm.yaml]\nnamePrefix: my-\n",
		"overlay/cm.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: plain}}\n",
	), "chart redis ^17 of https://charts.example.com": archive(t, "17.3.2", "redis/Chart.yaml",
		"{apiVersion: v2, name: redis, version: 17.3.2}", "redis/templates/cm.yaml", cm, "redis/values.yaml", "{a: redis}")}
	for name, tt := range map[string]struct{ chart, want, found string }{
		"a chart with dependencies": {"{repoURL: https://git.example.com/charts.git, path: charts/shop, version: main, valueFiles: [/here.yaml]}",
			`lib a: "lib" redis a: "redis" shop a: "here"`,
			"warning: shop: chart redis ^17 of https://charts.example.com resolves to 17.3.2 and will resolve to a newer version as soon as " +
				"one is published; fix: name that version, or pin it with cmp vendor shop | note: shop: " +
				"repository https://git.example.com/charts.git at main resolves to " + commit},
		"a kustomization": {"{repoURL: https://git.example.com/charts.git, path: /overlay, version: main}",
			"my-plain", "note: shop: repository https://git.example.com/charts.git at main resolves to " + commit},
		"no such path": {"{repoURL: https://git.example.com/charts.git, path: nowhere, version: main}",
			"shop/component.yaml:1: chart: directory nowhere not found in repository https://git.example.com/charts.git at main; " +
				"fix: correct chart.path, which begins at the root of that repository", ""},
		"not allowed": {"{repoURL: https://git.example.com/charts.git, path: charts/shop, version: other}",
			"shop/component.yaml:1: repository https://git.example.com/charts.git at other: chart: is not allowed", ""},
	} {
		t.Run(name, func(t *testing.T) {
			repo := fstest.MapFS{"shop/component.yaml": {Data: []byte("chart: " + tt.chart + "\n")}, "here.yaml": {Data: []byte("a: here\n")}}
			res, err := plugin.Generate(t.Context(), plugin.Request{Repo: repo, Dir: "shop", Remote: elsewhere}, base)
			if err != nil {
				if err.Error() != tt.want {
					t.Errorf("%v\nwant %s", err, tt.want)
				}
				return
			}
			var found []string
			for _, f := range res.Findings {
				found = append(found, string(f.Severity)+": "+f.Error())
			}
			if got := strings.Join(found, " | "); got != tt.found {
				t.Errorf("found %s\nwant  %s", got, tt.found)
			}
			for word := range strings.SplitSeq(tt.want, " ") {
				if !strings.Contains(res.YAML(), word) {
					t.Errorf("%s is missing in\n%s", word, res.YAML())
				}
			}
		})
	}
}

// TestChartRef: addresses mean what they mean in an Application.
func TestChartRef(t *testing.T) {
	for _, tt := range []struct {
		chart component.Chart
		want  string
	}{
		{component.Chart{RepoURL: "https://charts.example.com/", Chart: "redis", Version: "1.x"},
			"chart redis 1.x of https://charts.example.com"},
		{component.Chart{RepoURL: "oci://ghcr.io/org/charts", Chart: "redis", Version: "1.0.0"}, "chart redis 1.0.0 of oci://ghcr.io/org/charts"},
		{component.Chart{RepoURL: "ghcr.io/org/charts", Chart: "redis"}, "chart redis of oci://ghcr.io/org/charts"},
		{component.Chart{RepoURL: "ghcr.io/org", Chart: "charts/redis"}, "chart redis of oci://ghcr.io/org/charts"},
		{component.Chart{RepoURL: "oci://ghcr.io/org/charts/redis", Path: ".", Version: "1.0.0"},
			"chart redis 1.0.0 of oci://ghcr.io/org/charts"},
		{component.Chart{RepoURL: "https://github.com/org/repo.git", Path: "charts/redis", Version: "v1"},
			"repository https://github.com/org/repo.git at v1"},
	} {
		if got := tt.chart.Ref().String(); got != tt.want {
			t.Errorf("%+v is %s, want %s", tt.chart, got, tt.want)
		}
	}
}
