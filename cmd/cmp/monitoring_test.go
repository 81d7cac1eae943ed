package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/ladder-cmp/ladder/internal/golden"
	"github.com/ladder-cmp/ladder/sidecar/sidecartest"
)

const monitoringDir = "../../deploy/monitoring"

// metric is what a server exposes under a name.
type metric struct {
	name, kind, help string
	labels           map[string][]string // their values
}

// exposed are the metrics of a server that has answered a request, with the
// series of histograms under names of their own.
func exposed(t *testing.T) map[string]*metric {
	t.Helper()
	s := startServe(t)
	archive := sidecartest.PackEntries(sidecartest.File("app/map.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"))
	if _, err := s.GenerateManifest(t.Context(), sidecartest.Request{Archive: archive, Dir: "app"}); err != nil {
		t.Fatal(err)
	}
	text := s.get(t, "/metrics")
	s.stop()
	all := map[string]*metric{}
	get := func(name string) *metric {
		if all[name] == nil {
			all[name] = &metric{name: name, labels: map[string][]string{}}
		}
		return all[name]
	}
	series := regexp.MustCompile(`^([a-z_]+)(?:\{(.*)\})? `)
	label := regexp.MustCompile(`([a-z_]+)="([^"]*)"`)
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if words := strings.SplitN(line, " ", 4); len(words) == 4 && words[0] == "#" {
			switch m := get(words[2]); words[1] {
			case "HELP":
				m.help = words[3]
			case "TYPE":
				m.kind = words[3]
			}
			continue
		}
		m := series.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		of := []string{m[1]}
		if base := regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(m[1], ""); all[base] != nil {
			of = append(of, base)
		}
		for _, pair := range label.FindAllStringSubmatch(m[2], -1) {
			for _, name := range of {
				if one := get(name); !slices.Contains(one.labels[pair[1]], pair[2]) && (name == m[1] || pair[1] != "le") {
					one.labels[pair[1]] = append(one.labels[pair[1]], pair[2])
				}
			}
		}
		get(m[1])
	}
	return all
}

// expression is a piece of PromQL, and where it stands.
type expression struct{ where, text string }

type alert struct {
	Alert       string            `json:"alert"`
	Expr        string            `json:"expr"`
	For         string            `json:"for"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

type ruleGroups struct {
	Groups []struct {
		Name  string  `json:"name"`
		Rules []alert `json:"rules"`
	} `json:"groups"`
}

func alerts(t *testing.T, dir string) []alert {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "rules.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var file ruleGroups
	if err := yaml.UnmarshalStrict(data, &file); err != nil {
		t.Fatal(err)
	}
	var all []alert
	for _, g := range file.Groups {
		all = append(all, g.Rules...)
	}
	return all
}

// panel is what is looked at of a panel of the dashboard.
type panel struct {
	ID                       int
	Title, Description, Type string
	GridPos                  struct{ X, Y, W, H int }
	Targets                  []struct{ Expr string }
}

func dashboard(t *testing.T) []panel {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(monitoringDir, "dashboard.json"))
	if err != nil {
		t.Fatal(err)
	}
	var board struct{ Panels []panel }
	if err := json.Unmarshal(data, &board); err != nil {
		t.Fatal(err)
	}
	return board.Panels
}

// expressions are those of the alerts and the dashboard. Grafana's variables
// are replaced: the interval by one, a choice of servers by all.
func expressions(t *testing.T) []expression {
	t.Helper()
	var all []expression
	for _, a := range alerts(t, monitoringDir) {
		all = append(all, expression{"alert " + a.Alert, a.Expr})
	}
	grafana := strings.NewReplacer("$__rate_interval", "5m", `"$job"`, `".*"`, `"$instance"`, `".*"`)
	for _, p := range dashboard(t) {
		for _, target := range p.Targets {
			all = append(all, expression{"panel " + p.Title, grafana.Replace(target.Expr)})
		}
	}
	if len(all) < 30 {
		t.Fatalf("only %d expressions", len(all))
	}
	return all
}

// TestExpressions makes sure that alerts and dashboard name no metric, label or
// value that a server does not expose, and show every metric that it has.
func TestExpressions(t *testing.T) {
	known := exposed(t)
	used := map[string]bool{}
	for _, e := range expressions(t) {
		for _, fault := range unknownIn(e.text, known, used) {
			t.Errorf("%s: %s in\n%s", e.where, fault, e.text)
		}
	}
	for name, m := range known {
		if strings.HasPrefix(name, "ladder_") && m.kind != "" && !used[name] {
			t.Errorf("neither an alert nor the dashboard looks at %s", name)
		}
	}
	// The test can fail.
	for _, wrong := range []string{`ladder_request_total`, `rate(ladder_requests_total{kode="OK"}[5m])`, `ladder_requests_total{code="Okay"}`,
		`ladder_requests_total{code=~"OK|Okay"}`, `sum by (kode) (ladder_requests_total)`, `ladder_request_seconds`} {
		if len(unknownIn(wrong, known, map[string]bool{})) == 0 {
			t.Errorf("no fault is found in %s", wrong)
		}
	}
}

var (
	promLabels  = regexp.MustCompile(`\b(by|on|without|ignoring|group_left|group_right)\s*\(([^)]*)\)`)
	promRange   = regexp.MustCompile(`\[[^\]]*\]`)
	promMetric  = regexp.MustCompile(`([a-z_][a-z0-9_]*)\s*(\{[^}]*\}|\()?`)
	promMatcher = regexp.MustCompile(`([a-z_]+)\s*(=~|!~|!=|=)\s*"([^"]*)"`)
	targetLabel = []string{"job", "instance"}
)

