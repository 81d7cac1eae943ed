//go:build !race

// The memory of a worker leaves no room for what the race detector takes.

package main

import (
	"archive/tar"
	"fmt"
	"maps"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/status"

	"github.com/ladder-cmp/ladder/sidecar/sidecartest"
)

// hostileRepository is a repository that would take a plugin server down, or make it do
// what it must not. The want is a part of the error; "" is for one that is rendered after
// all.
type hostileRepository struct {
	repo repo
	want string
}

// hostileRepositories returns them by name. Sizes are small enough for the tests and large
// enough for the limits. The listener is an address from which nothing may be fetched.
func hostileRepositories(listener string) map[string]hostileRepository {
	all := hostileFiles()
	maps.Copy(all, hostileTemplates())
	maps.Copy(all, hostileCharts(listener))
	maps.Copy(all, hostileKustomizations(listener))
	maps.Copy(all, hostileYAML())
	return all
}

func hostileFiles() map[string]hostileRepository {
	return map[string]hostileRepository{
		"many bad documents":   {files("app/a.yaml", strings.Repeat("---\na: 1\n", 5_000)), "| and 4950 more; cmp render lists all"},
		"many equal documents": {files("app/a.yaml", strings.Repeat("---\n"+configMap, 5_000)), ""},
		"many of one name":     {files("app/a.yaml", manyOfOneName(5_000)), "more; cmp render lists all"},
		"a long kind": {files("app/a.yaml", "apiVersion: v1\nkind: "+strings.Repeat("x", 1<<20)+"\nmetadata: {nam: a}\n"),
			"(no kind): the manifest lacks metadata.name"},
		"a block not in UTF-8": {files("app/a.yaml", configMap+"data:\n  a: |\n"+strings.Repeat("    xxxxxxxxxxxxxxxxxxxxxx\n", 2000)+
			"    \xff\xfe\n"), "app/a.yaml:2006: not valid YAML: the text is not UTF-8"},
		"a schema not in UTF-8": {files("app/a.yaml", "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n"+
			"metadata: {name: as.b.c}\nspec:\n  group: b.c\n  names: {kind: A, plural: as}\n  scope: Namespaced\n  versions:\n  - name: v1\n"+
			"    schema:\n      openAPIV3Schema:\n        description: \xff\xfe\n        type: object\n"),
			"app/a.yaml:12: not valid YAML: the text is not UTF-8"},
		"UTF-16": {files("app/a.yaml", "\xff\xfea\x00:\x00 \x001\x00"), "app/a.yaml:1: not valid YAML: the text is not UTF-8"},
		"a loop of symlinks": {append(files("app/a.yaml", configMap), linkTo("app/b.yaml", "c.yaml"), linkTo("app/c.yaml", "b.yaml")),
			"too many symlinks"},
		"a symlink to its own": {append(files("app/a.yaml", configMap), linkTo("app/up", ".")), ""},
		"a symlink to nothing": {append(files("app/a.yaml", configMap), linkTo("app/b.yaml", "nowhere")), ""},
		"a symlink to /proc": {append(files("app/a.yaml", configMap), linkTo("app/b.yaml", "/proc/self/environ")),
			"which leads outside the repository"},
		"a symlink through .git": {append(files("app/a.yaml", configMap, ".git/config", "secret"), linkTo("app/b.yaml", "../.git/config")), ""},
	}
}

