package generate_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/fleet/fleettest"
	"github.com/ladder-cmp/ladder/fleet/generate"
	"github.com/ladder-cmp/ladder/internal/golden"
)

// rolled are the fleets whose rollouts are kept beside them.
var rolled = []string{"first", "rollout", "environments", "layers", "promotion", "settings"}

// TestApplicationSets keeps what is generated for each fleet. The suites in
// conformance/ let Argo CD read the files.
func TestApplicationSets(t *testing.T) {
	for _, name := range rolled {
		t.Run(name, func(t *testing.T) {
			f := fleettest.InRepository(t, name)
			dir := fleettest.Dir(t, name)
			for file, opt := range map[string]generate.Options{
				"want.appset.yaml":      {},
				"want.appset-2.14.yaml": {ArgoCD: "2.14"},
			} {
				generated, faults, err := generate.ApplicationSets(f, opt)
				if err != nil {
					t.Fatal(err)
				}
				golden.File(t, filepath.Join(dir, file), generate.YAML(generated...))
				if file == "want.appset.yaml" && len(faults) > 0 {
					golden.File(t, filepath.Join(dir, "want.guard.txt"), fleettest.Texts(faults))
				}
				if differences, err := generate.Differences(generate.YAML(generated...), generated); err != nil || len(differences) > 0 {
					t.Errorf("what is written is not what was written: %v %v", differences, err)
				}
			}
			generated, _, err := generate.Applications(f, generate.Options{Path: "argocd/" + name})
			if err != nil {
				t.Fatal(err)
			}
			golden.File(t, filepath.Join(dir, "want.apps.yaml"), generate.YAML(generated...))
		})
	}
}

// TestTiers keeps the parents of bands, with children and with ApplicationSets.
func TestTiers(t *testing.T) {
	f := fleettest.InRepository(t, "rollout")
	for file, sets := range map[string]bool{"want.tiers.txt": false, "want.tiers-sets.txt": true} {
		generated, _, err := generate.Applications(f, generate.Options{Path: "argocd/rollout", Tiers: true, Sets: sets})
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, m := range append(generated, generate.Kustomizations(generated)...) {
			b.WriteString("# file: " + m.File + ".yaml\n" + generate.YAML(m))
		}
		golden.File(t, filepath.Join(fleettest.Dir(t, "rollout"), file), b.String())
	}
}

// TestEnvironment narrows the rollout to one environment, and names those there
// are if it is unknown.
func TestEnvironment(t *testing.T) {
	f := fleettest.InRepository(t, "environments")
	generated, _, err := generate.Applications(f, generate.Options{Path: "a", Environment: "staging"})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range generated {
		names = append(names, m.File)
	}
	if got, want := strings.Join(names, " "), "root kiln-crds-dev-staging kiln-dev-staging shop-staging"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, m := range generated {
		// What a cluster has once is of no environment.
		if text, of := generate.YAML(m), strings.HasPrefix(m.File, "shop"); strings.Contains(text,
			"    environment: staging\n") != of || strings.Contains(text, "environment: dev-staging") {
			t.Errorf("the label of %s is wrong:\n%s", m.File, text)
		}
	}
	_, _, err = generate.ApplicationSets(f, generate.Options{Environment: "qa"})
	if err == nil || !strings.Contains(err.Error(), "unknown environment") {
		t.Errorf("got %v", err)
	}
}

// TestManualStep: of a place that people sync Argo CD is to update none, which is
// a 0; one for all has no maxUpdate. The step keeps its place, and the last one
// still selects what no other does.
func TestManualStep(t *testing.T) {
	f := fleettest.InRepository(t, "first")
	committed, _, err := generate.ApplicationSets(f, generate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, b := range f.Profile.Bands {
		for j, place := range b.Places {
			switch place.Step {
			case 120:
				f.Profile.Bands[i].Places[j].Manual, f.Profile.Bands[i].Places[j].MaxUpdate = true, 0
			case 650:
				f.Profile.Bands[i].Places[j].MaxUpdate = 0
			}
		}
	}
	generated, _, err := generate.ApplicationSets(f, generate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	text := generate.YAML(generated...)
	var set struct {
		Spec struct {
			Strategy struct {
				RollingSync struct {
					Steps []struct {
						MatchExpressions []struct{ Operator, Values any } `yaml:"matchExpressions"`
						MaxUpdate        *int                             `yaml:"maxUpdate"`
					}
				} `yaml:"rollingSync"`
			}
		}
	}
	if err := yaml.Unmarshal([]byte(text), &set); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range set.Spec.Strategy.RollingSync.Steps {
		at := "all"
		if s.MaxUpdate != nil {
			at = strconv.Itoa(*s.MaxUpdate)
		}
		got = append(got, fmt.Sprint(s.MatchExpressions[0].Operator, s.MatchExpressions[0].Values, " ", at))
	}
	want := "In[010] 3, In[110] 3, In[120] 0, In[130] 4, In[650] all, NotIn[010 110 120 130 650] all"
	if strings.Join(got, ", ") != want {
		t.Errorf("steps are %s\nwant %s", strings.Join(got, ", "), want)
	}
	if !strings.Contains(text, "# 120 foundation, operators, which people sync manually: cm.") {
		t.Errorf("no word about it in\n%s", text)
	}
	differences, err := generate.Differences(generate.YAML(committed...), generated)
	if err != nil || len(differences) != 2 || !strings.Contains(differences[0].Message, "generated: 0") {
		t.Errorf("differences are %v, %v", differences, err)
	}
}

// TestDifferences says where a committed file is out of date, and does not mind
// comments and layout.
func TestDifferences(t *testing.T) {
	f := fleettest.InRepository(t, "first")
	generated, _, err := generate.ApplicationSets(f, generate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(generate.YAML(generated...), "maxUpdate: 10", "maxUpdate: 12 # more", 1)
	text = strings.Replace(text, "    deletionOrder: Reverse\n", "", 1)
	text = strings.Replace(text, `          values: ["130"]`, "          values:\n          - '130'\n          - \"131\"", 1)
	text = strings.Replace(text, "\nspec:\n", "\nspec:\n  env: {TOKEN: hunter2}\n", 1)
	got, err := generate.Differences(text, generated)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, d := range got {
		lines = append(lines, d.Path+": "+d.Message)
	}
	slices.Sort(lines)
	want := []string{
		`spec.env: exists in the file, but is no longer generated`, // with a password, perhaps
		`spec.strategy.deletionOrder: is missing; generated: "Reverse"`,
		`spec.strategy.rollingSync.steps[3].matchExpressions[0].values[1]: is "131"; no longer generated`,
		`spec.strategy.rollingSync.steps[4].maxUpdate: is 12; generated: 10`,
	}
	if !slices.Equal(lines, want) {
		t.Errorf("got %q\nwant %q", lines, want)
	}
}
