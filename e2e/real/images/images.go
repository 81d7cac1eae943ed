package images

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"

	"github.com/ladder-cmp/ladder/e2e/image"
	"github.com/ladder-cmp/ladder/e2e/program"
)

// format is part of what an image is kept under; a change of how images are made needs
// another one.
const format = "2"

// Table is the record of all images.
type Table struct {
	cache   string // directory of what is built
	debian  debian
	entries map[string]*entry // by full name
	modules *modules

	mu   sync.Mutex // one image is made at a time; a machine of two cores gains nothing from more
	made map[*entry]v1.Image
}

// Open reads the table. What it makes is kept in cache, which program.Cache says. It
// must be called from within the e2e module, as tests are.
func Open(ctx context.Context, cache string) (*Table, error) {
	r, entries, err := read(record)
	if err != nil {
		return nil, err
	}
	modules, err := openModules(ctx)
	if err != nil {
		return nil, err
	}
	return &Table{cache: cache, debian: r.Debian, entries: entries, modules: modules, made: map[*entry]v1.Image{}}, nil
}

// Repositories returns the full names of all repositories, sorted.
func (t *Table) Repositories() []string { return slices.Sorted(maps.Keys(t.entries)) }

// Has says whether Make knows a repository.
func (t *Table) Has(repository string) bool {
	full, err := fullName(repository)
	return err == nil && t.entries[full] != nil
}

// Make returns the image of a repository, named without a tag. The first time it
// builds programs and downloads packages, which can take some minutes; what is built is
// kept under its versions.
func (t *Table) Make(ctx context.Context, repository string) (v1.Image, error) {
	full, err := fullName(repository)
	if err != nil {
		return nil, err
	}
	e := t.entries[full]
	if e == nil {
		return nil, fmt.Errorf("image %s: unknown; fix: add it to e2e/real/images/images.yaml", repository)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if made := t.made[e]; made != nil {
		return made, nil
	}
	made, err := t.make(ctx, e)
	if err != nil {
		return nil, fmt.Errorf("image %s: %w", repository, err)
	}
	t.made[e] = made
	return made, nil
}

// Program returns the file of a program that is in the image of a repository, for this
// machine.
func (t *Table) Program(ctx context.Context, repository, path string) (string, error) {
	full, err := fullName(repository)
	if err != nil {
		return "", err
	}
	if e := t.entries[full]; e != nil {
		for _, p := range e.Programs {
			if p.Path == path {
				return t.build(ctx, p)
			}
		}
	}
	return "", fmt.Errorf("images.yaml has no program %s of %s", path, repository)
}

func (t *Table) make(ctx context.Context, e *entry) (v1.Image, error) {
	packages, err := t.debian.resolve(ctx, t.debianDir(), e.Packages)
	if err != nil {
		return nil, err
	}
	key, err := t.key(e, packages)
	if err != nil {
		return nil, err
	}
	repository := e.Repositories[0]
	dir := filepath.Join(t.cache, "images", filepath.Base(repository)+"-"+key)
	if kept, err := openLayout(dir); err == nil {
		return kept, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return nil, err
	}
	lock := flock.New(dir + ".lock")
	if _, err := lock.TryLockContext(ctx, 200*time.Millisecond); err != nil {
		return nil, fmt.Errorf("waiting for another process that makes it: %w", err)
	}
	defer lock.Unlock()
	if kept, err := openLayout(dir); err == nil {
		return kept, nil
	}
	layers, err := t.layers(ctx, e, packages)
	if err != nil {
		return nil, err
	}
	made, err := image.New(e.config(), layers...)
	if err != nil {
		return nil, err
	}
	return keep(made, dir)
}

func (t *Table) debianDir() string { return filepath.Join(t.cache, "debian") }

// key is different whenever the image would be.
func (t *Table) key(e *entry, packages resolved) (string, error) {
	text, err := json.Marshal(e)
	if err != nil {
		return "", err
	}
	parts := []string{format, string(text), fmt.Sprint(t.debian), strings.Join(packages.base, " "), strings.Join(packages.own, " ")}
	for _, p := range e.Programs {
		version, err := t.modules.version(p.Dir, p.Module)
		if err != nil {
			return "", err
		}
		sources, err := t.modules.ownSources(p.Dir, p.Package)
		if err != nil {
			return "", err
		}
		parts = append(parts, version, sources)
	}
	for _, c := range e.Copies {
		version, err := t.modules.version(c.Dir, c.Module)
		if err != nil {
			return "", err
		}
		parts = append(parts, version)
	}
	return digest(strings.Join(parts, "\n")), nil
}

func digest(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text)))[:12] }