func hostileTemplates() map[string]hostileRepository {
	return map[string]hostileRepository{
		"until": {templated(`{{ range until 2000000000 }}x{{ end }}`), "of memory"},
		"endless": {templated(`{{ range until 100000 }}{{ range until 100000 }}{{ end }}{{ end }}`),
			"timed out while the plugin was rendering: the request had taken "},
		"keys without end": {templated(`{{ range until 100000 }}{{ genPrivateKey "rsa" }}{{ end }}`), "timed out while"},
		"hashes without end": {templated(`{{ range until 100000 }}{{ bcrypt "a" }}{{ derivePassword 1 "long" "a" "b" "c" }}{{ end }}`),
			"timed out while"},
		"output without end": {templated(`{{ range until 100000 }}{{ range until 100000 }}xxxxxxxxxxxxxxxxxxx{{ end }}{{ end }}`), "of memory"},
		"include itself":     {templated(`{{ define "a" }}{{ include "a" . }}{{ end }}{{ include "a" . }}`), "template \"a\" includes itself"},
		"template itself":    {templated(`{{ define "a" }}{{ template "a" . }}{{ end }}{{ template "a" . }}`), "their stack exceeded"},
		"repeat":             {templated(`{{ repeat 2000000000 "x" }}`), "raise --worker-memory"},
		"repeat too often":   {templated(`{{ repeat 9000000000000000000 "xx" }}`), "Repeat output length overflow"},
		"randAlphaNum":       {templated(`{{ randAlphaNum 1000000000 | len }}`), "raise --worker-memory"},
		"printf widths":      {templated(`{{ range until 1000 }}{{ printf "%999999d%999999d%999999d" 1 1 1 }}{{ end }}`), "of memory"},
		"printf a width":     {templated(`{{ printf "%1000000000d" 1 }}`), "app/templates/a.yaml"},
		"seq":                {templated(`{{ seq 1 2000000000 | len }}`), "of memory"},
		"doubling":           {templated(`{{ $x := "x" }}{{ range until 64 }}{{ $x = printf "%s%s" $x $x }}{{ end }}{{ $x }}`), "memory"},
		"regex":              {templated(`{{ regexMatch "(a+)+$" (printf "%sb" (repeat 100000 "a")) }}`), "app/templates/a.yaml"},
		"regex replace":      {templated(`{{ regexReplaceAll "(x*)*" (repeat 1000000 "x") (repeat 1000 "${1}") }}`), "of memory"},
		"a value in itself": {templated(`{{ $d := dict }}{{ $_ := set $d "d" $d }}{{ $d }}`),
			"or a value contains itself: their stack exceeded"},
		"parentheses": {templated("{{ " + strings.Repeat("(", 100000) + "1" + strings.Repeat(")", 100000) + " }}"),
			"max expression depth exceeded"},
		"ifs":                {templated(strings.Repeat("{{ if 1 }}", 100000) + strings.Repeat("{{ end }}", 100000)), "their stack exceeded"},
		"a long fault":       {templated(`{{ required (repeat 300000 "x") nil }}`), "xxx ... xxx"},
		"a fault of no text": {templated(`{{ fail (b64dec "//4AAQ==") }}`), "app/templates/a.yaml:1: "},
		"files of the server": {templated(
			configMap + `data: {a: {{ .Files.Get "/proc/self/environ" | quote }}, b: {{ .Files.Get "../../../../proc/self/environ" | quote }}, ` +
				`c: {{ .Files.Glob "/**" | toString | quote }}, d: {{ getHostByName "localhost" | quote }}}`), ""},
		"environment": {templated(`{{ env "PATH" }}`), `function "env" not defined`},
	}
}

