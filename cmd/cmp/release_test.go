package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// go install NAME@VERSION refuses a module with replace or exclude directives.
func TestGoInstallTakesTheModule(t *testing.T) {
	text, err := exec.CommandContext(t.Context(), "go", "mod", "edit", "-json", "../../go.mod").Output()
	if err != nil {
		t.Fatal(err)
	}
	var mod struct{ Replace, Exclude []any }
	if err := json.Unmarshal(text, &mod); err != nil {
		t.Fatal(err)
	}
	if len(mod.Replace)+len(mod.Exclude) > 0 {
		t.Errorf("go.mod has %d replace and %d exclude directives", len(mod.Replace), len(mod.Exclude))
	}
}

// A tag needs a section of its own in CHANGELOG.md.
func TestReleaseNeedsItsChanges(t *testing.T) {
	for tag, want := range map[string]string{
		"v99.0.0": `no section for 99.0.0`,
		"latest":  `not a version`,
	} {
		out, err := exec.CommandContext(t.Context(), "../../.ci/released", tag).CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v %s; want %s", tag, err, out, want)
		}
	}
}

// What GoReleaser puts into archives, packages and images is there, and the workflow
// runs the version of GoReleaser that .ci/run tries.
func TestReleaseFiles(t *testing.T) {
	text, err := os.ReadFile("../../.goreleaser.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var release struct {
		Builds []struct{ Goos, Goarch []string }
		NFPMs  []struct {
			Contents []struct{ Src string }
		} `json:"nfpms"`
		Images []struct {
			Dockerfile string
			Flags      []string
		} `json:"dockers_v2"`
	}
	if err := yaml.Unmarshal(text, &release); err != nil {
		t.Fatal(err)
	}
	if len(release.Builds) != 1 || len(release.Builds[0].Goos)*len(release.Builds[0].Goarch) != 6 {
		t.Errorf("builds: %+v; want one, for six platforms", release.Builds)
	}
	dockerfile, err := os.ReadFile("../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	for _, image := range release.Images {
		_, stage, _ := strings.Cut(strings.Join(image.Flags, " "), "--target=")
		if stage == "" || !strings.Contains(string(dockerfile), " AS "+stage+"\n") {
			t.Errorf("%s has no stage %q", image.Dockerfile, stage)
		}
	}
	run, err := os.ReadFile("../../.ci/run")
	if err != nil {
		t.Fatal(err)
	}
	_, version, _ := strings.Cut(string(run), "goreleaser/v2@")
	version, _, _ = strings.Cut(version, "\n")
	workflow, err := os.ReadFile("../../.github/workflows/release.yml")
	if err != nil {
		t.Fatal(err)
	}
	if version == "" || !strings.Contains(string(workflow), "version: "+version+"\n") {
		t.Errorf("the workflow runs another version than .ci/run, which has %q", version)
	}
}
