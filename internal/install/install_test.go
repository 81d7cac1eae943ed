package install_test

import (
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/golden"
	"github.com/ladder-cmp/ladder/internal/install"
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
		{"repoServer: {extraContainers: [{name: ladder, image: 'ghcr.io/ladder-cmp/ladder:v1.2.3@sha256:0123'}]}\n", install.Options{Released: install.Image("1.2.3")}, "image: 'ghcr.io/ladder-cmp/ladder:v1.2.3@sha256:0123'\n"},
	} {
		if got, err := install.Values(tt.text, tt.o); err != nil || !strings.Contains(got, tt.want) {
			t.Errorf("%+v: %v, no %q in\n%s", tt.o, err, tt.want, got)
		}
	}
	if _, err := install.Values("", install.Options{}); err == nil || !strings.Contains(finding.Of(err)[0].Remedy, "--image") {
		t.Errorf("without an image: %v", err)
	}
}