func hostileCharts(listener string) map[string]hostileRepository {
	return map[string]hostileRepository{
		"values of the server": {chartOf("app/component.yaml", "values: [/proc/self/environ]\n", "app/templates/a.yaml", configMap),
			"/proc/self/environ not found"},
		"values outside": {chartOf("app/component.yaml", "values: [../../../proc/self/environ]\n", "app/templates/a.yaml", configMap),
			"the path leaves the repository"},
		"a bomb in charts/": {
			append(chartOf("app/templates/a.yaml", configMap), sidecartest.Entry{Header: tar.Header{Name: "app/charts/b.tgz", Typeflag: tar.TypeReg},
				Data: sidecartest.PackEntries(zeros("b/Chart.yaml", 4<<20), zeros("b/a", 4<<20), zeros("b/b", 100<<20)).Tgz}), "app/charts/b.tgz"},
		"charts in charts": {append(chartOf("app/templates/a.yaml", configMap),
			sidecartest.Entry{Header: tar.Header{Name: "app/charts/c.tgz", Typeflag: tar.TypeReg}, Data: nested(40)}), ""},
		"a chart of its own": {files("app/Chart.yaml",
			"apiVersion: v2\nname: app\nversion: 1.0.0\ndependencies: [{name: b, version: 1.0.0, repository: file://../b}]\n",
			"b/Chart.yaml", "apiVersion: v2\nname: b\nversion: 1.0.0\ndependencies: [{name: app, version: 1.0.0, repository: file://../app}]\n"),
			"the dependency file://../app depends on this chart"},
		"a chart in itself": {append(chartOf("app/templates/a.yaml", configMap), linkTo("app/charts/app", "../")),
			"directories are nested too deeply; is there a symlink loop?"},
		"files by symlinks": {append(chartOf("app/templates/a.yaml", configMap, "app/x", strings.Repeat("0123456789abcde\n", 1<<16)),
			doublings("app/l", 12)...), "the chart"},
		"a schema elsewhere": {chartOf("app/values.schema.json", `{"$ref": "http://`+listener+`/s.json", "properties": {"a": {"$ref": "https://`+
			listener+`/s.json"}}}`, "app/templates/a.yaml", configMap), ""},
		"a schema of files": {chartOf("app/values.schema.json", `{"$ref": "file:///proc/self/environ"}`, "app/templates/a.yaml", configMap),
			"a schema can only refer to itself"},
		"a schema in itself": {chartOf("app/values.schema.json", `{"$ref": "#"}`, "app/templates/a.yaml", configMap), "causing reference cycle"},
		"a deep schema": {chartOf("app/values.schema.json", strings.Repeat(`{"properties":{"a":`, 20000)+"{}"+strings.Repeat("}}", 20000),
			"app/templates/a.yaml", configMap), "exceeded max depth"},
	}
}

func hostileKustomizations(listener string) map[string]hostileRepository {
	return map[string]hostileRepository{
		"resources in a circle": {files("app/kustomization.yaml", "resources: [../b]\n", "b/kustomization.yaml", "resources: [../app]\n"),
			"cycle"},
		"a remote base":           {files("app/kustomization.yaml", "resources: ['http://"+listener+"/a']\n"), "is not fetched"},
		"a remote base in braces": {files("app/kustomization.yaml", "resources: ['http://"+listener+"/{a}']\n"), "is not fetched"},
		"remote crds in braces": {files("app/kustomization.yaml", "crds: ['http://"+listener+"/{a}']\nresources: [a.yaml]\n", "app/a.yaml",
			configMap), "is not fetched"},
		"a remote patch in braces": {files("app/kustomization.yaml", "patches: [{path: 'http://"+listener+"/{a}'}]\nresources: [a.yaml]\n",
			"app/a.yaml", configMap), "is not fetched"},
		"a git repository": {files("app/kustomization.yaml", "resources: ['git@"+listener+":a/{b}.git']\n"),
			"uses SSH, which Ladder does not support"},
		"a remote file by a plugin": {files("app/kustomization.yaml", "transformers: [t]\nresources: [a.yaml]\n",
			"app/a.yaml", configMap, "app/t/kustomization.yaml", "resources: [t.yaml]\n", "app/t/t.yaml",
			"apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: t}\npath: http://"+listener+"/p.yaml\n"), "network access is disabled"},
		"a program": {files("app/kustomization.yaml", "generators: [g.yaml]\n", "app/g.yaml", "apiVersion: v1\nkind: G\nmetadata:\n  name: g\n"+
			"  annotations:\n    config.kubernetes.io/function: |\n      exec: {path: /bin/true}\n"), "plugin"},
		"a container": {files("app/kustomization.yaml", "transformers: [g.yaml]\nresources: [a.yaml]\n",
			"app/a.yaml", configMap, "app/g.yaml", "apiVersion: v1\nkind: G\nmetadata:\n  name: g\n  annotations:\n"+
				"    config.kubernetes.io/function: |\n      container: {image: example.com/a}\n"), "plugin"},
		"starlark": {files("app/kustomization.yaml", "transformers: [g.yaml]\nresources: [a.yaml]\n",
			"app/a.yaml", configMap, "app/g.yaml", "apiVersion: v1\nkind: G\nmetadata:\n  name: g\n  annotations:\n"+
				"    config.kubernetes.io/function: |\n      starlark: {path: a.star, name: a}\n"), "plugin"},
		"files outside": {files("app/kustomization.yaml",
			"secretGenerator: [{name: a, files: [/proc/self/environ, ../../proc/self/environ], envs: [/proc/self/environ]}]\n"),
			"leaves the repository"},
		"openapi outside": {files("app/kustomization.yaml", "openapi: {path: /proc/self/environ}\nresources: [a.yaml]\n",
			"app/a.yaml", configMap), "leaves the repository"},
		"a large openapi": {files("app/kustomization.yaml", "openapi: {path: o.json}\nresources: [a.yaml]\n", "app/a.yaml", configMap,
			"app/o.json", `{"definitions": {`+strings.TrimSuffix(many(200_000, `"a%d": {"type": "object"},`), ",")+"}}"), ""},
		"many unknown keys": {files("app/kustomization.yaml", many(1000, "k%d: 1\n"), "app/a.yaml", configMap), "unknown field"},
		"crds of much": {files("app/kustomization.yaml", "crds: [o.json]\nresources: [a.yaml]\n", "app/a.yaml", configMap, "app/o.json",
			strings.Repeat("[", 200_000)), "max depth"},
		"replacements by regex": {files("app/kustomization.yaml", "resources: [a.yaml]\nreplacements: [{source: {kind: '((a+)+)+$', name: a}, "+
			"targets: [{select: {kind: '(((((.*)*)*)*)*)*b'}, fieldPaths: ['data.*']}]}]\n", "app/a.yaml", configMap), "nothing selected"},
	}
}

