package fleet_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/lint"
	"github.com/ladder-cmp/ladder/knowledge"
)

// TestWhoseSettings: the directories of a command do not decide whose settings a fleet has.
func TestWhoseSettings(t *testing.T) {
	object := "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n"
	evil := "fleet: {project: admin, server: evil, repoURL: https://evil.example.com/a.git, allow: {projects: ['*'], servers: [evil]}}\n"
	for _, c := range []struct {
		dirs, project string
		refused       int
	}{
		{"components", "plat", 2},
		{"components/a/x", "plat", 2},
		{"components/a/bare", "plat", 1}, // without component.yaml
		{"components/a/x components/b/y", "plat", 2},
		{"components/a/x/more", "plat", 2},
		{"components/b", "team", 0}, // without a component.yaml, the directory is the platform's
		{"components/b/y", "team", 0},
	} {
		repo := fstest.MapFS{}
		for name, text := range map[string]string{
			"ladder.yaml": "fleet: {project: plat}\n", "components/b/ladder.yaml": "fleet: {project: team}\n",
			"components/a/x/component.yaml": "name: x\nproject: admin\nserver: evil\n",
			"components/a/x/ladder.yaml":    evil, "components/a/x/x.yaml": object,
			"components/a/x/more/ladder.yaml": evil, "components/a/x/more/z/component.yaml": "name: z\n", "components/a/x/more/z/z.yaml": object,
			"components/a/bare/ladder.yaml": evil, "components/a/bare/bare.yaml": object,
			"components/b/y/component.yaml": "name: y\n", "components/b/y/y.yaml": object,
		} {
			repo[name] = &fstest.MapFile{Data: []byte(text)}
		}
		f, err := fleet.Load(t.Context(), fleet.Source{Repo: repo, Dirs: strings.Fields(c.dirs), SkipRendering: true}, knowledge.Default())
		if err != nil {
			t.Fatal(err)
		}
		if f.Settings.Project != c.project || f.Settings.Server != "" || f.Settings.RepoURL != "" || len(f.Projects) > 0 ||
			len(f.Settings.Allow.Servers) > 0 {
			t.Errorf("%s: settings of %q: %+v", c.dirs, f.Settings.File, f.Settings)
		}
		refused := 0
		for _, found := range lint.Overreach(f, "") {
			if found.Field == "fleet" {
				refused++
			}
		}
		if refused != c.refused {
			t.Errorf("%s: %d ladder.yaml files are reported, want %d: %v", c.dirs, refused, c.refused, lint.Overreach(f, ""))
		}
	}
}
