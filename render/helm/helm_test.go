package helm

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/cli/values"
	release "helm.sh/helm/v4/pkg/release/v1"
	"sigs.k8s.io/yaml"

	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/render/input"
)

// helmTemplate renders a chart with Helm's own code for "helm template
// --include-crds" and returns what that prints.
func helmTemplate(t *testing.T, dir string, opt Options, set []string) string {
	t.Helper()
	ch, err := loader.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	vals, err := (&values.Options{Values: set}).MergeValues(nil)
	if err != nil {
		t.Fatal(err)
	}
	version, err := common.ParseKubeVersion(opt.KubeVersion)
	if err != nil {
		t.Fatal(err)
	}
	install := action.NewInstall(action.NewConfiguration(action.ConfigurationSetLogger(slog.DiscardHandler)))
	install.DryRunStrategy = action.DryRunClient
	install.Replace = true
	install.IncludeCRDs = true
	install.ReleaseName, install.Namespace = opt.Name, opt.Namespace
	install.KubeVersion = version
	install.APIVersions = opt.APIVersions
	rel, err := install.RunWithContext(context.Background(), ch, vals)
	if err != nil {
		t.Fatal(err)
	}
	r := rel.(*release.Release)
	var b strings.Builder
	fmt.Fprintln(&b, strings.TrimSpace(r.Manifest)) // from here on as pkg/cmd/template.go
	for _, h := range r.Hooks {
		if opt.SkipTests && slices.Contains(h.Events, release.HookTest) {
			continue
		}
		fmt.Fprintf(&b, "---\n# Source: %s\n%s\n", h.Path, h.Manifest)
	}
	return b.String()
}

// TestHelmTemplate compares what we render with what Helm renders, for every
// chart in testdata and with several inputs.
func TestHelmTemplate(t *testing.T) {
	tests := []struct {
		chart string
		opt   Options
		set   []string
	}{
		{chart: "components/shop"},
		{chart: "components/shop", set: []string{"ingress.enabled=false", "database.enabled=false"}, opt: Options{SkipTests: true}},
		{chart: "components/beacon-operator", set: []string{"beacons[0].name=a,beacons[0].class=b,beacons[0].color=red"}},
		{chart: "charts/pantry"},
		{chart: "charts/pantry", set: []string{"upper.enabled=false", "tags.cellar=true"},
			opt: Options{SkipTests: true, KubeVersion: "1.29.3", APIVersions: []string{"a.example.com/v1"}}},
	}
	for _, tt := range tests {
		t.Run(strings.Join(append([]string{tt.chart}, tt.set...), " "), func(t *testing.T) {
			opt := tt.opt
			opt.Name, opt.Namespace = "rel", "ns"
			if opt.KubeVersion == "" {
				opt.KubeVersion = "1.34.0"
			}
			opt.Values = []input.Values{{Set: tt.set}}
			compareTexts(t, rendered(t, "../../testdata", tt.chart, opt), helmTemplate(t, vendor(t, tt.chart), opt, tt.set))
		})
	}
}

// rendered are the objects of a chart in a directory below root.
func rendered(t *testing.T, root, dir string, opt Options) []object.Object {
	t.Helper()
	res, err := Render(t.Context(), input.Source{FS: os.DirFS(root), Dir: dir}, opt)
	if err != nil {
		t.Fatal(err)
	}
	var all []object.Object
	for _, d := range res.Documents {
		objs, err := object.Parse(d.File, d.Line, d.Text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, objs...)
	}
	return all
}

// vendor copies a chart, with its file:// dependencies packed into charts/ as
// "helm dependency build" packs them.
func vendor(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), filepath.Base(name))
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("../../testdata", name))); err != nil {
		t.Fatal(err)
	}
	ch, err := loader.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, dep := range ch.Metadata.Dependencies {
		if rel, local := strings.CutPrefix(dep.Repository, "file://"); local {
			pack(t, filepath.Join("../../testdata", name, rel), filepath.Join(dir, "charts"))
		}
	}
	return dir
}

func pack(t *testing.T, from, to string) {
	t.Helper()
	var ch *chart.Chart
	ch, err := loader.Load(from)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := chartutil.Save(ch, to); err != nil {
		t.Fatal(err)
	}
}

