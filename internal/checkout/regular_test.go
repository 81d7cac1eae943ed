package checkout_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"testing/fstest"

	"github.com/ladder-cmp/ladder/internal/checkout"
)

// TestRegular reads what a rendering must not read.
func TestRegular(t *testing.T) {
	dir := inDirectory(t, ".git/config", "app/file", "sub/.GIT/config", "sub/git~1/config", "app/.gitignore")
	link(t, "../.git/config", "app/innocent")
	link(t, "../.git", "app/config.d")
	link(t, "file", "app/alias")
	link(t, ".", "app/linked")
	if err := exec.Command("mkfifo", filepath.Join(dir, "app/pipe")).Run(); err != nil {
		t.Skip("no mkfifo")
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, fsys := range []fs.FS{os.DirFS(dir), root.FS()} {
		repo := checkout.NewRegular(fsys)
		refuses(t, repo)
		for _, listed := range []string{".", "app", "sub"} { // and then again, with what is known
			if _, err := repo.ReadDir(listed); err != nil {
				t.Error(err)
			}
			for range 5 {
				_, _ = repo.Lstat(path.Join(listed, "another"))
			}
		}
		refuses(t, repo)
	}
}

// refuses tests that a checkout shows what a rendering may read, and nothing else.
func refuses(t *testing.T, repo checkout.Regular) {
	t.Helper()
	for name, allowed := range map[string]bool{"app/file": true, "app/alias": true, "app/.gitignore": true, "app/pipe": false,
		".git/config": false, "sub/.GIT/config": false, "sub/git~1/config": false, "app/innocent": false, "app/config.d/config": false,
		"app/file/below": false, "missing/file": false, "app/linked/file": true, "app/linked/pipe": false, "app/linked/missing": false} {
		_, errRead := fs.ReadFile(repo, name)
		f, errOpen := repo.Open(name)
		if errOpen == nil {
			f.Close()
		}
		if (errRead == nil) != allowed || (errOpen == nil) != allowed {
			t.Errorf("reading %s: %v, opening it: %v", name, errRead, errOpen)
		}
	}
	if _, err := repo.ReadFile("missing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	entries, err := fs.ReadDir(repo, ".")
	if err != nil || slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == ".git" }) || len(entries) != 2 {
		t.Errorf("lists %v, %v", entries, err)
	}
	if _, err := fs.ReadDir(repo, "app/config.d"); err == nil {
		t.Error("git's directory was listed through a symlink")
	}
	if info, err := repo.Stat("app/alias"); err != nil || !info.Mode().IsRegular() {
		t.Errorf("an alias is %v, %v", info, err)
	}
	if info, err := repo.Lstat("app/alias"); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("an alias itself is %v, %v", info, err)
	}
}

// counted counts the questions about files.
type counted struct {
	fs.FS
	asked *int
}

func (c counted) Lstat(name string) (fs.FileInfo, error) { *c.asked++; return fs.Lstat(c.FS, name) }
func (c counted) Stat(name string) (fs.FileInfo, error)  { *c.asked++; return fs.Stat(c.FS, name) }
func (c counted) ReadDir(name string) ([]fs.DirEntry, error) {
	*c.asked++
	return fs.ReadDir(c.FS, name)
}
func (c counted) Open(name string) (fs.File, error) {
	if info, err := fs.Stat(c.FS, name); err == nil && info.IsDir() {
		*c.asked++
	}
	return c.FS.Open(name)
}
func (c counted) ReadLink(name string) (string, error) { return fs.ReadLink(c.FS, name) }