// unknownIn says what of an expression that parses is not known. What it names
// is added to used.
func unknownIn(expr string, known map[string]*metric, used map[string]bool) []string {
	var faults []string
	grouped := map[string]bool{}
	text := promLabels.ReplaceAllStringFunc(promRange.ReplaceAllString(expr, ""), func(s string) string {
		for _, name := range strings.Split(promLabels.FindStringSubmatch(s)[2], ",") {
			grouped[strings.TrimSpace(name)] = true
		}
		return ""
	})
	has := map[string]bool{}
	for _, m := range promMetric.FindAllStringSubmatch(text, -1) {
		if m[2] == "(" || m[1] == "and" || m[1] == "or" || m[1] == "unless" {
			continue
		}
		one := known[m[1]]
		histogram := one != nil && one.kind == "histogram"
		if one == nil || histogram {
			faults = append(faults, "there is no series "+m[1])
			continue
		}
		used[m[1]], used[strings.TrimSuffix(m[1], "_bucket")] = true, true
		for label := range one.labels {
			has[label] = true
		}
		for _, matcher := range promMatcher.FindAllStringSubmatch(m[2], -1) {
			label, values := matcher[1], []string{matcher[3]}
			if slices.Contains(targetLabel, label) {
				continue
			}
			if strings.HasSuffix(matcher[2], "~") {
				values = strings.Split(matcher[3], "|")
			}
			for _, value := range values {
				if !slices.Contains(one.labels[label], value) {
					faults = append(faults, fmt.Sprintf("%s has no series with %s=%q", m[1], label, value))
				}
			}
		}
	}
	for label := range grouped {
		if !has[label] && !slices.Contains(targetLabel, label) {
			faults = append(faults, "no metric has the label "+label)
		}
	}
	return faults
}

// TestAlerts makes sure that each alert says what is wrong and has a runbook, and
// that both files hold the same rules. With -update the manifest is written.
func TestAlerts(t *testing.T) {
	doc, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	books := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^### (Ladder\w+)$`).FindAllStringSubmatch(string(doc), -1) {
		books[m[1]] = true
	}
	for _, a := range alerts(t, monitoringDir) {
		if want := "docs/operations.md#" + strings.ToLower(a.Alert); a.Annotations["runbook"] != want || !books[a.Alert] {
			t.Errorf("%s: the runbook is %s, want %s with a section of its name", a.Alert, a.Annotations["runbook"], want)
		}
		delete(books, a.Alert)
		if a.Annotations["summary"] == "" || a.Annotations["description"] == "" ||
			!slices.Contains([]string{"critical", "warning", "info"}, a.Labels["severity"]) {
			t.Errorf("%s lacks a text or a severity", a.Alert)
		}
	}
	if len(books) > 0 {
		t.Errorf("runbooks for no alert: %v", slices.Sorted(maps.Keys(books)))
	}

	rules, err := os.ReadFile(filepath.Join(monitoringDir, "rules.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	_, groups, found := strings.Cut(string(rules), "\ngroups:\n")
	if !found {
		t.Fatal("rules.yaml has no groups")
	}
	want := `# rules.yaml for the Prometheus Operator, generated by go test ./cmd/cmp -update.
# Set the namespace, and the labels that your Prometheus selects.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: ladder
  labels: {app.kubernetes.io/name: ladder}
spec:
  groups:
`
	for line := range strings.Lines(groups) {
		want += "  " + line
	}
	manifest := filepath.Join(monitoringDir, "prometheusrule.yaml")
	if golden.Update() {
		if err := os.WriteFile(manifest, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(manifest); err != nil || string(got) != want {
		t.Errorf("%s does not hold the rules of rules.yaml (%v); run with -update", manifest, err)
	}
}

// TestDashboard looks for panels that hide each other or say nothing.
func TestDashboard(t *testing.T) {
	panels := dashboard(t)
	named := map[string]bool{}
	for _, a := range alerts(t, monitoringDir) {
		named[a.Alert] = true
	}
	for i, p := range panels {
		if p.Type != "row" && (p.Description == "" || len(p.Targets) == 0) {
			t.Errorf("panel %q has no description or shows nothing", p.Title)
		}
		for _, name := range regexp.MustCompile(`Ladder[A-Z]\w+`).FindAllString(p.Description, -1) {
			if !named[name] {
				t.Errorf("panel %q names %s, which is no alert", p.Title, name)
			}
		}
		for _, q := range panels[:i] {
			a, b := p.GridPos, q.GridPos
			if p.ID == q.ID || a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H {
				t.Errorf("panels %q and %q have one place or number", p.Title, q.Title)
			}
		}
	}
}

// metricsTable is the table of the server's own metrics.
func metricsTable(t *testing.T) string {
	known := exposed(t)
	byKind := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		m := known[name]
		if !strings.HasPrefix(name, "ladder_") || m.kind == "" {
			continue
		}
		text := "`" + name + "`"
		if len(m.labels) > 0 {
			text += " (by `" + strings.Join(slices.Sorted(maps.Keys(m.labels)), "`, `") + "`)"
		}
		byKind[m.kind] = append(byKind[m.kind], text)
	}
	var b strings.Builder
	for _, kind := range slices.Sorted(maps.Keys(byKind)) {
		fmt.Fprintf(&b, "- %ss: %s\n", kind, strings.Join(byKind[kind], ", "))
	}
	return b.String()
}
