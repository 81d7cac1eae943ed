package checkout_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/ladder-cmp/ladder/internal/checkout"
)

// git runs a command of git in a directory, undisturbed by who runs the test.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git",
		append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "protocol.file.allow=always"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func writeIn(t *testing.T, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// repository has a commit with files of every sort, one after it, and a branch
// from the first.
func repository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	git(t, dir, "init", "-q", "-b", "main")
	writeIn(t, dir, "a/one.yaml", "one: 1\n")
	writeIn(t, dir, "a/deep/two.yaml", "two: 2\n")
	writeIn(t, dir, "a.b/three.yaml", "three: 3\n") // git sorts it before a/
	writeIn(t, dir, "empty", "")
	for link, target := range map[string]string{"a/link.yaml": "../a.b/three.yaml", "dir": "a/deep", "out": "../../etc/passwd",
		"abs": "/etc/passwd", "loop": "loop", "gone": "nowhere"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-q", "-m", "one")
	git(t, dir, "tag", "-a", "-m", "the first", "v1")
	git(t, dir, "branch", "side")
	writeIn(t, dir, "a/one.yaml", "one: 11\n")
	git(t, dir, "commit", "-q", "-a", "-m", "two")
	git(t, dir, "gc", "-q") // into a pack
	writeIn(t, dir, "a/one.yaml", "one: 111\n")
	git(t, dir, "commit", "-q", "-a", "-m", "three")
	return dir
}

func files(t *testing.T, dir, name string) fs.FS {
	t.Helper()
	repo, err := checkout.OpenRepository(dir)
	if err != nil {
		t.Fatal(err)
	}
	c, err := repo.Commit(name)
	if err != nil {
		t.Fatal(err)
	}
	f, err := c.Files()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestCommits(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	writeIn(t, dir, "a/one.yaml", "one: not committed\n")
	added := filepath.Join(t.TempDir(), "added")
	git(t, dir, "worktree", "add", "-q", added, "side")
	for name, want := range map[string]string{"main": "one: 111\n", "HEAD~1": "one: 11\n", "v1": "one: 1\n", "side": "one: 1\n",
		git(t, dir, "rev-parse", "main~1"): "one: 11\n"} {
		for _, at := range []string{dir, added} {
			if at == added && strings.HasPrefix(name, "HEAD") {
				continue // which is another one there
			}
			got, err := fs.ReadFile(files(t, at, name), "a/one.yaml")
			if err != nil || string(got) != want {
				t.Errorf("%s in %s: %q, %v; want %q", name, at, got, err, want)
			}
		}
	}
	repo, err := checkout.OpenRepository(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := repo.Commit("nope"); err == nil ||
		!strings.Contains(err.Error(), `revision "nope" not found; fix: name an existing directory, branch`) {
		t.Error(err)
	}
	for _, name := range []string{"HEAD@{1}", "main@{yesterday}", "@{-1}", ":/text"} {
		if _, err := repo.Commit(name); err == nil || !strings.Contains(err.Error(), "use the commit that git rev-parse prints for it") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, want := range map[string]string{"HEAD~100": `revision "HEAD~100" not found; `,
		"a b": "is not a valid revision; fix: write a branch", "^main": "is not a valid revision",
		"HEAD^2": `revision "HEAD^2" not found; `, "HEAD~1^2~3": `revision "HEAD~1^2~3" not found; `,
		"main^{tree}": `"main^{tree}" names a tree, but a revision must be a commit; fix: leave out ^{tree}`, "main^{blob}~1": "names a blob",
		"HEAD^5": "is not a valid revision", "main^{foo": "is not a valid revision", "main:a": "pass the revision alone"} {
		if _, err := repo.Commit(name); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "Revision invalid") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := checkout.OpenRepository(t.TempDir()); err == nil || !strings.Contains(err.Error(), "not in a git repository") {
		t.Error(err)
	}
}

func TestParted(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	git(t, dir, "checkout", "-q", "side")
	writeIn(t, dir, "side", "side\n")
	git(t, dir, "add", "side")
	git(t, dir, "commit", "-q", "-m", "aside")
	git(t, dir, "checkout", "-q", "--orphan", "other")
	git(t, dir, "commit", "-q", "-m", "alone")
	repo, err := checkout.OpenRepository(dir)
	if err != nil {
		t.Fatal(err)
	}
	commit := func(name string) checkout.GitCommit {
		c, err := repo.Commit(name)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	base, err := repo.MergeBase(commit("main"), commit("side"))
	if err != nil || base.Hash != git(t, dir, "rev-parse", "v1^{commit}") {
		t.Errorf("%v, %v", base, err)
	}
	if _, err := repo.MergeBase(commit("main"), commit("other")); err == nil || !strings.Contains(err.Error(), "have no commit in common; ") {
		t.Error(err)
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	f := files(t, repository(t), "main")
	sub, err := fs.Sub(f, "a")
	if err != nil {
		t.Fatal(err)
	}
	if err := fstest.TestFS(sub, "one.yaml", "deep/two.yaml", "link.yaml"); err != nil {
		t.Error(err)
	}
	for name, want := range map[string]string{"a/link.yaml": "three: 3\n", "dir/two.yaml": "two: 2\n", "empty": ""} {
		if got, err := fs.ReadFile(f, name); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, want)
		}
	}
	for name, want := range map[string]string{"out": "leaves the repository", "abs": "leaves the repository", "loop": "too many symlinks",
		"gone": "file does not exist", "a": "is a directory",
		"a/one.yaml/x": "file does not exist", "../x": "invalid argument", "x": "file does not exist"} {
		if _, err := fs.ReadFile(f, name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", name, err, want)
		}
	}
	if target, err := fs.ReadLink(f, "dir"); err != nil || target != "a/deep" {
		t.Errorf("%q, %v", target, err)
	}
	var names []string
	entries, err := fs.ReadDir(f, ".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if got := strings.Join(names, " "); got != "a a.b abs dir empty gone loop out" {
		t.Error(got)
	}
}

// TestSubmodule: what is in a submodule is in another repository.
func TestSubmodule(t *testing.T) {
	t.Parallel()
	inner, outer := repository(t), t.TempDir()
	git(t, outer, "init", "-q", "-b", "main")
	git(t, outer, "submodule", "--quiet", "add", inner, "sub")
	git(t, outer, "commit", "-q", "-m", "one")
	if entries, err := fs.ReadDir(files(t, outer, "main"), "sub"); err != nil || len(entries) != 0 {
		t.Errorf("%v, %v", entries, err)
	}
}
