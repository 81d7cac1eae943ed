package draw_test

import (
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/internal/draw"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/golden"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/wave"
)

// TestComponents draws components that ship with the project in every format. Their
// manifests are those that package plugin is tested with, so that nothing is rendered.
func TestComponents(t *testing.T) {
	for _, name := range []string{"beacon-operator", "shop"} {
		manifests, err := os.ReadFile(filepath.Join("../../testdata/components", name+".want.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		g := planOf(parse(string(manifests))).Graph
		p, err := wave.Assign(g, knowledge.Default(), wave.Options{Author: wave.Override})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range draw.Formats() {
			golden.File(t, filepath.Join("testdata", name+"."+string(f)), drawn(t, p, f, draw.Options{}))
		}
	}
}

// TestStories draws what testdata/*.txtar hold: as it is drawn by default, with
// everything, and around an object, if the first line of the input names one.
func TestStories(t *testing.T) {
	golden.Archives(t, "testdata/*.txtar", func(t *testing.T, in txtar.File) []txtar.File {
		p := planOf(parse(string(in.Data)))
		out := []txtar.File{
			golden.Text("default", drawn(t, p, draw.Mermaid, draw.Options{})),
			golden.Text("all", drawn(t, p, draw.Mermaid, draw.Options{All: true})),
		}
		first, _, _ := strings.Cut(string(in.Data), "\n")
		if name, ok := strings.CutPrefix(first, "# around: "); ok {
			out = append(out, golden.Text("around", drawn(t, p, draw.Mermaid, draw.Options{Focus: p.Find(name)})))
		}
		return out
	})
}

func parse(text string) []object.Object { return golden.Must(object.Parse("in.yaml", 1, text)) }

func planOf(objs []object.Object) *wave.Plan {
	g := golden.Must(graph.Build(objs, knowledge.Default(), graph.Options{Namespace: "demo"}))
	return golden.Must(wave.Assign(g, knowledge.Default(), wave.Options{}))
}

// drawn draws a plan and checks that it is well-formed in its format.
func drawn(t *testing.T, p *wave.Plan, f draw.Format, opt draw.Options) string {
	t.Helper()
	text := draw.Ladder(p, f, opt)
	wellFormed(t, f, text)
	return text
}

// wellFormed checks that a drawing is text of its format.
func wellFormed(t *testing.T, f draw.Format, text string) {
	t.Helper()
	switch f {
	case draw.Mermaid:
		checkLines(t, withoutStrings(mermaidString, text), mermaidLine)
	case draw.Dot:
		checkLines(t, withoutStrings(dotString, text), dotLine)
	}
}

// What is left of a drawing when its quoted strings are emptied: the part of
// each language that we write.
var (
	mermaidString = regexp.MustCompile(`"[^"\n]*"`)
	mermaidLine   = regexp.MustCompile(`^(flowchart BT|  subgraph w\d+\[""\]|    n\d+\[""\]|  end` +
		`|  n\d+ (-->|==>|-\.->|--o|-\.-o)\|""\| n\d+|  w\d+ ~~~ w\d+` +
		`|  (linkStyle|style n?) ?\d+ (stroke-width:3\.5px)?,?(stroke:#cf222e|stroke-dasharray:2 4)?)$`)
	dotString = regexp.MustCompile(`"(?:[^"\\\n]|\\.)*"`)
	dotLine   = regexp.MustCompile(`^(digraph ladder \{|[a-z0-9=" \[\],]*|  subgraph cluster_\d+ \{|    label=""| *\}` +
		`|  (graph|node|edge) \[[a-z0-9=", ]*\]|    n\d+ \[[a-z0-9=",. ]*\]|  n\d+ -> n\d+ \[[a-z=", ]*\]|  rankdir=BT)$`)
)

func withoutStrings(quoted *regexp.Regexp, text string) string {
	return quoted.ReplaceAllString(text, `""`)
}

func checkLines(t *testing.T, text string, grammar *regexp.Regexp) {
	t.Helper()
	for line := range strings.Lines(text) {
		if !grammar.MatchString(strings.TrimSuffix(line, "\n")) {
			t.Errorf("not a line of the format: %q", line)
		}
	}
}

// TestEscapes draws objects with names that are syntax somewhere, and reads
// the names back from each format.
func TestEscapes(t *testing.T) {
	for _, name := range golden.Awkward {
		t.Run(strconv.QuoteToASCII(name), func(t *testing.T) {
			text := fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %[1]s}\n---\n"+
				"apiVersion: v1\nkind: Pod\nmetadata: {name: pod}\n"+
				"spec: {containers: [{name: a, image: a, envFrom: [{configMapRef: {name: %[1]s}}]}]}\n", quoteYAML(name))
			p := planOf(parse(text))
			want := finding.Sanitize(name)
			for _, f := range draw.Formats() {
				got := labels(t, f, drawn(t, p, f, draw.Options{}))
				if !slices.Contains(got, want) {
					t.Errorf("%s: %q is not among %q", f, want, got)
				}
			}
		})
	}
}

// quoteYAML writes a text as YAML does between double quotes.
func quoteYAML(s string) string {
	var b strings.Builder
	for _, r := range s {
		fmt.Fprintf(&b, `\U%08x`, r)
	}
	return `"` + b.String() + `"`
}

var mermaidEntity = regexp.MustCompile(`#(\d+);`)

