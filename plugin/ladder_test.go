package plugin_test

import (
	"context"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/plugin"
)

func repository(files map[string]string) fstest.MapFS {
	repo := fstest.MapFS{}
	for name, text := range files {
		repo[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return repo
}

// TestNearestLadderWins looks from which file each field of a record is.
func TestNearestLadderWins(t *testing.T) {
	base, err := knowledge.Default().With("the server's", `
rungs: [{name: secrets, wave: 21}, {name: configs, wave: 31}]
kinds: [{group: a.example.com, kind: A, rung: secrets, why: server, source: server, scope: cluster}]`)
	if err != nil {
		t.Fatal(err)
	}
	req := plugin.Request{Dir: "apps/web", Repo: repository(map[string]string{
		"ladder.yaml": "rungs: [{name: configs, wave: 32}]\n" +
			"kinds: [{group: a.example.com, kind: A, rung: configs, why: repository, source: repository}]",
		"apps/ladder.yaml":      "kinds: [{group: a.example.com, kind: A, source: apps, why: apps}]",
		"apps/web/ladder.yaml":  "kinds: [{group: a.example.com, kind: A, why: web}]",
		"apps/ladder.yml":       "not ours",
		"apps/other/ladder.yml": "not ours",
		"apps/web/a.yaml":       "{apiVersion: a.example.com/v1, kind: A, metadata: {name: a}}",
		"apps/web/b.yaml":       "{apiVersion: b.example.com/v1, kind: B, metadata: {name: b, annotations: {ladder-cmp.github.io/after: A/a}}}",
	})}
	over, err := req.Knowledge(base)
	if err != nil {
		t.Fatal(err)
	}
	k, _ := over.Kind("a.example.com", "A")
	if k.Rung != "configs" || k.Why != "web" || k.Scope != "cluster" ||
		strings.Join(k.ChangedBy, " ") != "the server's:3 ladder.yaml:2 apps/ladder.yaml:1 apps/web/ladder.yaml:1" {
		t.Errorf("got %+v", k)
	}
	for rung, want := range map[string]int{"secrets": 21, "configs": 32} {
		if r, _ := over.Rung(rung); r.Wave != want {
			t.Errorf("rung %s at %d, want %d", rung, r.Wave, want)
		}
	}
	res, err := plugin.Generate(context.Background(), req, base)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(res.YAML(), `sync-wave": "32"`) || strings.Count(res.YAML(), "---") != 2 {
		t.Errorf("rendered\n%s", res.YAML())
	}
}

// TestFaultsOfAllLadders finds them along with those of component.yaml.
func TestFaultsOfAllLadders(t *testing.T) {
	req := plugin.Request{Dir: "apps/web", Repo: repository(map[string]string{
		"ladder.yaml":             "a: 1",
		"apps/web/ladder.yaml":    "b: 1",
		"apps/web/component.yaml": "c: 1",
		"apps/web/a.yaml":         "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}",
	})}
	_, err := plugin.Generate(context.Background(), req, knowledge.Default())
	var got []string
	for _, f := range finding.Of(err) {
		got = append(got, f.File+" "+f.Field)
	}
	if want := "apps/web/component.yaml c, ladder.yaml a, apps/web/ladder.yaml b"; strings.Join(got, ", ") != want {
		t.Errorf("found %v, want %s", got, want)
	}
}

// TestLadderGoesBeforeRoles puts workloads onto another rung than what they do
// in the component tells, except where their own annotation does.
func TestLadderGoesBeforeRoles(t *testing.T) {
	job := func(name, annotations string) string {
		return "{apiVersion: batch/v1, kind: Job, metadata: {name: " + name + ", annotations: {" + annotations +
			"}}, spec: {template: {spec: {containers: [{name: a, image: a}]}}}}"
	}
	for text, want := range map[string]string{
		"": "Job default/a-test smokes, Job default/b-test exposure",
		"kinds: [{group: batch, kind: Job, rung: bootstraps}]": "Job default/a-test bootstraps, Job default/b-test exposure",
		"kinds: [{group: batch, kind: Job, rung: workloads}]":  "Job default/a-test smokes, Job default/b-test exposure",
		// as before, so nothing is said
	} {
		req := plugin.Request{Dir: ".", Repo: repository(map[string]string{
			"ladder.yaml": text, "a.yaml": job("a-test", ""), "b.yaml": job("b-test", "ladder-cmp.github.io/rung: exposure"),
		})}
		res, err := plugin.Generate(context.Background(), req, knowledge.Default())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i, n := range res.Plan.Graph.Nodes {
			got = append(got, n.Key.String()+" "+res.Plan.Places[i].Rung.Name)
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%q: got %v, want %s", text, got, want)
		}
	}
}