// compareTexts compares every document to the letter, whatever the order.
func compareTexts(t *testing.T, got []object.Object, helm string) {
	t.Helper()
	want, err := object.Parse("helm", 1, helm)
	if err != nil {
		t.Fatal(err)
	}
	texts := func(objs []object.Object) []string {
		var all []string
		for _, o := range objs {
			all = append(all, withoutSource(o.Text()))
		}
		slices.Sort(all)
		return all
	}
	if len(want) == 0 {
		t.Fatal("helm rendered nothing")
	}
	if diff := cmp.Diff(texts(want), texts(got)); diff != "" {
		t.Errorf("texts (-helm +ours):\n%s", diff)
	}
	if diff := cmp.Diff(meanings(t, want), meanings(t, got)); diff != "" {
		t.Errorf("meanings (-helm +ours):\n%s", diff)
	}
}

// meanings decodes objects as the API server would, by identity; blank lines
// at the end of a document can be part of a value.
func meanings(t *testing.T, objs []object.Object) map[string]any {
	t.Helper()
	all := map[string]any{}
	for _, o := range objs {
		var m map[string]any
		if err := yaml.Unmarshal([]byte(o.Text()), &m); err != nil {
			t.Fatal(err)
		}
		all[o.ID.Qualified()] = m
	}
	return all
}

// withoutSource drops Helm's comment, which Helm itself leaves out where a
// document is not the first of its file, and the blank lines that Helm puts
// between documents.
func withoutSource(text string) string {
	if strings.HasPrefix(text, "# Source: ") {
		_, text, _ = strings.Cut(text, "\n")
	}
	return strings.TrimRight(text, "\n")
}

// TestPackedSubchart renders a chart whose dependencies lie in charts/ as .tgz
// files, and compares with the same chart unpacked.
func TestPackedSubchart(t *testing.T) {
	unpacked := vendor(t, "components/shop")
	packed := vendor(t, "components/shop")
	pack(t, filepath.Join(packed, "charts/database"), filepath.Join(packed, "charts"))
	if err := os.RemoveAll(filepath.Join(packed, "charts/database")); err != nil {
		t.Fatal(err)
	}
	opt := Options{Name: "rel", Namespace: "ns", KubeVersion: "1.34.0"}
	var text strings.Builder
	for _, o := range rendered(t, unpacked, ".", opt) {
		io.WriteString(&text, "---\n"+o.Text())
	}
	compareTexts(t, rendered(t, packed, ".", opt), text.String())
}

// TestRemoteSchema makes sure that a schema is neither fetched nor read from
// the file system, and that the user hears of it.
func TestRemoteSchema(t *testing.T) {
	dir := vendor(t, "components/shop")
	write := func(schema string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "values.schema.json"), []byte(schema), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"properties": {"image": {"$ref": "https://schemas.example.com/image.json"}}}`)
	res, err := Render(t.Context(), input.Source{FS: os.DirFS(dir), Dir: "."}, Options{Name: "rel", KubeVersion: "1.34.0"})
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Findings) != 1 ||
		!strings.Contains(res.Findings[0].Error(), "values are not checked against https://schemas.example.com/image.json") {
		t.Errorf("findings: %v", res.Findings)
	}
	write(`{"properties": {"image": {"$ref": "https://schemas.example.com/image.json#/definitions/image"}, "replicas": {"type": "integer", ` +
		`"$ref": "https://schemas.example.com/image.json#/definitions/count"}}}`)
	if res, err = Render(t.Context(), input.Source{FS: os.DirFS(dir), Dir: "."}, Options{Name: "rel", KubeVersion: "1.34.0"}); err != nil {
		t.Errorf("a part of a remote schema: %v", err)
	} else if len(res.Findings) != 1 ||
		!strings.Contains(res.Findings[0].Error(), "values are not checked against https://schemas.example.com/image.json") {
		t.Errorf("findings: %v", res.Findings)
	}
	write(`{"$id": "https://schemas.example.com/values.json", "properties": {"image": {"$ref": "parts/image.json#/image"}}}`)
	if res, err = Render(t.Context(), input.Source{FS: os.DirFS(dir), Dir: "."}, Options{Name: "rel", KubeVersion: "1.34.0"}); err != nil {
		t.Errorf("a part of a schema next to a remote one: %v", err)
	} else if len(res.Findings) != 1 || !strings.Contains(res.Findings[0].Error(), "https://schemas.example.com/parts/image.json") {
		t.Errorf("findings: %v", res.Findings)
	}
	write(`{"properties": {"image": {"$ref": "file:///etc/passwd"}}}`)
	if _, err = Render(t.Context(), input.Source{FS: os.DirFS(dir), Dir: "."}, Options{Name: "rel", KubeVersion: "1.34.0"}); err == nil ||
		!strings.Contains(err.Error(), "a schema can only refer to itself") {
		t.Errorf("a schema of the file system: %v", err)
	}
}