// hostileYAML has what is wrong with YAML, in each of the files that hold any.
func hostileYAML() map[string]hostileRepository {
	all := map[string]hostileRepository{}
	for what, wrong := range map[string]struct{ text, want string }{
		"a bomb":            {bomb(9), "alias"},
		"deep lists":        {strings.Repeat("[", 200_000), "max depth"},
		"deep mappings":     {strings.Repeat("{a: ", 200_000), "max depth"},
		"deep sequences":    {strings.Repeat("- ", 200_000) + "a\n", "max depth"},
		"an anchor in self": {"a: &a [*a]\n", "itself"},
		"zeros":             {"a: \x00\n", "control characters are not allowed"},
	} {
		below := strings.ReplaceAll(strings.TrimSpace(wrong.text), "\n", "\n  ")
		for where, r := range map[string]repo{
			"plain YAML":       files("app/a.yaml", configMap+"spec:\n  "+below+"\n"),
			"a kustomization":  files("app/kustomization.yaml", wrong.text, "app/a.yaml", configMap),
			"a resource":       files("app/kustomization.yaml", "resources: [a.yaml]\n", "app/a.yaml", configMap+"spec:\n  "+below+"\n"),
			"values.yaml":      chartOf("app/values.yaml", wrong.text, "app/templates/a.yaml", configMap),
			"a file of values": chartOf("app/component.yaml", "values: [v.yaml]\n", "app/v.yaml", wrong.text, "app/templates/a.yaml", configMap),
			"component.yaml":   files("app/component.yaml", "values:\n  "+below, "app/a.yaml", configMap),
			"ladder.yaml":      files("ladder.yaml", "kinds:\n  "+below, "app/a.yaml", configMap),
			"Chart.yaml": chartOf("app/Chart.yaml", "apiVersion: v2\nname: app\nversion: 1.0.0\nannotations:\n  "+below,
				"app/templates/a.yaml", configMap),
			"a template's output": chartOf("app/x.txt", configMap+"spec:\n  "+below, "app/templates/a.yaml", `{{ .Files.Get "x.txt" }}`),
		} {
			want := wrong.want
			if (what == "a bomb" || what == "an anchor in self") && (where == "component.yaml" || where == "ladder.yaml") {
				want = where + ":2: " // its form is wrong, whatever it grows to
			}
			all[what+" in "+where] = hostileRepository{r, want}
		}
	}
	return all
}

