package suite

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

const named = "plugin: {name: ladder}"

// app is an Application in the repository's testdata.
func (w world) app(dir, path string) Application {
	return Application{Root: w.dir(dir), Path: path, Source: named, Name: filepath.Base(path), KubeVersion: "1.34.0"}
}

// both generates the manifests of an Application with either server, which
// must give the same ones, and returns them.
func (w world) both(t *testing.T, app Application) []string {
	t.Helper()
	w.serve.use(t)
	served, err := w.argo.Generate(t.Context(), app)
	if err != nil {
		t.Fatalf("cmp serve: %v", err)
	}
	w.stock.use(t)
	stock, err := w.argo.Generate(t.Context(), app)
	if err != nil {
		t.Fatalf("%s: %v", stockName, err)
	}
	same(t, stockName, stock, "cmp serve", served)
	return served
}

// same compares manifests, of which there must be some, text by text.
func same(t *testing.T, wantFrom string, want []string, gotFrom string, got []string) {
	t.Helper()
	if len(got) == 0 || len(got) != len(want) {
		t.Fatalf("%s: %d manifests, %s: %d", gotFrom, len(got), wantFrom, len(want))
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("manifest %d\n%s: %s\n%s: %s", i, gotFrom, got[i], wantFrom, want[i])
		}
	}
}

// configuration asks what the repo-server asks first. The plugin wants neither
// discovery nor credentials, with either server and by its plugin.yaml.
func (w world) configuration(t *testing.T) {
	for name, s := range map[string]server{"cmp serve": w.serve, stockName: w.stock} {
		got, err := w.dial(t, s).CheckPluginConfiguration(t.Context())
		if err != nil || got != (Configuration{}) {
			t.Errorf("%s: %+v, %v; want neither discovery nor credentials", name, got, err)
		}
		match, err := w.dial(t, s).MatchRepository(t.Context(), Repository{Root: w.dir("components"), Path: "shop"})
		if err != nil || match != (Match{}) {
			t.Errorf("%s: MatchRepository: %+v, %v; want no discovery", name, match, err)
		}
	}
	w.serve.use(t)
	config, err := w.argo.ReadConfig(w.root)
	if err != nil {
		t.Fatal(err)
	}
	if config.Match != (Configuration{}) {
		t.Errorf("plugin.yaml: %+v; want neither discovery nor credentials", config.Match)
	}
	if want := []string{"cmp", "generate"}; !slices.Equal(config.Generate, want) {
		t.Errorf("plugin.yaml generates with %q, want %q", config.Generate, want)
	}
	if config.Socket != w.serve.socket() {
		t.Errorf("the socket of plugin.yaml is %s, that of cmp serve %s", config.Socket, w.serve.socket())
	}
}

// parameters compares what the UI learns of the parameters in three ways.
func (w world) parameters(t *testing.T) {
	config, err := w.argo.ReadConfig(w.root)
	if err != nil {
		t.Fatal(err)
	}
	if len(config.Parameters) < 10 {
		t.Fatalf("only %d parameters in plugin.yaml", len(config.Parameters))
	}
	for _, p := range config.Parameters {
		if p.Name == "" || p.Title == "" || p.Tooltip == "" {
			t.Errorf("without a name, a title or a tooltip: %+v", p)
		}
		// The values that Argo CD's UI knows; it shows no field for others.
		if !slices.Contains([]string{"string", "array", "map"}, p.CollectionType) ||
			!slices.Contains([]string{"string", "number", "boolean"}, p.ItemType) {
			t.Errorf("the UI knows no such type: %+v", p)
		}
	}
	for name, s := range map[string]server{"cmp serve": w.serve, stockName: w.stock} {
		got, err := w.dial(t, s).GetParametersAnnouncement(t.Context(), Repository{Root: w.dir("components"), Path: "shop"})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !reflect.DeepEqual(got, config.Parameters) {
			t.Errorf("%s announces\n%+v\nplugin.yaml\n%+v", name, got, config.Parameters)
		}
	}
}

// components renders every component of the testdata with either server.
func (w world) components(t *testing.T) {
	for _, name := range w.directories(t, "components") {
		t.Run(name, func(t *testing.T) {
			for _, m := range w.both(t, w.app("components", name)) {
				var object struct {
					Kind     string
					Metadata struct{ Annotations map[string]string }
				}
				if err := json.Unmarshal([]byte(m), &object); err != nil || object.Kind == "" {
					t.Errorf("no object: %v: %s", err, m)
				}
			}
		})
	}
}

