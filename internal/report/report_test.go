package report_test

import (
	"encoding/json"
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/internal/draw"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/golden"
	"github.com/ladder-cmp/ladder/internal/report"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/wave"
)

func parse(text string) []object.Object { return golden.Must(object.Parse("in.yaml", 1, text)) }

func ladderOf(t *testing.T, objs []object.Object) *report.Ladder {
	t.Helper()
	g := golden.Must(graph.Build(objs, knowledge.Default(), graph.Options{Namespace: "demo"}))
	p := golden.Must(wave.Assign(g, knowledge.Default(), wave.Options{}))
	return report.LadderOf("demo", p, knowledge.Default(), p.Findings)
}

func pageOf(t *testing.T, l *report.Ladder) string {
	t.Helper()
	page, err := report.Component{Ladder: l}.HTML()
	if err != nil {
		t.Fatal(err)
	}
	return page
}

var dataElement = regexp.MustCompile(`(?s)<script type="application/json" id="data">(.*?)</script>`)

// data is what a page knows, as a browser takes it from the page.
func data(t *testing.T, page string) string {
	t.Helper()
	found := dataElement.FindAllStringSubmatch(page, -1)
	if len(found) != 1 {
		t.Fatalf("the page has %d elements with data", len(found))
	}
	return found[0][1]
}

// TestStories reads what pages know of the components in testdata/*.txtar.
func TestStories(t *testing.T) {
	golden.Archives(t, "testdata/*.txtar", func(t *testing.T, in txtar.File) []txtar.File {
		l := ladderOf(t, parse(string(in.Data)))
		text, err := json.MarshalIndent(l, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		return []txtar.File{golden.Text("ladder.json", string(text)+"\n")}
	})
}

// TestNoSecrets looks in a page for what its objects hold.
func TestNoSecrets(t *testing.T) {
	const planted = "planted-0d1f"
	page := pageOf(t, ladderOf(t, parse(strings.ReplaceAll(`apiVersion: v1
kind: Secret
metadata: {name: a, annotations: {note: PLANTED}, labels: {note: PLANTED}}
stringData: {PLANTED: PLANTED}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: b}
data: {PLANTED: PLANTED}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: c}
spec:
  selector: {matchLabels: {a: c}}
  template:
    metadata: {labels: {a: c}}
    spec: {containers: [{name: c, image: c, env: [{name: PASSWORD, value: PLANTED}], envFrom: [{secretRef: {name: a}}]}]}
`, "PLANTED", planted))))
	if strings.Contains(page, planted) {
		t.Error("the page tells what stands in objects")
	}
}

// TestEscapes reads names that are syntax somewhere back from a page, in which
// they open and close nothing.
func TestEscapes(t *testing.T) {
	plain := ladderOf(t, parse("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"))
	plain.Findings = append(plain.Findings, report.Finding{Finding: finding.Finding{Message: "a"}})
	elements := strings.Count(pageOf(t, plain), "<")
	for _, name := range golden.Awkward {
		l := ladderOf(t, parse(fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %q}\n", name)))
		l.Name = name
		l.Findings = append(l.Findings, report.Finding{Finding: finding.Finding{Message: name}})
		page := pageOf(t, l)
		if got := strings.Count(page, "<"); got != elements {
			t.Errorf("%q: the page has %d elements, others have %d", name, got, elements)
		}
		var got struct {
			Title   string
			Ladders []report.Ladder
		}
		if err := json.Unmarshal([]byte(data(t, page)), &got); err != nil {
			t.Fatal(err)
		}
		if is, want := got.Ladders[0].Objects[0].Name, finding.Sanitize(name); is != want {
			t.Errorf("the page has the name %q, want %q", is, want)
		}
		if !strings.Contains(page, "<title>"+html.EscapeString(name)) &&
			!strings.Contains(page, "<title>"+strings.ReplaceAll(html.EscapeString(name), "\n", "\\n")) {
			t.Errorf("%q is not the title", name)
		}
	}
}

// TestPolicy checks that a page lets nothing run but its own program.
func TestPolicy(t *testing.T) {
	page := pageOf(t, ladderOf(t, parse("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")))
	known := data(t, page) // in which are sources of knowledge, as texts
	for _, bad := range []string{"unsafe-inline", "unsafe-eval", "http://", "https://", "@import", " onclick=", " style=",
		"innerHTML", "import {"} {
		there := strings.Contains(strings.NewReplacer("http://www.w3.org/2000/svg", "",
			"https://github.com/ladder-cmp/ladder/blob/main/docs/glossary.md", "", known, "").Replace(page), bad)
		if there {
			t.Errorf("the page has %q", bad)
		}
	}
	if !strings.Contains(page, `content="default-src 'none'; script-src 'sha256-`) {
		t.Error("the page has no policy")
	}
}

// TestSameBytes writes the same page whatever the order of the input.
func TestSameBytes(t *testing.T) {
	ar, err := txtar.ParseFile("testdata/shop.txtar")
	if err != nil {
		t.Fatal(err)
	}
	objs := golden.Must(object.Parse("in.yaml", 1, string(ar.Files[0].Data)))
	want := pageOf(t, ladderOf(t, objs))
	for _, shuffled := range golden.Shuffled(objs) {
		if pageOf(t, ladderOf(t, shuffled)) != want {
			t.Fatal("the order of the input matters")
		}
	}
}

// TestFleet reads what a page knows of a fleet: findings stand at the component
// that they name, or whose description they are in. What rollouts share stands in
// it once.
func TestFleet(t *testing.T) {
	end := 5.0
	shared := &report.Ladder{Name: "a"}
	f := report.Fleet{Rollouts: []report.Rollout{{
		Graph: draw.Rollout{
			Label:        "rollout of small",
			Steps:        []draw.Step{{Title: "step 010", About: "CRDs"}},
			Apps:         []draw.App{{Name: "a", Kind: "crds", Tip: "a"}, {Name: "b", Kind: "app", IsDisabled: true}, {Name: "c", Kind: "app"}},
			Dependencies: []draw.Dependency{{From: 1, To: 0, Why: "needs", Reasons: []string{"one"}, IsGate: true, Hidden: true}},
		},
		Applications: []report.Row{{File: "a/component.yaml", Namespace: "x", Ladder: shared}, {File: "b/component.yaml"},
			{File: "b/inner/component.yaml"}},
		Findings: []finding.Finding{
			{Rule: "r", Severity: finding.Error, File: "b/component.yaml", Message: "of b"},
			{Rule: "r", Severity: finding.Note, Object: "a", Message: "of a"},
			{Rule: "r", Severity: finding.Note, File: "a/templates/x.yaml", Message: "in a"},
			{Rule: "r", Severity: finding.Note, File: "b/inner/x.yaml", Message: "in c"},
			{Rule: "r", Severity: finding.Note, File: "ladder.yaml", Message: "of none"}},
	}, {
		Environment:  "lab",
		Graph:        draw.Rollout{Steps: []draw.Step{{Title: "step 010", About: "CRDs"}}, Apps: []draw.App{{Name: "a", Kind: "crds", Tip: "a"}}},
		Applications: []report.Row{{File: "a/component.yaml", Namespace: "x", Ladder: shared}},
		Timeline:     &report.Timeline{Done: true, TotalSeconds: 5, Applications: []report.Span{{Name: "a", Step: "010", End: &end}}},
	}}}
	page, err := f.HTML()
	if err != nil {
		t.Fatal(err)
	}
	golden.File(t, "testdata/fleet.json", strings.ReplaceAll(data(t, page), `},{`, "},\n{")+"\n")
}
