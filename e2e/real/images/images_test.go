package images

import (
	"archive/tar"
	"bytes"
	"os"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"github.com/ladder-cmp/ladder/e2e/image"
)

func TestEveryImageIsPinned(t *testing.T) {
	r, entries, err := read(record)
	if err != nil {
		t.Fatal(err)
	}
	modules, err := openModules(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	table := &Table{debian: r.Debian, modules: modules}
	for repository, e := range entries {
		if _, err := table.key(e, resolved{}); err != nil {
			t.Errorf("%s: %v", repository, err)
		}
		for _, p := range e.Programs {
			file, err := modules.read(p.Dir)
			if err != nil {
				t.Fatal(err)
			}
			isTool := false
			for _, tool := range file.Tool {
				isTool = isTool || tool.Path == p.Package
			}
			sources, err := modules.ownSources(p.Dir, p.Package)
			if err != nil {
				t.Errorf("%s: %v", repository, err)
			}
			if !isTool && sources == "" {
				t.Errorf("%s: e2e/%s/go.mod has no tool %s, so that go mod tidy drops what it needs", repository, p.Dir, p.Package)
			}
		}
	}
}

func TestEveryEntrypointIsInItsImage(t *testing.T) {
	_, entries, err := read(record)
	if err != nil {
		t.Fatal(err)
	}
	for repository, e := range entries {
		if len(e.Packages) > 0 || len(e.Entrypoint) == 0 {
			continue
		}
		found := e.Links[e.Entrypoint[0]] != ""
		for _, p := range e.Programs {
			found = found || p.Path == e.Entrypoint[0]
		}
		if !found {
			t.Errorf("%s: no program is at its entrypoint %s", repository, e.Entrypoint[0])
		}
	}
}

func TestFaultsOfTheTableNameTheImage(t *testing.T) {
	for text, want := range map[string]string{
		"images: [{repositories: [a/b], command: [x]}]":                              "a/b: has neither programs nor debian nor copies",
		"images: [{repositories: [a/b], debian: [x]}]":                               "a/b: has neither entrypoint nor command",
		"images: [{repositories: [a/b], debian: [x], command: [x], user: postgres}]": `user "postgres" is not a uid`,
		"images: [{repositories: [a/b], programs: [{package: c/d, dir: e, module: f}], " +
			"command: [x]}]": `a/b: program "d" needs path`,
		"images: [{repositories: [redis, docker.io/library/redis], debian: [x], command: [x]}]": "docker.io/library/redis is there twice",
		"images: [{repository: a/b}]": `unknown field "repository"`,
	} {
		_, _, err := read([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %s", text, err, want)
		}
	}
}

func TestUnknownImageIsNamed(t *testing.T) {
	table, err := Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := table.Make(t.Context(), "example.com/nobody/knows"); err == nil ||
		!strings.Contains(err.Error(), "example.com/nobody/knows") {
		t.Errorf("error %v does not name the image", err)
	}
	if !table.Has("redis") {
		t.Error("redis is not known as docker.io/library/redis")
	}
}

// A package's files are where Debian has them today, and what no program reads is gone.
func TestPackagesAreMerged(t *testing.T) {
	var text bytes.Buffer
	w := tar.NewWriter(&text)
	for _, header := range []tar.Header{
		{Typeflag: tar.TypeDir, Name: "./bin/"},
		{Typeflag: tar.TypeReg, Name: "./bin/sh", Mode: 0o755},
		{Typeflag: tar.TypeLink, Name: "./bin/rsh", Linkname: "./bin/sh"},
		{Typeflag: tar.TypeReg, Name: "./usr/share/doc/sh/README"},
		{Typeflag: tar.TypeReg, Name: "./usr/share/docs"},
	} {
		if err := w.WriteHeader(&header); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	layer := image.NewLayer()
	d := debian{Drop: []string{"usr/share/doc"}}
	if err := d.copyEntries(tar.NewReader(&text), layer); err != nil {
		t.Fatal(err)
	}
	made, err := layer.Close()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := contents(t, made), "usr/bin/rsh -> usr/bin/sh, usr/bin/sh, usr/share/docs"; got != want {
		t.Errorf("the layer holds %s, want %s", got, want)
	}
}

// What is kept is found again, and what is half written is not.
func TestImagesAreKeptWhole(t *testing.T) {
	layer := image.NewLayer()
	layer.Text("/greeting", "hello")
	made, err := layer.Close()
	if err != nil {
		t.Fatal(err)
	}
	img, err := image.New(v1.Config{Entrypoint: []string{"/greeting"}}, made)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir() + "/kept"
	if err := os.Mkdir(dir+".new", 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := openLayout(dir); err == nil {
		t.Error("an image that was not kept is found")
	}
	kept, err := keep(img, dir)
	if err != nil {
		t.Fatal(err)
	}
	before, after := must(img.Digest()), must(kept.Digest())
	if before != after {
		t.Errorf("the image kept is %s, not %s", after, before)
	}
	if body := mutate.Extract(kept); !strings.Contains(readAll(t, body), "hello") {
		t.Error("the image kept lacks its file")
	}
}
