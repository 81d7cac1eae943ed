package fleet_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
)

// rolled are the fleets whose rollouts are kept beside them.
var rolled = []string{"first", "rollout", "environments", "layers", "promotion", "settings"}

// allowed are the AppProjects that components of a fleet may choose from.
var allowed = map[string][]string{"rollout": {"operators", "team's \"own\""}, "tiers": {"apps", "data-services", "platform-storage"}}

// loadIn loads a fleet by its path in the repository, which is what its
// Applications name.
func loadIn(t *testing.T, name string) *fleet.Fleet {
	t.Helper()
	f, err := fleet.Load(t.Context(), fleet.Source{Repo: os.DirFS(".."), Dirs: []string{"testdata/fleets/" + name + "/components"}, Projects: allowed[name]}, knowledge.Default())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func texts(all []finding.Finding) string {
	var b strings.Builder
	for _, found := range all {
		b.WriteString(string(found.Severity) + ": " + found.Error() + "\n")
	}
	return b.String()
}

// TestApplicationSets keeps what is generated for each fleet. The suites in
// conformance/ let Argo CD read the files.
func TestApplicationSets(t *testing.T) {
	for _, name := range rolled {
		t.Run(name, func(t *testing.T) {
			f := loadIn(t, name)
			dir := filepath.Join("../testdata/fleets", name)
			for file, opt := range map[string]fleet.SetOptions{
				"want.appset.yaml":      {},
				"want.appset-2.14.yaml": {ArgoCD: "2.14"},
			} {
				made, faults, err := f.ApplicationSets(opt)
				if err != nil {
					t.Fatal(err)
				}
				want(t, filepath.Join(dir, file), fleet.YAML(made...))
				if file == "want.appset.yaml" && len(faults) > 0 {
					want(t, filepath.Join(dir, "want.guard.txt"), texts(faults))
				}
				if differences, err := fleet.Differences(fleet.YAML(made...), made); err != nil || len(differences) > 0 {
					t.Errorf("what is written is not what was written: %v %v", differences, err)
				}
			}
			made, _, err := f.Apps(fleet.AppsOptions{Path: "argocd/" + name})
			if err != nil {
				t.Fatal(err)
			}
			want(t, filepath.Join(dir, "want.apps.yaml"), fleet.YAML(made...))
		})
	}
}

// TestTiers keeps the parents of bands, with children and with ApplicationSets.
func TestTiers(t *testing.T) {
	f := loadIn(t, "rollout")
	for file, sets := range map[string]bool{"want.tiers.txt": false, "want.tiers-sets.txt": true} {
		made, _, err := f.Apps(fleet.AppsOptions{Path: "argocd/rollout", Tiers: true, Sets: sets})
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, m := range append(made, fleet.Kustomizations(made)...) {
			b.WriteString("# file: " + m.File + ".yaml\n" + fleet.YAML(m))
		}
		want(t, filepath.Join("../testdata/fleets/rollout", file), b.String())
	}
}

// TestEnvironment narrows the rollout to one environment, and names those there
// are if it is unknown.
func TestEnvironment(t *testing.T) {
	f := loadIn(t, "environments")
	made, _, err := f.Apps(fleet.AppsOptions{Path: "a", Target: fleet.Target{Environment: "staging"}})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range made {
		names = append(names, m.File)
	}
	if got, want := strings.Join(names, " "), "root kiln-crds-dev-staging kiln-dev-staging shop-staging"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, m := range made {
		// What a cluster has once is of no environment.
		if text, of := fleet.YAML(m), strings.HasPrefix(m.File, "shop"); strings.Contains(text, "    environment: staging\n") != of || strings.Contains(text, "environment: dev-staging") {
			t.Errorf("the label of %s is wrong:\n%s", m.File, text)
		}
	}
	_, _, err = f.ApplicationSets(fleet.SetOptions{Target: fleet.Target{Environment: "qa"}})
	if err == nil || !strings.Contains(err.Error(), "dev, staging, prod") {
		t.Errorf("got %v", err)
	}
}

// TestManualStep: of a place that people sync Argo CD is to update none, which is
// a 0; one for all has no maxUpdate. The step keeps its place, and the last one
// still selects what no other does.
func TestManualStep(t *testing.T) {
	f := loadIn(t, "first")
	committed, _, err := f.ApplicationSets(fleet.SetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i, b := range f.Profile.Bands {
		for j, place := range b.Places {
			switch place.Phase {
			case 120:
				f.Profile.Bands[i].Places[j].Manual, f.Profile.Bands[i].Places[j].MaxUpdate = true, 0
			case 650:
				f.Profile.Bands[i].Places[j].MaxUpdate = 0
			}
		}
	}
	made, _, err := f.ApplicationSets(fleet.SetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	text := fleet.YAML(made...)
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
	differences, err := fleet.Differences(fleet.YAML(committed...), made)
	if err != nil || len(differences) != 2 || !strings.Contains(differences[0].Message, "generated: 0") {
		t.Errorf("differences are %v, %v", differences, err)
	}
}

// TestDifferences says where a committed file is out of date, and does not mind
// comments and layout.
func TestDifferences(t *testing.T) {
	f := loadIn(t, "first")
	made, _, err := f.ApplicationSets(fleet.SetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(fleet.YAML(made...), "maxUpdate: 10", "maxUpdate: 12 # more", 1)
	text = strings.Replace(text, "    deletionOrder: Reverse\n", "", 1)
	text = strings.Replace(text, `          values: ["130"]`, "          values:\n          - '130'\n          - \"131\"", 1)
	text = strings.Replace(text, "\nspec:\n", "\nspec:\n  env: {TOKEN: hunter2}\n", 1)
	got, err := fleet.Differences(text, made)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, d := range got {
		lines = append(lines, d.Path+": "+d.Message)
	}
	slices.Sort(lines)
	want := []string{
		`spec.env: is there; no longer generated`, // with a password, perhaps
		`spec.strategy.deletionOrder: is missing; generated: "Reverse"`,
		`spec.strategy.rollingSync.steps[3].matchExpressions[0].values[1]: is "131"; no longer generated`,
		`spec.strategy.rollingSync.steps[4].maxUpdate: is 12; generated: 10`,
	}
	if !slices.Equal(lines, want) {
		t.Errorf("got %q\nwant %q", lines, want)
	}
}

// TestChecksChildren tells configurations with which Argo CD waits for children
// from those with which it does not.
func TestChecksChildren(t *testing.T) {
	configMap, values := fleet.HealthCheck(knowledge.Default())
	key := "resource.customizations.health.argoproj.io_Application: "
	for name, c := range map[string]struct{ text, want string }{
		"what is printed":       {configMap, ""},
		"the same as values":    {values, ""},
		"the old key":           {"data:\n  resource.customizations: |\n    argoproj.io/Application:\n      health.lua: |\n        hs = {status = 'Progressing'}\n        if obj.status ~= nil and obj.status.health ~= nil then hs.status = obj.status.health.status end\n        return hs\n", ""},
		"none":                  {"data: {url: https://argocd.example.com}", "no health check"},
		"healthy whatever":      {"data:\n  " + key + "return {status = 'Healthy'}", `returns "Healthy" for a child that is Degraded`},
		"stumbles":              {"data:\n  " + key + "return {status = obj.status.health.status}", "fails: "},
		"it does not look":      {"data:\n  " + key + "return {status = 'Progressing'}", "for a child that is Healthy"},
		"no YAML":               {"data: [", "pass the argocd-cm ConfigMap"},
		"it reads files itself": {"data:\n  " + key + "dofile('/etc/passwd')", "fails: "},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := fleet.ChecksChildren(t.Context(), "argocd-cm.yaml", c.text)
			got := texts(found)
			if err != nil {
				got += err.Error()
			}
			if c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