// layers makes what an image consists of: what all images of Debian packages have in
// common, the packages, and the rest.
func (t *Table) layers(ctx context.Context, e *entry, packages resolved) ([]v1.Layer, error) {
	var layers []v1.Layer
	if len(e.Packages) > 0 {
		debian, err := t.debian.layers(ctx, t.debianDir(), packages)
		if err != nil {
			return nil, err
		}
		layers = debian
	}
	top := image.NewLayer()
	// A real /bin would hide the link of that name that Debian's layer has.
	at := func(path string) string {
		if len(e.Packages) > 0 {
			return "/" + merge(strings.TrimPrefix(path, "/"))
		}
		return path
	}
	for _, path := range slices.Sorted(maps.Keys(e.Files)) {
		top.Text(at(path), e.Files[path])
	}
	top.Accounts(e.accounts())
	for _, path := range slices.Sorted(maps.Keys(e.Directories)) {
		owner, err := strconv.Atoi(e.Directories[path])
		if err != nil {
			return nil, err
		}
		top.Directory(at(path), owner)
	}
	for _, path := range slices.Sorted(maps.Keys(e.Links)) {
		top.Link(at(path), e.Links[path])
	}
	for _, p := range e.Programs {
		file, err := t.build(ctx, p)
		if err != nil {
			return nil, err
		}
		top.File(at(p.Path), file)
	}
	for _, c := range e.Copies {
		if err := t.modules.copyTo(ctx, top, c); err != nil {
			return nil, err
		}
	}
	last, err := top.Close()
	return append(layers, last), err
}

func (t *Table) build(ctx context.Context, p goProgram) (string, error) {
	sources, err := t.modules.ownSources(p.Dir, p.Package)
	if err != nil {
		return "", err
	}
	// Programs of several modules have one name, such as manager.
	variant := digest(strings.Join(append(p.Tags, p.Package, p.VersionVariable, sources), "\n"))
	return program.Build(ctx, program.Source{
		Name: filepath.Base(p.Package) + "-" + variant, Dir: p.Dir, Module: p.Module, Package: p.Package, Static: true,
		Flags: func(version string) []string {
			link := "-s -w"
			if p.VersionVariable != "" {
				link += " -X " + p.VersionVariable + "=" + version
			}
			flags := []string{"-ldflags", link}
			if len(p.Tags) > 0 {
				flags = append(flags, "-tags", strings.Join(p.Tags, ","))
			}
			return flags
		},
	}, t.cache)
}

func (e *entry) config() v1.Config {
	config := v1.Config{
		Entrypoint: e.Entrypoint,
		Cmd:        e.Command,
		User:       strconv.Itoa(e.uid()),
		WorkingDir: e.Workdir,
	}
	env := map[string]string{"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
	maps.Copy(env, e.Env)
	for _, key := range slices.Sorted(maps.Keys(env)) {
		config.Env = append(config.Env, key+"="+env[key])
	}
	return config
}

// keep writes an image to a directory that is there whole or not at all.
func keep(made v1.Image, dir string) (v1.Image, error) {
	if err := os.RemoveAll(dir + ".new"); err != nil {
		return nil, err
	}
	path, err := layout.Write(dir+".new", empty.Index)
	if err != nil {
		return nil, err
	}
	if err := path.AppendImage(made); err != nil {
		return nil, err
	}
	if err := os.Rename(dir+".new", dir); err != nil {
		return nil, err
	}
	return openLayout(dir)
}

func openLayout(dir string) (v1.Image, error) {
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return nil, err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	if len(manifest.Manifests) != 1 {
		return nil, fmt.Errorf("%s holds %d images", dir, len(manifest.Manifests))
	}
	return index.Image(manifest.Manifests[0].Digest)
}
