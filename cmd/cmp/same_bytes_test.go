package main

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/ladder-cmp/ladder/internal/cli"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/plugin"
	"github.com/ladder-cmp/ladder/sidecar"
	"github.com/ladder-cmp/ladder/sidecar/serve"
	"github.com/ladder-cmp/ladder/sidecar/sidecartest"
	"github.com/ladder-cmp/ladder/sidecar/task"
	"github.com/ladder-cmp/ladder/sidecar/worker"
)

const componentsDir = "../../testdata/components"

// TestSameBytes proves that a component comes out the same in all three ways:
// on the command line, from the plugin's command, and from the plugin server.
func TestSameBytes(t *testing.T) {
	entries, err := os.ReadDir(componentsDir)
	if err != nil {
		t.Fatal(err)
	}
	repo := t.TempDir()
	if err := os.CopyFS(filepath.Join(repo, "apps"), os.DirFS(componentsDir)); err != nil {
		t.Fatal(err)
	}
	archive, err := sidecartest.Pack(repo)
	if err != nil {
		t.Fatal(err)
	}
	client := startServer(t, io.Discard)
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		t.Run(e.Name(), func(t *testing.T) {
			dir := filepath.Join(repo, "apps", e.Name())
			want := runOK(t, "render", dir, "--name", "shop", "--namespace", "demo", "--revision", "0123456789", "--kube-version", "1.33.2",
				"--api-versions", "example.com/v1")

			env := map[string]string{"ARGOCD_APP_NAME": "argocd_shop", "ARGOCD_APP_NAMESPACE": "demo", "ARGOCD_APP_REVISION": "0123456789",
				"ARGOCD_APP_SOURCE_PATH": "apps/" + e.Name(), "KUBE_VERSION": "1.33.2", "KUBE_API_VERSIONS": "example.com/v1",
				"ARGOCD_APP_PARAMETERS": "[]"}
			for name, value := range env {
				t.Setenv(name, value)
			}
			t.Chdir(dir)
			if diff := gocmp.Diff(want, runOK(t, "generate")); diff != "" {
				t.Errorf("cmp generate differs from cmp render (-render +generate):\n%s", diff)
			}

			manifests, err := client.GenerateManifest(t.Context(), sidecartest.Request{Archive: archive, Dir: "apps/" + e.Name(), Env: env})
			if err != nil {
				t.Fatal(err)
			}
			served := plugin.Separator + strings.Join(manifests, plugin.Separator)
			if diff := gocmp.Diff(want, served); diff != "" {
				t.Errorf("cmp serve differs from cmp render (-render +serve):\n%s", diff)
			}
		})
	}
}

