package command_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/command"
	"github.com/ladder-cmp/ladder/fleet/fleettest"
	"github.com/ladder-cmp/ladder/fleet/profile"
	"github.com/ladder-cmp/ladder/fleet/rollout"
	"github.com/ladder-cmp/ladder/internal/draw"
	"github.com/ladder-cmp/ladder/internal/golden"
	"github.com/ladder-cmp/ladder/knowledge"
)

// TestGraph draws each fleet, the first one as text.
func TestGraph(t *testing.T) {
	dirs, err := filepath.Glob("../../testdata/fleets/*/ladder.yaml")
	if err != nil || len(dirs) == 0 {
		t.Fatal("no fleet", err)
	}
	for _, file := range dirs {
		dir := filepath.Dir(file)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			f := fleettest.Load(t, filepath.Base(dir))
			if filepath.Base(dir) == "first" {
				golden.File(t, filepath.Join(dir, "want.graph.mmd"), command.DrawFleet(f, command.GraphOptions{}).Draw(draw.Mermaid))
			}
			checkGraph(t, f)
		})
	}
}

// checkGraph holds what is true of every drawing: it hides nothing that the
// steps contradict, and who needs whom can be read off the arrows.
func checkGraph(t *testing.T, f *fleet.Fleet) {
	t.Helper()
	r := command.DrawFleet(f, command.GraphOptions{})
	all := command.DrawFleet(f, command.GraphOptions{All: true})
	if len(all.Dependencies) != len(f.Links) || slices.ContainsFunc(all.Dependencies, func(n draw.Dependency) bool { return n.Hidden }) {
		t.Errorf("--all draws %d needs of %d", len(all.Dependencies), len(f.Links))
	}
	if len(r.Dependencies) != len(f.Links) || len(r.Apps) != len(f.Applications) {
		t.Errorf("%d needs of %d and %d Applications of %d are told of", len(r.Dependencies), len(f.Links), len(r.Apps), len(f.Applications))
	}
	leads := func(from, to int) bool {
		seen := map[int]bool{}
		for todo := []int{from}; len(todo) > 0; {
			at := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			if at == to {
				return true
			}
			for _, n := range r.Dependencies {
				if !n.Hidden && n.From == at && !seen[n.To] {
					seen[n.To] = true
					todo = append(todo, n.To)
				}
			}
		}
		return false
	}
	for k, n := range r.Dependencies {
		l := f.Links[k]
		if n.Hidden && n.Contradicted {
			t.Errorf("%s needs %s against the phases, and no arrow shows it", r.Apps[n.From].Name, r.Apps[n.To].Name)
		}
		namespaced := !slices.ContainsFunc(l.Reasons, func(x fleet.Reason) bool {
			return x.Strength >= fleet.Exists && x.Field != "metadata.namespace"
		})
		if n.Ignored || namespaced || r.Apps[n.From].IsDisabled {
			continue
		}
		if !leads(n.From, n.To) {
			t.Errorf("%s needs %s, and no arrows lead there", r.Apps[n.From].Name, r.Apps[n.To].Name)
		}
	}
}

// chain is a fleet of components in a row: each has a kind of its own, and an
// object of the kinds of those that are named.
func chain(needs map[string]string, phases map[string]int) fstest.MapFS {
	repo := fstest.MapFS{}
	for name, others := range needs {
		text := fmt.Sprintf("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: %[1]ss.x.example.com}\n"+
			"spec: {group: x.example.com, scope: Namespaced, names: {kind: %[1]s, plural: %[1]ss}, versions: []}\n", name)
		for _, other := range strings.Fields(others) {
			text += fmt.Sprintf("---\napiVersion: x.example.com/v1\nkind: %s\nmetadata: {name: of-%s}\n", other, name)
		}
		off := ""
		if phases[name] < 0 {
			off = "enabled: false\n"
		}
		repo[name+"/component.yaml"] = &fstest.MapFile{
			Data: fmt.Appendf(nil, "domain: foundation\nrolloutPhase: %d\n%s", max(phases[name], -phases[name]), off)}
		repo[name+"/a.yaml"] = &fstest.MapFile{Data: []byte(text)}
	}
	return repo
}