// TestRegularAsksOnce asks for the directories above a file once, for a few files in a directory one
// by one, and for all others by listing it once, also for walks and for missing files.
func TestRegularAsksOnce(t *testing.T) {
	dir := inDirectory(t, "a/b/c/one", "a/b/c/two", "a/b/c/d/three")
	asked := 0
	repo := checkout.NewRegular(counted{os.DirFS(dir), &asked})
	asks := func(what string, want int) {
		t.Helper()
		if asked != want {
			t.Errorf("%s: asked %d times, want %d", what, asked, want)
		}
		asked = 0
	}
	read := func() {
		for _, name := range []string{"a/b/c/one", "a/b/c/two"} {
			if _, err := repo.ReadFile(name); err != nil {
				t.Error(err)
			}
		}
		for _, name := range []string{"a/b/c/missing", "a/b/c/.git/config"} {
			if _, err := repo.ReadFile(name); err == nil {
				t.Errorf("%s was read", name)
			}
		}
	}
	read()
	asks("directories a, b and c, and 3 files", 3+3)
	read()
	asks("a list", 1)
	for _, stat := range []func(string) (fs.FileInfo, error){repo.Stat, repo.Lstat} {
		if _, err := stat("a/b/c/missing"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a missing file: %v", err)
		}
		if info, err := stat("a/b/c/two"); err != nil || info.Size() != int64(len("a/b/c/two")) {
			t.Errorf("a file: %v, %v", info, err)
		}
	}
	asks("the same list", 0)
	for range 2 {
		var walked []string
		if err := fs.WalkDir(repo, "a/b/c", func(name string, e fs.DirEntry, err error) error {
			walked = append(walked, name)
			return err
		}); err != nil || len(walked) != 5 {
			t.Errorf("walked %q: %v", walked, err)
		}
	}
	asks("the list of d, and a/b/c itself, twice", 3)
}

// TestRegularDoesNotListMany looks for files in a directory of too many to look at each, until that pays.
func TestRegularDoesNotListMany(t *testing.T) {
	const many = 1000
	files := fstest.MapFS{"app/file": {}}
	for i := range many {
		files[strconv.Itoa(i)] = &fstest.MapFile{}
	}
	asked, looked := 0, 0
	repo := checkout.NewRegular(slow{counted{files, &asked}, &looked})
	ask := func(questions, wantAsked, wantLooked int) {
		t.Helper()
		for i := range questions {
			if i%2 == 0 {
				if _, err := repo.Stat("missing"); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("a missing file: %v", err)
				}
			} else if info, err := repo.Stat("7"); err != nil || info.Name() != "7" {
				t.Errorf("a file: %v, %v", info, err)
			}
		}
		if asked != wantAsked || looked != wantLooked {
			t.Errorf("asked %d times and looked at %d files, want %d and %d", asked, looked, wantAsked, wantLooked)
		}
	}
	ask(20, 20+1, 33)
	ask(235, 255+2, 33+257)
	ask(100, 255+3, 33+257+many+1)
	for range 2 {
		if all, err := repo.ReadDir("."); err != nil || len(all) != many+1 || all[0].Name() != "0" || all[many].Name() != "app" {
			t.Errorf("listed %d files: %v", len(all), err)
		}
	}
}

// slow counts the files that its directories list.
type slow struct {
	counted
	looked *int
}

func (s slow) Open(name string) (fs.File, error) {
	f, err := s.counted.Open(name)
	if dir, ok := f.(fs.ReadDirFile); ok {
		return listing{dir, s.looked}, err
	}
	return f, err
}

type listing struct {
	fs.ReadDirFile
	looked *int
}

func (l listing) ReadDir(n int) ([]fs.DirEntry, error) {
	all, err := l.ReadDirFile.ReadDir(n)
	*l.looked += len(all)
	return all, err
}

// TestRegularDoesNotListAbove reads in a directory below one that must not be listed.
func TestRegularDoesNotListAbove(t *testing.T) {
	dir := inDirectory(t, "closed/app/file")
	repo := checkout.NewRegular(closed{os.DirFS(dir)})
	if _, err := repo.ReadFile("closed/app/file"); err != nil {
		t.Error(err)
	}
	if _, err := repo.ReadFile("closed/app/missing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	for _, name := range []string{"closed/missing", "closed/missing/file", "missing/file"} {
		if _, err := repo.Stat(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := repo.Stat("closed/app"); err != nil {
		t.Error(err)
	}
	if _, err := repo.ReadDir("closed"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("listed a closed directory: %v", err)
	}
}

// closed is a file system that does not list the directory "closed".
type closed struct{ fs.FS }

func (c closed) Lstat(name string) (fs.FileInfo, error) { return fs.Lstat(c.FS, name) }
func (c closed) ReadLink(name string) (string, error)   { return fs.ReadLink(c.FS, name) }
func (c closed) Open(name string) (fs.File, error) {
	if name == "closed" {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return c.FS.Open(name)
}
func (c closed) ReadDir(name string) ([]fs.DirEntry, error) {
	if name == "closed" {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return fs.ReadDir(c.FS, name)
}