// applications says the same things that people say in an Application, and
// looks for them in the manifests.
func (w world) applications(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*Application)
		want   string
	}{
		{"the cluster's version", func(*Application) {}, `"argocd.argoproj.io/sync-wave":"`},
		{"no cluster", func(a *Application) { a.KubeVersion = "" }, `"name":"shop-web"`},
		{"a cluster of a distribution", func(a *Application) { a.KubeVersion = "v1.33.2-gke.100" }, `"name":"shop-web"`},
		{"an Application of another namespace", func(a *Application) { a.Name = "teams_shop" }, `"name":"shop-web"`},
		{"text", func(a *Application) { a.Source = parameters(`{name: name, string: bazaar}`) }, `"name":"bazaar-web"`},
		{"a map", func(a *Application) {
			a.Source = parameters(`{name: set, map: {replicas: "7", image.tag: "3.1"}}`)
		}, `"replicas":7`},
		{"a list", func(a *Application) { a.Source = parameters(`{name: values, array: [values.yaml, /shop/more.yaml]}`) }, `"replicas":5`},
		{"a boolean", func(a *Application) { a.Source = parameters(`{name: skip-tests, string: "true"}`) }, `"name":"shop-web"`},
		{"empty parameters", func(a *Application) {
			a.Source = parameters(`{name: set, map: {}}`, `{name: values, array: []}`)
		}, `"name":"shop-web"`},
		{"a variable", func(a *Application) {
			a.Source = "plugin:\n  name: ladder\n  env: [{name: LADDER_SET, value: replicas=9}, {name: LADDER_NAME, value: $ARGOCD_APP_NAME-eu}]"
		}, `"name":"shop-eu-web"`},
		{"an empty variable", func(a *Application) { a.Source = "plugin:\n  name: ladder\n  env: [{name: LADDER_NAME}]" }, `"name":"shop-web"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			app := Application{Path: "shop", Name: "shop", Source: named, KubeVersion: "1.34.0"}
			app.Root = w.repository(t, app.Path, map[string]string{"shop/more.yaml": "replicas: 5\n"})
			tt.change(&app)
			if got := strings.Join(w.both(t, app), "\n"); !strings.Contains(got, tt.want) {
				t.Errorf("%s is not in the manifests:\n%s", tt.want, got)
			}
		})
	}
}

// parameters are the source of an Application with these parameters.
func parameters(all ...string) string {
	return "plugin:\n  name: ladder\n  parameters: [" + strings.Join(all, ", ") + "]"
}

// errors asks for components with faults. What people see of cmp serve is one
// line that ends in all faults; of Argo CD's server it holds every one of them.
func (w world) errors(t *testing.T) {
	for _, name := range w.directories(t, "errors") {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(w.dir("errors/" + name + ".want.txt"))
			if err != nil {
				t.Fatal(err)
			}
			faults := strings.Split(strings.TrimSpace(string(text)), "\n")
			w.serve.use(t)
			want := "rpc error: code = InvalidArgument desc = " + strings.Join(faults, " | ")
			if got, err := w.argo.Generate(t.Context(), w.app("errors", name)); err == nil || !strings.HasSuffix(err.Error(), want) {
				t.Errorf("cmp serve: %q, %v\nwant the error %s", got, err, want)
			}
			w.stock.use(t)
			_, err = w.argo.Generate(t.Context(), w.app("errors", name))
			if err == nil {
				t.Fatalf("%s: no error", stockName)
			}
			for _, fault := range faults {
				if !strings.Contains(err.Error(), fault) {
					t.Errorf("%s: %v\nwant in it %s", stockName, err, fault)
				}
			}
		})
	}
}

// discovery looks for what the repo-server makes of Applications that name no
// plugin, with a server that wants them and one that does not.
func (w world) discovery(t *testing.T) {
	wanting := w.startServe(t, "--discovery")
	root := w.repository(t, "shop", map[string]string{"docs/README.md": "# Shop\n"})
	unnamed := Application{Root: root, Path: "shop", Name: "shop", Source: "plugin: {}"}
	native := Application{Root: root, Path: "shop", Name: "shop", Source: "targetRevision: main"}
	docs := Application{Root: root, Path: "docs", Name: "docs", Source: named}

	plugin := w.dial(t, wanting)
	if got, err := plugin.CheckPluginConfiguration(t.Context()); err != nil || got != (Configuration{Discovery: true}) {
		t.Errorf("CheckPluginConfiguration: %+v, %v; want discovery", got, err)
	}
	for path, there := range map[string]bool{"shop": true, "docs": false} {
		got, err := plugin.MatchRepository(t.Context(), Repository{Root: root, Path: path})
		if want := (Match{Supported: there, Discovery: true}); err != nil || got != want {
			t.Errorf("MatchRepository(%s): %+v, %v; want %+v", path, got, err, want)
		}
	}
	for _, name := range w.directories(t, "components") {
		got, err := plugin.MatchRepository(t.Context(), Repository{Root: w.dir("components"), Path: name})
		if err != nil || !got.Supported {
			t.Errorf("MatchRepository(%s): %+v, %v; want a match", name, got, err)
		}
	}

	w.serve.use(t)
	want, err := w.argo.Generate(t.Context(), Application{Root: root, Path: "shop", Name: "shop", Source: named})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := w.argo.Generate(t.Context(), unnamed); err == nil ||
		!strings.Contains(err.Error(), "could not find plugin supporting the given repository") {
		t.Errorf("no plugin named, no discovery: %d manifests, %v", len(got), err)
	}
	if got, err := w.argo.SourceType(t.Context(), native); err != nil || got != "Helm" {
		t.Errorf("a chart without plugin, no discovery: %s, %v; want Helm", got, err)
	}
	if _, err := w.argo.Generate(t.Context(), docs); err == nil ||
		!strings.Contains(err.Error(), "docs: nothing to render in this directory") {
		t.Errorf("nothing to render, no discovery: %v", err)
	}

	wanting.use(t)
	got, err := w.argo.Generate(t.Context(), unnamed)
	if err != nil {
		t.Fatalf("no plugin named, discovery: %v", err)
	}
	same(t, "by name", want, "discovered", got)
	if got, err := w.argo.SourceType(t.Context(), native); err != nil || got != "Plugin" {
		t.Errorf("a chart without plugin, discovery: %s, %v; want Plugin", got, err)
	}
	// The repo-server does not even ask for the manifests then.
	if _, err := w.argo.Generate(t.Context(), docs); err == nil ||
		!strings.Contains(err.Error(), `find cmp-server plugin with name "ladder" supporting the given repository`) {
		t.Errorf("nothing to render, discovery: %v", err)
	}
}

// unusualRepository renders a component in a checkout of all that a checkout
// may hold.
func (w world) unusualRepository(t *testing.T) {
	long := strings.Repeat("very-", 40) + "long"
	path := "apps/Äpfel & Birnen/" + long + "/shop"
	root := w.repository(t, path, map[string]string{
		"shared/replicas.yaml":           "replicas: 11\n",
		".git/config":                    "[core]\n",
		long + "/" + long + "/" + "x.sh": "#!/bin/sh\n",
	})
	if err := os.Chmod(filepath.Join(root, long, long, "x.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(root, "empty"), 0o700); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{
		path + "/linked.yaml": "../../../../shared/replicas.yaml",
		"current":             "apps",
		"nowhere":             "missing",
	} {
		if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(filepath.Join(root, "shared", "replicas.yaml"), filepath.Join(root, "hard.yaml")); err != nil {
		t.Fatal(err)
	}
	for _, values := range []string{"linked.yaml", "/shared/replicas.yaml", "/hard.yaml"} {
		got := w.both(t, Application{Root: root, Path: path, Name: "shop", Source: parameters("{name: values, array: [" + values + "]}")})
		if !strings.Contains(strings.Join(got, "\n"), `"replicas":11`) {
			t.Errorf("%s was not read", values)
		}
	}
}

// partOfRepository sends only what the Application says that it is made of:
// the path of the component in the stream is not the one in the environment.
func (w world) partOfRepository(t *testing.T) {
	root := w.repository(t, "apps/shop", map[string]string{"apps/shared/values.yaml": "replicas: 13\n"})
	app := Application{Root: root, Path: "apps/shop", Name: "shop", Source: named}
	want := w.both(t, app)
	for _, paths := range []string{".", ".;../shared", "/apps"} {
		app.GeneratePaths = paths
		same(t, "of all", want, "of "+paths, w.both(t, app))
	}
	app.Source = parameters("{name: values, array: [../shared/values.yaml]}")
	for _, paths := range []string{"", ".;../shared", "/apps"} {
		app.GeneratePaths = paths
		if got := strings.Join(w.both(t, app), "\n"); !strings.Contains(got, `"replicas":13`) {
			t.Errorf("of %s: the values beside the component were not read", paths)
		}
	}
}

// pathsOfRepository refers to files beside the component in every way, from the root of the
// repository and with "..". A part of the repository, with and without the setting of the
// repo-server, must give what all of it gives. What was not sent is named, with the annotation.
func (w world) pathsOfRepository(t *testing.T) {
	const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shared}\n"
	root := w.repository(t, "apps/shop", map[string]string{
		"apps/shared/values.yaml":         "replicas: 13\n",
		"apps/shared/tag.txt":             "from-a-file",
		"apps/lib/lib.libsonnet":          "{name: 'of-the-library'}",
		"apps/jsonnet/a.jsonnet":          "local l = import 'lib.libsonnet'; {apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: l.name}}",
		"apps/base/kustomization.yaml":    "resources: [a.yaml]\n",
		"apps/base/a.yaml":                configMap,
		"apps/overlay/kustomization.yaml": "resources: [../base]\n",
		"apps/chart/Chart.yaml": "apiVersion: v2\nname: chart\nversion: 1.0.0\ndependencies:\n" +
			"- {name: sub, version: 1.0.0, repository: file://../sub}\n",
		"apps/sub/Chart.yaml":             "apiVersion: v2\nname: sub\nversion: 1.0.0\n",
		"apps/sub/templates/a.yaml":       configMap,
		"apps/described/component.yaml":   "values: [/apps/shared/values.yaml]\n",
		"apps/described/Chart.yaml":       "apiVersion: v2\nname: described\nversion: 1.0.0\n",
		"apps/described/templates/a.yaml": configMap + "data: {n: \"{{ .Values.replicas }}\"}\n",
	})
	for name, c := range map[string]struct{ path, source, shared, missing string }{
		"values": {"apps/shop", parameters("{name: values, array: [/apps/shared/values.yaml]}"), "/apps/shared",
			"apps/shared/values.yaml"},
		"values beside": {"apps/shop", parameters("{name: values, array: [../shared/values.yaml]}"), "../shared", "apps/shared/values.yaml"},
		"set-file": {"apps/shop", parameters("{name: set-file, map: {image.tag: /apps/shared/tag.txt}}"), "../shared",
			"apps/shared/tag.txt"},
		"libs":               {"apps/jsonnet", parameters("{name: libs, array: [apps/lib]}"), "../lib", "apps/lib"},
		"component.yaml":     {"apps/described", named, "/apps/shared", "apps/shared/values.yaml"},
		"a base":             {"apps/overlay", named, "../base", "apps/base"},
		"a local dependency": {"apps/chart", named, "../sub", "apps/sub"},
	} {
		t.Run(name, func(t *testing.T) {
			app := Application{Root: root, Path: c.path, Name: "shop", Source: c.source}
			want := w.both(t, app)
			app.GeneratePaths = ".;" + c.shared
			same(t, "of all", want, "of a part", w.both(t, app))
			app.GeneratePaths, app.SendsAll = ".", true
			same(t, "of all", want, "without the setting", w.both(t, app))
			app.SendsAll = false
			for _, s := range []server{w.serve, w.stock} {
				s.use(t)
				_, err := w.argo.Generate(t.Context(), app)
				if err == nil {
					t.Fatal("no error without what was not sent")
				}
				for _, part := range []string{"Argo CD sent only " + c.path + "/ of the repository", "add /" + c.missing,
					"to the annotation argocd.argoproj.io/manifest-generate-paths of the Application"} {
					if !strings.Contains(err.Error(), part) {
						t.Errorf("of the component alone: %v\nwant in it %s", err, part)
					}
				}
			}
		})
	}
}

// largeRepository sends many files and many megabytes in Argo CD's chunks of a
// kilobyte. An error must arrive as what it is, too: a server that answers
// before all is sent makes Argo CD report a broken stream.
func (w world) largeRepository(t *testing.T) {
	root := w.large(t)
	messages := 0
	repository := Repository{Root: root, Path: "shop", Sending: func(int) { messages++ }}
	got, err := w.dial(t, w.serve).GenerateManifest(t.Context(), repository)
	if err != nil || len(got) == 0 {
		t.Fatalf("%d manifests, %v", len(got), err)
	}
	if messages < manyBytes/1024 {
		t.Errorf("sent in %d messages, want more than %d", messages, manyBytes/1024)
	}
	w.both(t, Application{Root: root, Path: "shop", Name: "shop", Source: named})

	discovering := w.dial(t, w.startServe(t, "--discovery"))
	if match, err := discovering.MatchRepository(t.Context(), repository); err != nil || !match.Supported {
		t.Errorf("MatchRepository: %+v, %v", match, err)
	}
	if all, err := discovering.GetParametersAnnouncement(t.Context(), repository); err != nil || len(all) == 0 {
		t.Errorf("GetParametersAnnouncement: %d parameters, %v", len(all), err)
	}

	small := w.dial(t, w.startServe(t, "--max-repository-bytes", "100000"))
	few := w.dial(t, w.startServe(t, "--max-repository-files", "100"))
	damaged := repository
	damaged.Checksum = strings.Repeat("0", 64)
	outside := repository
	outside.Path = "../outside"
	for _, tt := range []struct {
		name       string
		plugin     Plugin
		repository Repository
		want       string
	}{
		{"damaged", w.dial(t, w.serve), damaged, "code = DataLoss desc = the repository arrived damaged: its checksum is "},
		{"too many bytes", small, repository,
			"code = ResourceExhausted desc = shop: the repository is too large for this plugin: more than 100000 bytes"},
		{"too many files", few, repository,
			"code = ResourceExhausted desc = shop: the repository is too large for this plugin: more than 100 files"},
		{"nothing to render", w.dial(t, w.serve), Repository{Root: root, Path: "src/0"},
			"code = InvalidArgument desc = src/0: nothing to render in this directory"},
	} {
		if _, err := tt.plugin.GenerateManifest(t.Context(), tt.repository); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v\nwant %s", tt.name, err, tt.want)
		}
	}
	if _, err := discovering.MatchRepository(t.Context(), damaged); err == nil || !strings.Contains(err.Error(), "code = DataLoss") {
		t.Errorf("MatchRepository of a damaged repository: %v", err)
	}
}

// cancelledStream gives up in the middle of a repository, which is nobody
// else's concern.
func (w world) cancelledStream(t *testing.T) {
	plugin := w.dial(t, w.serve)
	ctx, cancel := context.WithCancel(t.Context())
	repository := Repository{Root: w.large(t), Path: "shop", Sending: func(message int) {
		if message == 1000 {
			cancel()
		}
	}}
	if got, err := plugin.GenerateManifest(ctx, repository); err == nil {
		t.Errorf("%d manifests of a stream that was given up", len(got))
	}
	repository.Sending = nil
	if _, err := plugin.GenerateManifest(t.Context(), repository); err != nil {
		t.Errorf("afterwards, on the same connection: %v", err)
	}
}

// deadline has the repo-server's patience end while a component renders. The
// reason reaches people through the repo-server, and others still get theirs.
func (w world) deadline(t *testing.T) {
	app := Application{Root: slow(t), Path: "slow", Name: "slow", Source: named}
	server := w.startServe(t, "--parallel", "2")
	server.use(t)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	const want = "the repo-server's deadline passed while the plugin was rendering"
	if _, err := w.argo.Generate(ctx, app); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v\nwant %s", err, want)
	}
	if _, err := w.argo.Generate(t.Context(), w.app("components", "shop")); err != nil {
		t.Errorf("another component: %v", err)
	}

	w.stock.use(t)
	ctx, cancel = context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	if _, err := w.argo.Generate(ctx, app); err == nil || !strings.Contains(err.Error(), "`cmp generate` failed signal: ") {
		t.Errorf("%s: %v; want that it ended the command", stockName, err)
	}
}

// atOnce has many Applications rendered at the same time, as after a commit.
func (w world) atOnce(t *testing.T) {
	w.serve.use(t)
	names := w.directories(t, "components")
	want := map[string][]string{}
	for _, name := range names {
		got, err := w.argo.Generate(t.Context(), w.app("components", name))
		if err != nil {
			t.Fatal(err)
		}
		want[name] = got
	}
	var wg sync.WaitGroup
	for i := range 4 * len(names) {
		name := names[i%len(names)]
		wg.Add(1)
		go func() {
			defer wg.Done()
			got, err := w.argo.Generate(t.Context(), w.app("components", name))
			if err != nil || !slices.Equal(got, want[name]) {
				t.Errorf("%s: %v, or other manifests than alone: %s", name, err, fmt.Sprint(got))
			}
		}()
	}
	wg.Wait()
}