// labels reads the texts of a drawing as a viewer shows them.
func labels(t *testing.T, f draw.Format, text string) []string {
	t.Helper()
	quoted, line := mermaidString, "<br/>"
	if f == draw.Dot {
		quoted, line = dotString, "\n"
	}
	var all []string
	for _, s := range quoted.FindAllString(text, -1) {
		s = strings.ReplaceAll(s[1:len(s)-1], "\u200b", "")
		if f == draw.Dot {
			s = regexp.MustCompile(`\\.`).ReplaceAllStringFunc(s, func(e string) string {
				return strings.ReplaceAll(e[1:], "n", "\n")
			})
		}
		parts := strings.Split(s, line)
		for _, part := range append(parts, strings.Join(parts[1:], "")) { // Graphviz shows a long name in lines
			all = append(all, html.UnescapeString(mermaidOnly(f, part)))
		}
	}
	return all
}

// mermaidOnly turns entities of Mermaid's into those of HTML.
func mermaidOnly(f draw.Format, s string) string {
	if f != draw.Mermaid {
		return s
	}
	return mermaidEntity.ReplaceAllString(s, "&#$1;")
}

// TestShuffled draws the same whatever the order of the input.
func TestShuffled(t *testing.T) {
	for _, story := range []string{"hooks", "noise", "around"} {
		ar, err := txtar.ParseFile(filepath.Join("testdata", story+".txtar"))
		if err != nil {
			t.Fatal(err)
		}
		objs := parse(string(ar.Files[0].Data))
		for _, f := range draw.Formats() {
			for _, opt := range []draw.Options{{}, {All: true}} {
				want := draw.Ladder(planOf(objs), f, opt)
				for _, shuffled := range golden.Shuffled(objs) {
					if got := draw.Ladder(planOf(shuffled), f, opt); got != want {
						t.Errorf("%s, %s: the order of the input matters", story, f)
					}
				}
			}
		}
	}
}

// TestManyObjects draws 5,000 objects, a fifth of which refer to one of them.
func TestManyObjects(t *testing.T) {
	var b strings.Builder
	b.WriteString("apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: hub}\n")
	for i := range 1250 {
		for _, kind := range []string{"ConfigMap", "Secret", "Service"} {
			fmt.Fprintf(&b, "---\napiVersion: v1\nkind: %s\nmetadata: {name: app-%d}\n", kind, i)
		}
		fmt.Fprintf(&b,
			"---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: app-%[1]d}\nspec: {template: {spec: {serviceAccountName: hub, "+
				"containers: [{name: a, image: a, envFrom: [{configMapRef: {name: app-%[1]d}}, {secretRef: {name: app-%[1]d}}]}]}}}\n", i)
	}
	p := planOf(parse(b.String()))
	for _, f := range draw.Formats() {
		for _, opt := range []draw.Options{{}, {All: true}, {Focus: p.Find("ServiceAccount/hub")}} {
			if text := draw.Ladder(p, f, opt); len(text) > 1000*(len(p.Graph.Nodes)+len(p.Graph.References)) {
				t.Errorf("%s: %d bytes", f, len(text))
			}
		}
	}
}

// TestCorpus draws what real charts render to.
func TestCorpus(t *testing.T) {
	golden.SomeCharts(t, func(t *testing.T, text string) {
		p := planOf(parse(text))
		for _, f := range draw.Formats() {
			drawn(t, p, f, draw.Options{})
			drawn(t, p, f, draw.Options{All: true})
		}
	})
}

// TestRowsOfDot draws 70 objects of one wave: Graphviz puts at most four side by side, since each
// is below what the arrows, drawn or invisible, lead to.
func TestRowsOfDot(t *testing.T) {
	var b strings.Builder
	for i := range 35 {
		fmt.Fprintf(&b, "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: account-%d}\n---\napiVersion: apps/v1\nkind: Deployment\n"+
			"metadata: {name: a-program-with-a-long-name-%d}\n"+
			"spec: {template: {spec: {serviceAccountName: account-%d, containers: [{name: c, image: i}]}}}\n---\n", i, i, i)
	}
	text := drawn(t, planOf(parse(b.String())), draw.Dot, draw.Options{All: true})
	arrow := regexp.MustCompile(`(?m)^  n(\d+) -> n(\d+) \[`)
	above := map[string][]string{}
	for _, m := range arrow.FindAllStringSubmatch(text, -1) {
		above[m[1]] = append(above[m[1]], m[2])
	}
	var rank func(node string) int
	rank = func(node string) int {
		most := 0
		for _, to := range above[node] {
			most = max(most, rank(to)+1)
		}
		return most
	}
	inRank := map[int]int{}
	nodes := regexp.MustCompile(`(?m)^    (n\d+) \[label="([^"]*)"`).FindAllStringSubmatch(text, -1)
	for _, m := range nodes {
		inRank[rank(strings.TrimPrefix(m[1], "n"))]++
		for line := range strings.SplitSeq(m[2], `\n`) {
			if len(line) > 24 {
				t.Errorf("%q has %d characters in a line", line, len(line))
			}
		}
	}
	for r, n := range inRank {
		if n > 4 {
			t.Errorf("%d objects are side by side in row %d", n, r)
		}
	}
	if len(nodes) != 70 {
		t.Errorf("%d objects are drawn", len(nodes))
	}
}