// arrows are those of a drawing, red ones with a mark.
func arrows(r draw.Rollout) []string {
	var all []string
	for _, n := range r.Dependencies {
		if !n.Hidden {
			all = append(all, r.Apps[n.From].Name+" "+r.Apps[n.To].Name+map[bool]string{true: "!"}[n.Contradicted])
		}
	}
	slices.Sort(all)
	return all
}

// TestReduction leaves out the arrows that follow from others.
func TestReduction(t *testing.T) {
	for _, tt := range []struct {
		name   string
		needs  map[string]string
		phases map[string]int
		around string
		want   []string
	}{
		{"a row", map[string]string{"A": "", "B": "A", "C": "A B"}, map[string]int{"A": 110, "B": 120, "C": 130}, "", []string{"B A", "C B"}},
		{"a diamond", map[string]string{"A": "", "B": "A", "C": "A", "D": "A B C"}, map[string]int{"A": 110, "B": 120, "C": 120, "D": 130}, "",
			[]string{"B A", "C A", "D B", "D C"}},
		{"against the phases", map[string]string{"A": "", "B": "A", "C": "A B"}, map[string]int{"A": 130, "B": 140, "C": 120}, "",
			[]string{"B A", "C A!", "C B!"}},
		{"the same phase", map[string]string{"A": "", "B": "A"}, map[string]int{"A": 110, "B": 110}, "", []string{"B A!"}},
		{"a circle", map[string]string{"A": "B", "B": "A", "C": "A B"}, map[string]int{"A": 110, "B": 120, "C": 130}, "",
			[]string{"A B!", "B A", "C B"}},
		{"not deployed", map[string]string{"A": "", "B": "A", "C": "B"}, map[string]int{"A": 110, "B": -120, "C": 130}, "", []string{"C B!"}},
		{"around one", map[string]string{"A": "", "B": "A", "C": "A B", "D": "B"}, map[string]int{"A": 110, "B": 120, "C": 130, "D": 130}, "C",
			[]string{"B A", "C A", "C B"}},
		{"around the first", map[string]string{"A": "", "B": "A", "C": "B", "D": ""},
			map[string]int{"A": 110, "B": 120, "C": 130, "D": 130}, "A", []string{"B A"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, err := fleet.Load(t.Context(), fleet.Source{Repo: chain(tt.needs, tt.phases), Dirs: []string{"."}}, knowledge.Default())
			if err != nil {
				t.Fatal(err)
			}
			opt := command.GraphOptions{}
			if tt.around != "" {
				if opt.Around, err = rollout.FindComponent(f, tt.around); err != nil {
					t.Fatal(err)
				}
			}
			if got := arrows(command.DrawFleet(f, opt)); !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestAcceptedArrows: what the owners live with is drawn like any other gate, and
// says so; what they do not name stays red.
func TestAcceptedArrows(t *testing.T) {
	repo := chain(map[string]string{"a": "b c d", "b": "", "c": "", "d": ""}, map[string]int{"a": 120, "b": 120, "c": 130, "d": -110})
	f, err := fleet.Load(t.Context(), fleet.Source{Repo: repo, Dirs: []string{"."}}, knowledge.Default())
	if err != nil {
		t.Fatal(err)
	}
	for of, a := range map[string]profile.Accepted{
		"b":    {Rule: "same-step", Component: "a", Needs: "b"},
		"c":    {Rule: "later-step", Component: "a"},
		"d":    {Rule: "needs-disabled", Component: "a", Needs: "d"},
		"none": {Rule: "same-step", Component: "b"},
	} {
		a.Why = "so it is"
		f.Settings.Accepted = []profile.Accepted{a}
		r := command.DrawFleet(f, command.GraphOptions{})
		if len(r.Dependencies) != 3 {
			t.Fatalf("a has %d needs", len(r.Dependencies))
		}
		for _, n := range r.Dependencies {
			to := r.Apps[n.To].Name
			said := strings.HasSuffix(n.Why, ", accepted") && slices.Contains(n.Reasons, "accepted: so it is")
			if n.Hidden || !n.IsGate || n.Contradicted != (to != of) || said != (to == of) {
				t.Errorf("%s accepted of %s: need of %s is %+v", a.Rule, a.Component, to, n)
			}
		}
	}
}
