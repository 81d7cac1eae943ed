package serve

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"google.golang.org/grpc/status"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/plugin"
	"github.com/ladder-cmp/ladder/sidecar"
	"github.com/ladder-cmp/ladder/sidecar/sidecartest"
)

// account is a server of this process, with everything that leaves it: it accounts bytes, and
// measures neither time nor memory.
type account struct {
	client  *sidecartest.Client
	metrics *prometheus.Registry

	mu   sync.Mutex
	log  bytes.Buffer
	span int // the longest text of a span
}

func (a *account) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.log.Write(p)
}

// ExportSpans implements sdktrace.SpanExporter.
func (a *account) ExportSpans(_ context.Context, spans []sdktrace.ReadOnlySpan) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range spans {
		a.span = max(a.span, len(s.Status().Description))
		for _, attribute := range s.Attributes() {
			a.span = max(a.span, len(attribute.Value.String()))
		}
	}
	return nil
}

// Shutdown implements sdktrace.SpanExporter.
func (a *account) Shutdown(context.Context) error { return nil }

// take returns the lines of the log since the last call.
func (a *account) take() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	defer a.log.Reset()
	return strings.Split(strings.TrimSpace(a.log.String()), "\n")
}

func (a *account) cacheBytes(t *testing.T) int {
	t.Helper()
	families, err := a.metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "ladder_cache_bytes" {
			return int(f.GetMetric()[0].GetGauge().GetValue())
		}
	}
	t.Fatal("no ladder_cache_bytes")
	return 0
}

func newAccount(t *testing.T) *account {
	t.Helper()
	a := &account{metrics: prometheus.NewRegistry()}
	log, err := NewLogger(a, "json", "debug")
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(t.TempDir(), "s")
	lis, err := sidecar.Listen(socket)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() {
		served <- sidecar.Serve(ctx, lis, sidecar.Config{Tasks: newTasks(knowledge.Default(), true, &libraryLines{}), Cache: 1 << 30,
			Log: log, Metrics: a.metrics, Traces: sdktrace.NewTracerProvider(sdktrace.WithSyncer(a)), Variables: plugin.Reads})
	}()
	if a.client, err = sidecartest.Dial(socket); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		a.client.Close()
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return a
}

const marker = "hugehugehuge"

// hugeSize is more than any of the limits below of one line, of one error and of what the cache
// holds, so that a single text that gets there exceeds them. Everything costs in proportion to it.
const hugeSize = 24 << 10

