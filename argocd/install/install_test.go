package install_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	yaml "go.yaml.in/yaml/v3"
	"golang.org/x/tools/txtar"

	"github.com/ladder-cmp/ladder/argocd/install"
	"github.com/ladder-cmp/ladder/deploy"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/golden"
)

// TestMerge merges into values and kustomizations of users. Merging again changes nothing,
// and whatever was there is there still, in the same order.
func TestMerge(t *testing.T) {
	o := install.Options{Released: install.Image("1.2.3")}
	golden.Archives(t, filepath.Join("testdata", "*.txtar"), func(t *testing.T, in txtar.File) []txtar.File {
		write := install.Values
		if in.Name == "kustomization.yaml" {
			write = install.Kustomization
		}
		text := string(in.Data)
		merged, err := write(text, o)
		if err != nil {
			return []txtar.File{golden.Text("merged", finding.Of(err)[0].Error()+"\n")}
		}
		again, err := write(merged, o)
		if err != nil || again != merged {
			t.Errorf("merging again: %v\n%s", err, again)
		}
		if !strings.Contains(filepath.Base(t.Name()), "flow") {
			rest := strings.ReplaceAll(merged, ":v1.2.3", ":v1.1.0")
			for line := range strings.Lines(text) {
				_, after, found := strings.Cut(rest, line)
				if !found {
					t.Errorf("the line %q is gone", line)
				}
				rest = after
			}
		}
		return []txtar.File{golden.Text("merged", merged)}
	})
}

// TestImage takes the image of the flag, and else that of a release.
func TestImage(t *testing.T) {
	for version, want := range map[string]string{
		"1.2.3": "ghcr.io/ladder-cmp/ladder:v1.2.3", "v1.2.3-rc.1": "ghcr.io/ladder-cmp/ladder:v1.2.3-rc.1",
		"dev": "", "v0.0.0-20261030153154-30a33513ff6d": "", "1.2.3-SNAPSHOT-30a3351": "",
	} {
		if got := install.Image(version); got != want {
			t.Errorf("%s: got %q, want %q", version, got, want)
		}
	}
	const theirs = "repoServer: {extraContainers: [{name: ladder, image: registry.internal/ladder:v1}]}\n"
	for _, tt := range []struct {
		text string
		o    install.Options
		want string
	}{
		{"", install.Options{Image: "a/b:v1"}, "image: a/b:v1\n"},
		{theirs, install.Options{Image: "a/b:v1"}, "image: a/b:v1\n"},
		{theirs, install.Options{}, "image: registry.internal/ladder:v1\n"},
		{"repoServer: {extraContainers: [{name: ladder, image: 'ghcr.io/ladder-cmp/ladder:v1.2.3@sha256:0123'}]}\n",
			install.Options{Released: install.Image("1.2.3")}, "image: 'ghcr.io/ladder-cmp/ladder:v1.2.3@sha256:0123'\n"},
	} {
		if got, err := install.Values(tt.text, tt.o); err != nil || !strings.Contains(got, tt.want) {
			t.Errorf("%+v: %v, no %q in\n%s", tt.o, err, tt.want, got)
		}
	}
	if _, err := install.Values("", install.Options{}); err == nil || !strings.Contains(finding.Of(err)[0].Remedy, "--image") {
		t.Errorf("without an image: %v", err)
	}
}

// TestUI adds the extension of the user interface to values and kustomizations of users, in
// whose lists are others, and replaces that of another version, but nothing beside it.
func TestUI(t *testing.T) {
	o := install.Options{Released: install.Image("1.2.3"), UI: true}
	for _, tt := range []struct {
		name  string
		write func(string, install.Options) (string, error)
		text  string
		read  func(t *testing.T, text string) []string
	}{
		{"values", install.Values, `server:
  volumes:
  - {name: theirs, emptyDir: {}}
extraObjects:
- |
  kind: {{ .Values.theirs }}
- kind: ConfigMap
  metadata: {name: theirs}
`, func(t *testing.T, text string) []string {
			var v struct {
				Server struct {
					Volumes, VolumeMounts []struct{ Name, MountPath string }
				}
				ExtraObjects []any `yaml:"extraObjects"`
			}
			decode(t, text, &v)
			return []string{fmt.Sprintf("%d %s %d", len(v.Server.Volumes), v.Server.Volumes[1].Name, len(v.ExtraObjects)),
				v.ExtraObjects[2].(map[string]any)["data"].(map[string]any)[deploy.UIFile].(string)}
		}},
		{"kustomization", install.Kustomization, `resources: [argocd.yaml]
configMapGenerator:
- name: theirs
  literals: [a=b]
`, func(t *testing.T, text string) []string {
			var v struct {
				Generators []struct {
					Name     string
					Literals []string
				} `yaml:"configMapGenerator"`
				Patches []struct{ Patch string }
			}
			decode(t, text, &v)
			return []string{fmt.Sprint(len(v.Generators), len(v.Patches), strings.Contains(v.Patches[3].Patch, "name: argocd-server\n")),
				strings.TrimPrefix(v.Generators[1].Literals[0], deploy.UIFile+"=")}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			merged, err := tt.write(tt.text, o)
			if err != nil {
				t.Fatal(err)
			}
			got := tt.read(t, merged)
			if want := map[string]string{"values": "2 ladder-ui 3", "kustomization": "2 4 true"}[tt.name]; got[0] != want ||
				got[1] != deploy.UIScript {
				t.Errorf("got %s, want %s, and the extension:\n%s", got[0], want, merged)
			}
			older := strings.Replace(merged, `"use strict";`, "older();", 1) + "# the end\n"
			for _, text := range []string{merged, older} {
				want := merged
				if text == older {
					want += "# the end\n"
				}
				if again, err := tt.write(text, o); err != nil || again != want {
					t.Errorf("merging again: %v\n%s", err, again)
				}
			}
			if bare, err := tt.write("", o); err != nil || !strings.Contains(bare, "/tmp/extensions/ladder") {
				t.Errorf("%v\n%s", err, bare)
			}
		})
	}
}

// TestUIArrives puts the extension into the values of the subchart of an umbrella chart, in a
// form that survives the templates of the chart and kustomize.
func TestUIArrives(t *testing.T) {
	umbrella, err := install.Values("argo-cd:\n  global: {}\n", install.Options{Released: install.Image("1.2.3"), UI: true})
	if err != nil {
		t.Fatal(err)
	}
	var v map[string]map[string]any
	decode(t, umbrella, &v)
	if len(v) != 1 || v["argo-cd"]["server"] == nil || v["argo-cd"]["extraObjects"] == nil {
		t.Errorf("the values of an umbrella chart:\n%s", umbrella)
	}
	// Helm's chart reads extra objects as templates, and kustomize takes quotes off a literal.
	if strings.Contains(deploy.UIScript, "{{") || strings.Trim(deploy.UIScript, `"'`) != deploy.UIScript {
		t.Error("the extension would not arrive as it is")
	}
}

func decode(t *testing.T, text string, into any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
}
