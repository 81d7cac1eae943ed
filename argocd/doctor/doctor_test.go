package doctor_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/kustomize/kyaml/yaml/merge2"

	"github.com/ladder-cmp/ladder/argocd/cluster"
	"github.com/ladder-cmp/ladder/argocd/doctor"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/golden"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/sidecar/serve"
)

const cases = "testdata/cases"

// TestRules looks at each case: at base.yaml with the patches of patch.yaml,
// or of live.yaml, which is in a cluster; or at values.yaml. A rule has cases that
// are called like it, which find it.
func TestRules(t *testing.T) {
	base, err := os.ReadFile(filepath.Join(cases, "base.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if found := examine(t, doctor.Input{Objects: golden.Must(object.Parse("in.yaml", 1, string(base)))}); len(found) > 0 {
		t.Errorf("of what has no fault: %v", found)
	}
	proved := map[finding.Rule]bool{}
	golden.Archives(t, filepath.Join(cases, "*.txtar"), func(t *testing.T, in txtar.File) []txtar.File {
		var e doctor.Input
		switch in.Name {
		case "values.yaml":
			v, ok := doctor.ChartValues(in.Name, in.Data)
			if !ok {
				t.Fatal("not recognized as values")
			}
			e.Values = []doctor.Values{v}
		case "alone.yaml":
			e.Objects = golden.Must(object.Parse("in.yaml", 1, string(in.Data)))
		default:
			e.Objects = golden.Must(object.Parse("in.yaml", 1, patched(t, string(base), string(in.Data))))
			e.Live = in.Name == "live.yaml"
		}
		var b strings.Builder
		for _, f := range examine(t, e) {
			if f.Remedy == "" {
				t.Errorf("%s has no remedy", f.Rule)
			}
			f.File, f.Line = "", 0 // of texts that nobody has
			fmt.Fprintf(&b, "%s %s: %s\n", f.Severity, f.Rule, f.Error())
			if strings.HasPrefix(filepath.Base(t.Name()), string(f.Rule)) {
				proved[f.Rule] = true
				checkSeverity(t, f)
			}
		}
		return []txtar.File{golden.Text("findings", b.String())}
	})
	for _, r := range doctor.Rules() {
		if !proved[r.Name] {
			t.Errorf("no case in %s finds %s", cases, r.Name)
		}
		for _, text := range []string{r.Finds, r.Source} {
			if text == "" {
				t.Errorf("%s is not explained", r.Name)
			}
		}
	}
}

func checkSeverity(t *testing.T, f finding.Finding) {
	t.Helper()
	for _, r := range doctor.Rules() {
		if r.Name == f.Rule && !slices.Contains(r.Severities, f.Severity) {
			t.Errorf("%s is said to be %v, and is %s", r.Name, r.Severities, f.Severity)
		}
	}
}

// TestDeploy looks at what the project ships: values that go to the chart,
// and the same container beside the repo-server of a plain install.
func TestDeploy(t *testing.T) {
	text, err := os.ReadFile("../../deploy/argocd-values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	v, ok := doctor.ChartValues("argocd-values.yaml", text)
	if !ok {
		t.Fatal("the values are not known as such")
	}
	onlyPlaceholder := func(file string, found []finding.Finding) {
		t.Helper()
		if len(found) != 1 || found[0].Rule != "image" || !strings.Contains(found[0].Message, "placeholder") {
			t.Errorf("%s has other problems than the placeholder of its image: %v", file, found)
		}
	}
	onlyPlaceholder("deploy/argocd-values.yaml", examine(t, doctor.Input{Values: []doctor.Values{v}}))
	base, err := os.ReadFile(filepath.Join(cases, "base.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	docs := []string{strings.Replace(string(base), "  reposerver.plugin.tar.exclusions: .git/*\n", "", 1)}
	for _, file := range []string{"repo-server.yaml", "application-health.yaml", "exclusions.yaml"} {
		patch, err := os.ReadFile(filepath.Join("../../deploy/kustomize", file))
		if err != nil {
			t.Fatal(err)
		}
		docs[0] = patched(t, docs[0], string(patch))
	}
	onlyPlaceholder("deploy/kustomize", examine(t, doctor.Input{Objects: golden.Must(object.Parse("in.yaml", 1, docs[0]))}))
}

// TestCorpus looks at what real charts render to: that of Argo CD lacks the
// container, and nothing else once it has it. Others are no Argo CD.
func TestCorpus(t *testing.T) {
	patch, err := os.ReadFile("../../deploy/kustomize/repo-server.yaml")
	if err != nil {
		t.Fatal(err)
	}
	golden.EachChart(t, func(t *testing.T, text string) {
		look := func(text string) (rules []string) {
			for _, f := range examine(t, doctor.Input{Objects: golden.Must(object.Parse("in.yaml", 1, text))}) {
				if f.Severity != finding.Note {
					rules = append(rules, string(f.Rule))
				}
			}
			return rules
		}
		want := "no-repo-server"
		if filepath.Base(t.Name()) == "argo-cd" {
			const name = "argocd-repo-server"
			if found := look(patched(t, text, strings.NewReplacer(name, "rel-"+name,
				"registry.example.com/ladder:dev", "ghcr.io/ladder-cmp/ladder:v1.2.3").Replace(string(patch)))); len(found) > 0 {
				t.Errorf("with the container: %v", found)
			}
			want = "no-sidecar"
		}
		if found := look(text); !slices.Equal(found, []string{want}) {
			t.Errorf("found %v, want %s", found, want)
		}
	})
}

// examine checks an installation as cmp doctor does.
func examine(t *testing.T, in doctor.Input) []finding.Finding {
	t.Helper()
	in.ParseServe, in.ReadLadder = serve.FlagsOf, serve.ReadLadder
	return cluster.Examine(t.Context(), in)
}

// patched merges documents into those of the same kind and name, and adds the
// others.
func patched(t *testing.T, base, patch string) string {
	t.Helper()
	docs := strings.Split(base, "\n---\n")
	for _, change := range strings.Split(patch, "\n---\n") {
		c := kyaml.MustParse(change)
		is := func(doc string) bool {
			d := kyaml.MustParse(doc)
			return d.GetKind() == c.GetKind() && d.GetName() == c.GetName()
		}
		at := slices.IndexFunc(docs, is)
		if at < 0 {
			docs = append(docs, change)
			continue
		}
		merged, err := merge2.MergeStrings(change, docs[at], true, kyaml.MergeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		docs[at] = merged
	}
	docs = slices.DeleteFunc(docs, func(doc string) bool { return strings.TrimSpace(doc) == "" })
	return strings.Join(docs, "\n---\n")
}
