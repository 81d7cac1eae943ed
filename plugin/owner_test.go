package plugin_test

import (
	"context"
	"strings"
	"testing"

	"github.com/ladder-cmp/ladder/fleet/profile"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/plugin"
)

// TestOwned says whose directory each of a repository is.
func TestOwned(t *testing.T) {
	for _, c := range []struct{ files, dir, undescribed, want string }{
		{"", ".", "", "the platform's"},
		{"team/x/component.yaml", ".", "", "the platform's"},
		{"team/x/component.yaml", "team", "", "the platform's"},
		{"team/x/component.yaml", "team/x", "", "team/x"},
		{"team/x/component.yaml", "./team/../team/x/", "", "team/x"},
		{"team/x/component.yaml", "team/x/sub/deep", "", "team/x"},
		{"team/x/component.yaml", "team/x/missing", "", "team/x"},
		{"team/x/component.yaml", "team/xy", "", "the platform's"},
		// The owner of a directory puts another component into it, or a fleet.
		{"team/x/component.yaml team/x/sub/component.yaml", "team/x/sub", "", "team/x"},
		{"team/x/component.yaml team/x/fleet/a/component.yaml", "team/x/fleet", "", "team/x"},
		// The repository is one component.
		{"component.yaml", ".", "", "."},
		{"component.yaml team/x/component.yaml", "team/x", "", "."},
		// A component without component.yaml, which a command names.
		{"team/x/Chart.yaml", "team/x", "", "the platform's"},
		{"team/x/Chart.yaml", "team/x", "team/x", "team/x"},
		{"team/x/Chart.yaml", "team/x/sub", "team/x", "team/x"},
		{"team/x/Chart.yaml", "team", "team/x", "the platform's"},
		// A manifest with the name, and files with similar ones.
		{"team/templates/component.yaml", "team/templates", "", "the platform's"},
		{"team/templates/component.yaml team/component.yaml", "team/templates", "", "team"},
		{"team/x/component.yml team/x/Component.yaml", "team/x", "", "the platform's"},
		{"team/x/component.yaml/a", "team/x", "", "team/x"}, // a directory of that name, which nothing can read
	} {
		files := map[string]string{}
		for _, name := range strings.Fields(c.files) {
			files[name] = "name: a\n"
		}
		got, is := plugin.Owned(repository(files), c.dir, strings.Fields(c.undescribed)...)
		if !is {
			got = "the platform's"
		}
		if got != c.want {
			t.Errorf("%s: %s is owned by %s, want %s", c.files, c.dir, got, c.want)
		}
	}
}

// TestOwnFleetSection: the ladder.yaml of a component describes kinds, but neither environments
// nor repositories, and its rendering says so.
func TestOwnFleetSection(t *testing.T) {
	files := map[string]string{
		"ladder.yaml":           "fleet: {name: web, project: plat, environments: [{name: prod, values: [prod.yaml]}]}\n",
		"team/x/component.yaml": "name: x\n",
		"team/x/ladder.yaml": "kinds: [{group: a.example.com, kind: A, rung: configs, why: mine}]\n" +
			"fleet: {name: evil, project: admin, environments: [{name: own}]}\n",
		"team/x/sub/ladder.yaml":        "fleet: {project: deeper}\n",
		"team/x/sub/component.yaml":     "name: sub\n",
		"team/x/sub/templates/a.yaml":   "{apiVersion: a.example.com/v1, kind: A, metadata: {name: a}}\n",
		"team/x/sub/Chart.yaml":         "{apiVersion: v2, name: sub, version: 1.0.0}\n",
		"team/x/sub/prod.yaml":          "a: 1\n",
		"team/x/sub/templates/b.yaml":   "{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}\n",
		"team/x/sub/templates/NOTES.md": "",
	}
	req := plugin.Request{Dir: "team/x/sub", Repo: repository(files)}
	res, err := plugin.Generate(context.Background(), req, profile.Reading(knowledge.Default()))
	if err != nil {
		t.Fatal(err)
	}
	if f := profile.In(res.Base); f.Project != "plat" || f.Name != "web" || len(f.Environments) != 1 || f.Environments[0].Name != "prod" {
		t.Errorf("the fleet section of %s applies: %+v", f.File, f)
	}
	if k, _ := res.Base.Kind("a.example.com", "A"); k.Why != "mine" {
		t.Errorf("its kinds do not apply: %+v", k)
	}
	var warned []string
	for _, f := range res.Findings {
		if f.Rule == knowledge.RefusedRule {
			warned = append(warned, string(f.Severity)+" "+f.Error())
		}
	}
	got := strings.Join(warned, "\n")
	if len(warned) != 2 || !strings.Contains(got, "warning team/x/ladder.yaml:2: fleet: ") ||
		!strings.Contains(got, "warning team/x/sub/ladder.yaml:1: fleet: ") {
		t.Errorf("findings:\n%s", got)
	}
	// An environment that only the component's file defines is unknown.
	req.Settings = []plugin.Settings{{Environment: "own"}}
	if _, err := plugin.Generate(context.Background(), req, profile.Reading(knowledge.Default())); err == nil ||
		!strings.Contains(finding.Of(err)[0].Message, `unknown environment "own"`) {
		t.Errorf("got %v", err)
	}
}