// check asks twice, and accounts what left the server and what it holds.
func (a *account) check(t *testing.T, about string, files map[string]string) {
	t.Helper()
	const mostLine, mostError, mostLog, mostHeld = 16 << 10, 16 << 10, 128 << 10, 20 << 10
	var entries []sidecartest.Entry
	for name, text := range files {
		entries = append(entries, sidecartest.File(name, text))
	}
	a.take()
	archive, before, manifests := sidecartest.PackEntries(entries...), a.cacheBytes(t), 0
	for range 2 {
		got, err := a.client.GenerateManifest(t.Context(), sidecartest.Request{Archive: archive,
			Dir: "app", Chunk: 1 << 20, Env: map[string]string{"ARGOCD_APP_NAME": fmt.Sprintf("app-%x", len(about)) + about[:min(len(about), 100)]}})
		manifests = len(strings.Join(got, ""))
		if n := len(status.Convert(err).Message()); n > mostError {
			t.Errorf("%s: an error of %d bytes", about, n)
		}
		lines := a.take()
		if all := len(strings.Join(lines, "")); all > mostLog {
			t.Errorf("%s: a request writes %d bytes to the log", about, all)
		}
		for _, l := range lines {
			if len(l) > mostLine {
				t.Errorf("%s: a line of %d bytes in the log: %.200s", about, len(l), l)
			}
		}
		if err != nil {
			break
		}
	}
	if held := a.cacheBytes(t) - before - manifests; held > mostHeld {
		t.Errorf("%s: the cache holds %d bytes beside the manifests", about, held)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.span > 4000 {
		t.Errorf("%s: a text of %d bytes in a span", about, a.span)
	}
	a.span = 0
}

// variants returns a document once for each of its scalars and keys, with a text in its place, and
// the path of each.
func variants(t *testing.T, text, with string) map[string]string {
	t.Helper()
	// YAML is written alike with every long text, so a short one is written and then replaced.
	short := marker + strings.Repeat("x", 200)
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	var visit func(n *yaml.Node, at string)
	visit = func(n *yaml.Node, at string) {
		if n.Kind == yaml.ScalarNode {
			before := *n
			n.Value, n.Tag, n.Style = short, "!!str", 0
			out, err := yaml.Marshal(&doc)
			if err != nil {
				t.Fatal(err)
			}
			*n = before
			all[at] = strings.Replace(string(out), short, with, 1)
		}
		for i, below := range n.Content {
			name := fmt.Sprintf("%s.%d", at, i)
			if n.Kind == yaml.MappingNode {
				if name = at + "." + n.Content[i-i%2].Value; i%2 == 0 {
					name += "(key)"
				}
			}
			visit(below, name)
		}
	}
	visit(&doc, "")
	return all
}

// TestHugeTexts puts a huge text into every field of objects, of component.yaml, of ladder.yaml and
// of the files of a chart and of a kustomization: what a request logs, traces, answers with and
// leaves in the cache does not grow with it.
func TestHugeTexts(t *testing.T) {
	t.Parallel()
	// The server holds little, so that by default a quarter of the time goes to the garbage collector.
	defer debug.SetGCPercent(debug.SetGCPercent(300))
	a := newAccount(t)
	huge := marker + strings.Repeat("x", hugeSize)
	other := "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: shop}\n" +
		"spec: {selector: {app: web}, ports: [{port: 80, targetPort: http}]}\n"
	for i, text := range hugeObjects {
		for at, document := range variants(t, text, huge) {
			a.check(t, fmt.Sprintf("object %d%s", i, at), map[string]string{"app/a.yaml": document, "app/other.yaml": other})
		}
	}
	for at, document := range variants(t, hugeComponent, huge) {
		a.check(t, "component.yaml"+at, map[string]string{"app/component.yaml": document, "app/a.yaml": other, "app/prod.yaml": ""})
	}
	for at, document := range variants(t, hugeLadder, huge) {
		a.check(t, "ladder.yaml"+at, map[string]string{"ladder.yaml": document, "app/a.yaml": other, "app/component.yaml": "name: web\n"})
	}
	chart := map[string]string{"app/Chart.yaml": "{apiVersion: v2, name: c, version: 1.0.0, dependencies: [{name: d, version: 1.0.0, " +
		"repository: 'https://charts.example.com', condition: a, alias: b, tags: [t]}]}\n",
		"app/values.yaml": "a: {b: c}\n", "app/templates/a.yaml": other}
	kustomization := map[string]string{"app/a.yaml": other,
		"app/kustomization.yaml": `{resources: [a.yaml, "https://example.com/x?ref=v1"], namespace: n, namePrefix: p, commonLabels: {a: b},
images: [{name: a, newName: b, newTag: c, digest: d}], patches: [{target: {kind: Service, name: web}, patch: "- op: remove"}], configMapGenerator: [{name: c, literals: [a=b], files: [f]}], components: [x], generators: [g]}`}
	for _, files := range []map[string]string{chart, kustomization} {
		for name, text := range files {
			for at, document := range variants(t, text, huge) {
				changed := map[string]string{name: document}
				for other, text := range files {
					if other != name {
						changed[other] = text
					}
				}
				a.check(t, name+at, changed)
			}
		}
	}
	for name, template := range map[string]string{
		"fail": `{{ fail (repeat 200000 "hugehugehuge") }}`, "required": `{{ required (repeat 200000 "x") .Values.missing }}`,
		"include": `{{ include (repeat 200000 "x") . }}`,
		"kind":    "apiVersion: v1\nkind: {{ repeat 200000 \"K\" }}\nmetadata: {name: a}\n",
		"lines":   `{{ range until 20000 }}{{ "---\napiVersion: v1\nkind: A\n" }}{{ end }}`,
		"lookup":  `{{ lookup "v1" (repeat 200000 "K") "" "" }}`,
		"hooks": "{{ range until 3000 }}---\napiVersion: v1\nkind: ConfigMap\n" +
			"metadata: {name: a-{{ . }}, annotations: {helm.sh/hook: {{ repeat 1000 \"h\" }}-{{ . }}}}\n{{ end }}",
	} {
		a.check(t, "template "+name, map[string]string{"app/Chart.yaml": "{apiVersion: v2, name: c, version: 1.0.0}",
			"app/templates/a.yaml": template, "app/templates/b.yaml": other})
	}
	// The metrics have nothing of it.
	families, err := a.metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if strings.Contains(f.String(), marker) || len(f.String()) > 100_000 {
			t.Errorf("%s: %.200s", f.GetName(), f)
		}
	}
}

// TestLongLogLines: no part of the program logs a text of any length.
func TestLongLogLines(t *testing.T) {
	t.Parallel()
	huge := strings.Repeat("x", 1_000_000)
	for _, format := range []string{"json", "text"} {
		var out bytes.Buffer
		log, err := NewLogger(&out, format, "info")
		if err != nil {
			t.Fatal(err)
		}
		for name, write := range map[string]func(){
			"message":   func() { log.Info(huge) },
			"attribute": func() { log.Info("m", "a", huge) },
			"error":     func() { log.Info("m", "a", fmt.Errorf("%s", huge)) },
			"with":      func() { log.With("a", huge).Info("m") },
			"group":     func() { log.WithGroup("g").Info("m", slog.Group("h", "a", huge)) },
			"list":      func() { log.Info("m", "a", slices.Repeat([]string{huge}, 3)) },
			"valuer":    func() { log.Info("m", "a", valuer(huge)) },
		} {
			if out.Reset(); true {
				write()
			}
			if out.Len() > maxLogText+200 {
				t.Errorf("%s, %s: a line of %d bytes", format, name, out.Len())
			}
		}
	}
}

type valuer string

func (v valuer) LogValue() slog.Value { return slog.StringValue(string(v)) }