// TestSameChildren proves the same of apps of apps, whose children are read from
// the repository, too: the server notices a change of one of them, and asks the
// address of the repository only of those.
func TestSameChildren(t *testing.T) {
	const parentsDir = "../../testdata/parents"
	repo := t.TempDir()
	if err := os.CopyFS(filepath.Join(repo, "testdata", "parents"), os.DirFS(parentsDir)); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	client := startServer(t, &log)
	renderBy := func(dir, address string) string {
		t.Helper()
		archive, err := sidecartest.Pack(repo)
		if err != nil {
			t.Fatal(err)
		}
		manifests, err := client.GenerateManifest(t.Context(), sidecartest.Request{Archive: archive, Dir: dir, Env: map[string]string{
			"ARGOCD_APP_NAME": "argocd_parent", "ARGOCD_APP_NAMESPACE": "argocd", "ARGOCD_APP_REVISION": "0123456789",
			"ARGOCD_APP_SOURCE_REPO_URL": address, "ARGOCD_APP_SOURCE_PATH": dir, "KUBE_VERSION": "1.33.2", "KUBE_API_VERSIONS": "example.com/v1"}})
		if err != nil {
			t.Fatal(err)
		}
		return plugin.Separator + strings.Join(manifests, plugin.Separator)
	}
	const dir = "testdata/parents/harbour/apps"
	render := func() string {
		t.Helper()
		return runOK(t, "render", filepath.Join(repo, dir), "--name", "parent", "--namespace", "argocd", "--kube-version", "1.33.2",
			"--api-versions", "example.com/v1")
	}
	if err := os.Mkdir(filepath.Join(repo, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	first := render()
	if diff := gocmp.Diff(first, renderBy(dir, "https://git.example.com/platform.git")); diff != "" {
		t.Errorf("cmp serve differs from cmp render (-render +serve):\n%s", diff)
	}
	if elsewhere := renderBy(dir, "https://git.example.com/elsewhere.git"); elsewhere == first {
		t.Error("children of another repository come out as those of this one")
	}
	// The issuer, for which others wait, is none any more.
	if err := os.WriteFile(filepath.Join(repo, "testdata/parents/harbour/children/issuer/issuer.yaml"),
		[]byte("{apiVersion: v1, kind: ConfigMap, metadata: {name: nothing}}"), 0o644); err != nil {
		t.Fatal(err)
	}
	second := render()
	if second == first {
		t.Fatal("the change makes no difference")
	}
	if diff := gocmp.Diff(second, renderBy(dir, "https://git.example.com/platform.git")); diff != "" {
		t.Errorf("cmp serve answers from memory what has changed (-render +serve):\n%s", diff)
	}
}

// TestSameHalves proves the same of the two halves of a component whose
// definitions are lifted out, with the messages that go with them.
func TestSameHalves(t *testing.T) {
	const crdsDir = "../../testdata/crds"
	archive, err := sidecartest.Pack(crdsDir)
	if err != nil {
		t.Fatal(err)
	}
	client := startServer(t, io.Discard)
	abs, err := filepath.Abs(crdsDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"orchard", "kiln", "loom", "quarry", "mint", "press", "inn"} {
		for _, mode := range []string{"only", "skip"} {
			t.Run(name+" "+mode, func(t *testing.T) {
				want := runOK(t, "render", filepath.Join(abs, name), "--name", "shop", "--namespace", "demo", "--kube-version",
					"1.33.2", "--crds", mode)
				env := map[string]string{"ARGOCD_APP_NAME": "shop-" + mode, "ARGOCD_APP_NAMESPACE": "demo", "KUBE_VERSION": "1.33.2",
					"ARGOCD_ENV_LADDER_CRDS": "include",
					"ARGOCD_APP_SOURCE_PATH": name, "ARGOCD_APP_PARAMETERS": `[{"name":"crds","string":"` + mode + `"},{"name":"name","string":"shop"}]`}
				for name, value := range env {
					t.Setenv(name, value)
				}
				t.Chdir(filepath.Join(abs, name))
				if diff := gocmp.Diff(want, runOK(t, "generate")); diff != "" {
					t.Errorf("cmp generate differs from cmp render (-render +generate):\n%s", diff)
				}
				manifests, err := client.GenerateManifest(t.Context(), sidecartest.Request{Archive: archive, Dir: name, Env: env})
				if err != nil {
					t.Fatal(err)
				}
				if diff := gocmp.Diff(want, plugin.Separator+strings.Join(manifests, plugin.Separator)); diff != "" {
					t.Errorf("cmp serve differs from cmp render (-render +serve):\n%s", diff)
				}
			})
		}
	}
}

func runOK(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if code := run(args, cli.Streams{Out: &out, Err: &errs}); code != exitOK {
		t.Fatalf("cmp %s: exit %d: %s", strings.Join(args, " "), code, errs.String())
	}
	return out.String()
}

// startServer runs the plugin server as cmp serve configures it. Its log may be
// read once an answer is there.
func startServer(t *testing.T, log io.Writer) *sidecartest.Client {
	t.Helper()
	// The path of a Unix socket holds some 100 bytes at most; t.TempDir is
	// longer for some test names.
	dir, err := os.MkdirTemp("", "cmp")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket := filepath.Join(dir, "ladder.sock")
	lis, err := sidecar.Listen(socket)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	logger := slog.New(slog.NewTextHandler(log, nil))
	workers, err := worker.NewPool(worker.Config{Log: logger, Warm: 1, Command: func() *exec.Cmd {
		cmd := exec.Command("cmp", workerName)
		cmd.Env = []string{}
		return cmd
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(workers.Close)
	config := serve.CompleteConfig(sidecar.Config{}, logger)
	config.Tasks = workers
	config.Drain = 5 * time.Second
	go func() { served <- sidecar.Serve(ctx, lis, config) }()
	client, err := sidecartest.Dial(socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		client.Close()
		stop()
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return client
}

// TestServer asks the server what Argo CD asks besides manifests.
func TestServer(t *testing.T) {
	client := startServer(t, io.Discard)
	check, err := client.CheckPluginConfiguration(t.Context())
	if err != nil || check.GetIsDiscoveryConfigured() || check.GetProvideGitCreds() {
		t.Errorf("CheckPluginConfiguration = %v, %v; want no discovery, no credentials", check, err)
	}
	archive, err := sidecartest.Pack(componentsDir)
	if err != nil {
		t.Fatal(err)
	}
	params, err := client.GetParametersAnnouncement(t.Context(), sidecartest.Request{Archive: archive, Dir: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	if len(params) != len(plugin.Parameters()) {
		t.Errorf("%d parameters are announced, want %d", len(params), len(plugin.Parameters()))
	}
	for _, p := range params {
		if p.GetName() == "" || p.GetTitle() == "" || p.GetTooltip() == "" || p.GetItemType() == "" || p.GetCollectionType() == "" {
			t.Errorf("parameter %q is announced without title, tooltip or type: %v", p.GetName(), p)
		}
	}

	// A fault of the component arrives as one line that names it.
	_, err = client.GenerateManifest(t.Context(), sidecartest.Request{Archive: archive, Dir: "shop",
		Env: map[string]string{"ARGOCD_APP_NAME": "shop", "ARGOCD_APP_PARAMETERS": `[{"name":"set","map":{"replicas":"many"}}]`}})
	const want = "rpc error: code = InvalidArgument desc = set replicas: got string, want integer; " +
		"fix: set a value that shop/values.schema.json allows"
	if err == nil || err.Error() != want {
		t.Errorf("error = %v\nwant    %s", err, want)
	}
}

// TestSecretsStayOutOfTheLog gives components values that their schemas,
// templates or Helm refuse. The value is in neither the answer nor the log.
func TestSecretsStayOutOfTheLog(t *testing.T) {
	files := map[string]string{
		"shop/Chart.yaml": "{apiVersion: v2, name: shop, version: 1.0.0}",
		"shop/values.schema.json": `{"properties": {"word": {"pattern": "^[a-z]+$"}, "mail": {"type": "string", "minLength": 12}, ` +
			`"kind": {"enum": ["a"]}, "same": {"const": "a"}}}`,
		"shop/templates/map.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, " +
			"data: {a: {{ tpl (.Values.text | default \"\") . }}}}\n",
		"shop/secrets.yaml":  "word: [hunter2\n",
		"text/values.yaml":   "text: ''\n",
		"text/map.yaml.tmpl": "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: {{ tpl .Values.text . }}}}\n",
	}
	var entries []sidecartest.Entry
	for name, text := range files {
		entries = append(entries, sidecartest.Entry{Header: tar.Header{Name: name, Typeflag: tar.TypeReg}, Data: []byte(text)})
	}
	archive := sidecartest.PackEntries(entries...)
	for _, tt := range []struct{ dir, parameters, variable, want string }{
		{"shop", `[{"name":"set-string","map":{"word":"hunter2"}}]`, "", "set-string word: "},
		{"shop", `[{"name":"set","map":{"mail":"hunter2","kind":"hunter2","same":"hunter2"}}]`, "", "set kind: "},
		{"shop", `[{"name":"set","map":{"word[x]":"hunter2"}}]`, "", "set word[x]: "},
		{"shop", `[{"name":"set","map":{"text":"hunter2 {{"}}]`, "", "shop/templates/map.yaml:1: "},
		{"shop", `[{"name":"set","map":{"text":"hunter2 {{ .Values.a.b }}"}}]`, "", "shop/templates/map.yaml:1: "},
		{"shop", `[{"name":"values","array":["secrets.yaml"]}]`, "", "shop/secrets.yaml"},
		{"shop", `[{"name":"set","string":"word=hunter2"}]`, "", "parameter set: "},
		{"shop", `[{"name":"set","map":{"word":"hunter2}]`, "", "ARGOCD_APP_PARAMETERS: "},
		{"shop", "", "word=hunter2", "set word: "},
		{"shop", "", "word=a,hunter2", "set word: "},
		{"text", `[{"name":"set","map":{"text":"hunter2 {{"}}]`, "", "text/map.yaml.tmpl:1: "},
	} {
		t.Run(tt.dir+tt.parameters+tt.variable, func(t *testing.T) {
			var log bytes.Buffer
			client := startServer(t, &log)
			_, err := client.GenerateManifest(t.Context(), sidecartest.Request{Archive: archive, Dir: tt.dir,
				Env: map[string]string{"ARGOCD_APP_NAME": "shop", "ARGOCD_APP_PARAMETERS": tt.parameters, "ARGOCD_ENV_LADDER_SET": tt.variable,
					"ARGOCD_ENV_TOKEN": "hunter2"}})
			if err == nil || !strings.Contains(err.Error(), "desc = "+tt.want) {
				t.Errorf("got %v, want an error about %s", err, tt.want)
			}
			if !strings.Contains(log.String(), "request failed") {
				t.Errorf("the request is not in the log:\n%s", log.String())
			}
			for what, text := range map[string]string{"answer": fmt.Sprint(err), "log": log.String()} {
				if strings.Contains(text, "hunter2") {
					t.Errorf("the %s holds the secret:\n%s", what, text)
				}
			}
		})
	}
}

// TestFindingsInTheLog looks for findings at the level that their severity is.
func TestFindingsInTheLog(t *testing.T) {
	archive := sidecartest.PackEntries(
		sidecartest.Entry{Header: tar.Header{Name: "shop/map.yaml", Typeflag: tar.TypeReg},
			Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: a, a: b}\n")})
	var log bytes.Buffer
	client := startServer(t, &log)
	_, err := client.GenerateManifest(t.Context(),
		sidecartest.Request{Archive: archive, Dir: "shop", Env: map[string]string{"ARGOCD_APP_NAME": "shop"}})
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], "level=INFO msg=\"request answered\"") ||
		!strings.Contains(lines[1], "level=WARN msg=\"shop/map.yaml:4: ConfigMap a: ") ||
		!strings.Contains(lines[1], "application=shop component=shop") {
		t.Errorf("got\n%s", log.String())
	}

	got := serve.Remarks([]finding.Finding{{Severity: finding.Error, Message: "e"}, {Severity: finding.Warning, Message: "w"},
		{Severity: finding.Note, Message: "n"}})
	want := []task.Remark{{Level: slog.LevelError, Text: "e"}, {Level: slog.LevelWarn, Text: "w"}, {Level: slog.LevelInfo, Text: "n"}}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
