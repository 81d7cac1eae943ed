package repeat

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/ladder-cmp/ladder/render"
)

// counted counts how often the Chart.yaml of a component is read, as each rendering does.
type counted struct {
	fs.FS
	reads int
}

func (c *counted) Open(name string) (fs.File, error) {
	if name == "Chart.yaml" {
		c.reads++
	}
	return c.FS.Open(name)
}

var options = render.Options{Name: "a", Namespace: "a"}

// find returns the findings in a chart with a template, as "rule:line message", and how
// often it was rendered.
func find(t *testing.T, template string) ([]string, int) {
	t.Helper()
	fsys := &counted{FS: fstest.MapFS{
		"Chart.yaml":       {Data: []byte("apiVersion: v2\nname: a\nversion: 1.0.0\n")},
		"templates/a.yaml": {Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n" + template)},
	}}
	if _, err := render.Dir(t.Context(), fsys, ".", options); err != nil {
		t.Fatal(err)
	}
	once := fsys.reads
	found, err := Vary(t.Context(), fsys, ".", options)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, f := range found {
		all = append(all, fmt.Sprintf("%s:%d %s", f.Rule, f.Line, f.Message))
	}
	return all, fsys.reads/once - 1
}

// TestRenderings holds down how often a component is rendered, and what is found by that.
func TestRenderings(t *testing.T) {
	var groups []string
	for i := range 20 {
		groups = append(groups, fmt.Sprintf("{{- if .Capabilities.APIVersions.Has \"g%02d.example.com/v1\" }}{{ end }}\n", i))
	}
	questions := strings.Join(groups, "")
	has := func(group string) string { return `.Capabilities.APIVersions.Has "` + group + `.example.com/v1"` }
	for name, tt := range map[string]struct {
		template   string
		renderings int
		want       []string
	}{
		"nothing varies": {questions + "  a: b\n", 4, nil},
		"one API version of many": {questions + "{{- if " + has("g13") + " }}\n  c: d\n{{- end }}\n  a: b\n", 14,
			[]string{"cluster-dependent:18 if the cluster has the API version g13.example.com/v1, rendering changes ConfigMap a, so"}},
		"two together": {"{{- if and (" + has("g1") + ") (" + has("g2") + ") }}\n  c: d\n{{- end }}\n  a: b\n", 6,
			[]string{"cluster-dependent:5 if the cluster has several of the API versions g1.example.com/v1, g2.example.com/v1, " +
				"rendering changes ConfigMap a, so"}},
		"does not render with one": {questions + "{{- if " + has("g05") + " }}{{ fail \"no\" }}{{ end }}\n  a: b\n", 14,
			[]string{"cluster-dependent:10 if the cluster has the API version g05.example.com/v1, the component does not render: "}},
		"one version of Kubernetes": {"{{- if semverCompare \">=1.32-0\" .Capabilities.KubeVersion.Version }}\n  c: d\n{{- end }}\n  a: b\n", 6,
			[]string{"cluster-dependent:5 the output depends on the Kubernetes version: an upgrade to 1.32 changes ConfigMap a"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, renderings := find(t, tt.template)
			if !slices.EqualFunc(got, tt.want, strings.HasPrefix) {
				t.Errorf("found %q, want %q", got, tt.want)
			}
			if renderings > tt.renderings {
				t.Errorf("%d renderings, want at most %d", renderings, tt.renderings)
			}
		})
	}
}
