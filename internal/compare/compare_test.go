package compare_test

import (
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/internal/compare"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/golden"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/wave"
)

// side puts manifests in order. A file that is not there is a component that is
// not there.
func side(t *testing.T, dir, name string) compare.Side {
	t.Helper()
	file := filepath.Join(dir, name, "manifests.yaml")
	text, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		return compare.Side{Name: name, Missing: true}
	}
	if err != nil {
		t.Fatal(err)
	}
	s, err := ordered(name, string(text))
	if err != nil {
		return compare.Side{Name: name, Dir: name, Failed: true, Findings: finding.Of(err)}
	}
	return s
}

func ordered(name, text string) (compare.Side, error) {
	objs, err := object.Parse(name, 1, text)
	if err != nil {
		return compare.Side{}, err
	}
	base := knowledge.Default()
	refs, err := graph.Build(objs, base, graph.Options{Namespace: "shop"})
	if err != nil {
		return compare.Side{}, err
	}
	plan, err := wave.Assign(refs, base, wave.Options{})
	if err != nil {
		return compare.Side{}, err
	}
	annotated, err := plan.Annotate()
	return compare.Side{Name: name, Dir: name, Plan: plan, Objects: annotated, Gates: plan.Audit(base), Findings: plan.Findings}, err
}

// TestComponents compares before with after in every folder of
// testdata.
func TestComponents(t *testing.T) {
	folders, err := filepath.Glob("testdata/*")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, dir := range folders {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			before, after := side(t, dir, "before"), side(t, dir, "after")
			c := compare.Components(before, after)
			var b strings.Builder
			enc := json.NewEncoder(&b)
			enc.SetEscapeHTML(false)
			enc.SetIndent("", "  ")
			if err := enc.Encode(c); err != nil {
				t.Fatal(err)
			}
			golden.File(t, filepath.Join(dir, "want.json"), b.String())
			if text := strings.ToLower(b.String()); strings.Contains(text, "hunter") || strings.Contains(text, "ahvudgvy") {
				t.Error("the comparison holds what is secret")
			}
			for _, s := range []compare.Side{before, after} {
				if c := compare.Components(s, s); c.Different() {
					t.Errorf("%s differs from itself: %+v", s.Name, c)
				}
			}
			back := compare.Components(after, before)
			if len(back.Added) != len(c.Removed) || len(back.Removed) != len(c.Added) || len(back.Moved) != len(c.Moved) ||
				len(back.Changed) != len(c.Changed) ||
				len(back.Gates.Gained) != len(c.Gates.Lost) || len(back.Gates.Lost) != len(c.Gates.Gained) ||
				len(back.New) != len(c.Fixed) || len(back.Fixed) != len(c.New) {
				t.Errorf("the way back is not the way there: %+v", back)
			}
		})
	}
}

// TestFindings: what makes two findings the same is their rule, their place below the
// directory of their side, and what they are about; not the message.
func TestFindings(t *testing.T) {
	of := func(dir string, about ...string) (all []finding.Finding) {
		for _, a := range about {
			all = append(all, finding.Finding{Rule: "r", File: path.Join(dir, "x.yaml"), About: a,
				Message: a + " of " + dir + " in wave 1"})
		}
		return all
	}
	for _, names := range [][2]string{{"a", "e"}, {"old", "new"}, {"x/old", "new"}, {"/tmp/a", "."}, {"a", "a/"}, {"", "a"}} {
		before, after := of(names[0], "one", "two", "two"), of(names[1], "two", "one", "two")
		if appeared, fixed := compare.Findings(before, names[0], after, names[1]); len(appeared)+len(fixed) > 0 {
			t.Errorf("%v: %v appeared, %v fixed", names, appeared, fixed)
		}
	}
	appeared, fixed := compare.Findings(of("a", "one", "two", "two"), "a", of("e", "two", "three"), "e")
	if len(appeared) != 1 || appeared[0].About != "three" || len(fixed) != 2 || fixed[0].About != "one" || fixed[1].About != "two" {
		t.Errorf("%v appeared, %v fixed", appeared, fixed)
	}
	base := finding.Finding{Severity: finding.Warning, Rule: "r", File: "a/x.yaml", Object: "Job j", Field: "f",
		Missing: "Secret s", About: "n"}
	for what, change := range map[string]func(f *finding.Finding){
		"severity": func(f *finding.Finding) { f.Severity = finding.Error },
		"rule":     func(f *finding.Finding) { f.Rule = "other" },
		"object":   func(f *finding.Finding) { f.Missing, f.Object = "", "Job k" },
		"missing":  func(f *finding.Finding) { f.Missing = "Secret t" },
		"about":    func(f *finding.Finding) { f.About = "m" },
	} {
		changed := base
		change(&changed)
		if appeared, fixed := compare.Findings([]finding.Finding{base}, "a", []finding.Finding{changed},
			"a"); len(appeared) != 1 || len(fixed) != 1 {
			t.Errorf("another %s: %v appeared, %v fixed", what, appeared, fixed)
		}
	}
	other := base
	other.Object, other.Field, other.Also = "Job k", "g", "Job l"
	if appeared, fixed := compare.Findings([]finding.Finding{base}, "a", []finding.Finding{other}, "a"); len(appeared)+len(fixed) > 0 {
		t.Errorf("other users of a missing object: %v appeared, %v fixed", appeared, fixed)
	}
	moved := base
	moved.File, moved.Line, moved.Message = "a/y.yaml", 7, "in wave 3"
	if appeared, fixed := compare.Findings([]finding.Finding{base}, "a", []finding.Finding{moved}, "a"); len(appeared)+len(fixed) > 0 {
		t.Errorf("an object that moved: %v appeared, %v fixed", appeared, fixed)
	}
}

// TestBlindGates: a gate whose object has no health check is no wait.
func TestBlindGates(t *testing.T) {
	c := compare.Components(side(t, "testdata/blind", "before"), side(t, "testdata/blind", "after"))
	want := "Deployment shop/shop depends on VaultStaticSecret shop/database, for which Argo CD does not wait: " +
		"reads environment variables from Secret shop/database, which is written by it"
	if len(c.Gates.Gained) != 1 || !c.Gates.Gained[0].Blind || c.Gates.Gained[0].String() != want {
		t.Errorf("the gates are %v, want %q", c.Gates.Gained, want)
	}
}