// limited reports whether a limit of time or of memory ends the rendering. That takes what it
// limits: the load tests send these.
func (h hostileRepository) limited() bool {
	return strings.Contains(h.want, "memory") || strings.HasPrefix(h.want, "timed out while")
}

// TestHostileRepositories sends all that no limit ends to a server, two at a time, and in between
// a component that must be rendered as ever. Nobody calls, meanwhile.
func TestHostileRepositories(t *testing.T) {
	listener := listen(t, func() { t.Error("something was fetched") })
	s := startServe(t, "LADDER_SERVE_WORKER_MEMORY=201326592", "LADDER_SERVE_TIMEOUT=10m", "LADDER_SERVE_PARALLEL=2",
		"LADDER_SERVE_CACHE_BYTES=0", "PLANTED="+planted)
	all := hostileRepositories(listener)
	maps.DeleteFunc(all, func(_ string, h hostileRepository) bool { return h.limited() })
	sendHostile(t, s, s, all)
}

// sendHostile sends repositories to a server, and to a brief one what is to end by its time.
func sendHostile(t *testing.T, s, brief *served, all map[string]hostileRepository) {
	t.Helper()
	good, err := sidecartest.Pack(componentsDir)
	if err != nil {
		t.Fatal(err)
	}
	render := func() string {
		out, err := s.GenerateManifest(t.Context(),
			sidecartest.Request{Archive: good, Dir: "shop", Env: map[string]string{"ARGOCD_APP_NAME": "shop"}})
		if err != nil {
			t.Error(err)
		}
		return strings.Join(out, "")
	}
	want := render()
	names := make(chan string)
	var askers sync.WaitGroup
	var number atomic.Int64
	for range 2 {
		askers.Go(func() {
			for name := range names {
				hostile := all[name]
				server := s
				if strings.HasPrefix(hostile.want, "timed out while") {
					server = brief
				}
				out, err := server.GenerateManifest(t.Context(), sidecartest.Request{Archive: sidecartest.PackEntries(hostile.repo...), Dir: "app",
					Chunk: 1 << 20, Env: map[string]string{"ARGOCD_APP_NAME": fmt.Sprint("app-", number.Add(1))}})
				hostile.check(t, name, strings.Join(out, ""), err)
			}
		})
	}
	sent := 0
	for name := range all {
		if names <- name; sent%10 == 0 {
			if got := render(); got != want {
				t.Errorf("meanwhile another component became\n%s", got)
			}
		}
		sent++
	}
	close(names)
	askers.Wait()
}

// check looks at what a server answers to the repository.
func (h hostileRepository) check(t *testing.T, name, text string, err error) {
	t.Helper()
	said := status.Convert(err).Message()
	switch {
	case (err == nil) != (h.want == "") || !strings.Contains(said, h.want):
		t.Errorf("%s: %.500v\nwant %s", name, err, h.want)
	case strings.Contains(said, "bug of the plugin"), strings.ContainsAny(said, "\n\x00"), len(said) > 110_000:
		t.Errorf("%s: no clear error: %.500s", name, said)
	case strings.Contains(text, planted) || strings.Contains(text, "PATH="):
		t.Errorf("%s: a file or the environment of the server is in %s", name, text)
	}
}

// listen returns an address, and calls a function for each connection to it.
func listen(t testing.TB, connected func()) string {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lis.Close() })
	go func() {
		for {
			conn, err := lis.Accept()
			if err != nil {
				return
			}
			connected()
			conn.Close()
		}
	}()
	return lis.Addr().String()
}

// manyOfOneName are ConfigMaps of one name, each with content of its own.
func manyOfOneName(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "---\n%sdata: {i: \"%d\"}\n", configMap, i)
	}
	return b.String()
}
