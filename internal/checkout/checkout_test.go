package checkout_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ladder-cmp/ladder/internal/checkout"
	"github.com/ladder-cmp/ladder/internal/finding"
)

// inDirectory makes a new directory with files the working directory, and returns it. Names that
// end in a slash are directories.
func inDirectory(t *testing.T, names ...string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	for _, name := range names {
		parent := filepath.Dir(name)
		if strings.HasSuffix(name, "/") {
			parent = name
		}
		if err := os.MkdirAll(parent, 0o755); err != nil {
			t.Fatal(err)
		}
		if parent != name {
			write(t, name, name)
		}
	}
	return dir
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, target, name string) {
	t.Helper()
	if err := os.Symlink(target, name); err != nil {
		t.Fatal(err)
	}
}

func TestOpen(t *testing.T) {
	dir := inDirectory(t, "repo/.git/", "repo/apps/web/", "repo/apps/file", "other/.git/", "repo/nested/.git/", "repo/nested/app/")
	link(t, filepath.Join(dir, "repo/apps"), "linked")
	for _, test := range []struct{ open, base, dir, name string }{
		{"repo/apps/web", "repo", "apps/web", "web"},
		{"repo", "repo", ".", "repo"},
		{"repo/apps/missing/deep", "repo", "apps/missing/deep", "deep"},
		{"repo/nested/app", "repo/nested", "app", "app"}, // a repository in another
		{"linked/web", "repo", "apps/web", "web"},
		{"repo/apps/../apps/web/", "repo", "apps/web", "web"},
	} {
		c, err := checkout.Open(test.open)
		if err != nil {
			t.Errorf("%s: %v", test.open, err)
			continue
		}
		if c.Base != filepath.Join(dir, test.base) || c.Dir != test.dir || c.Name != test.name || c.NoRepository {
			t.Errorf("%s opens %s of %s with the name %s, want %s of %s with %s", test.open, c.Dir, c.Base, c.Name, test.dir, test.base, test.name)
		}
		c.Close()
	}
	c, err := checkout.Open("repo/apps/web")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for rel, want := range map[string]string{"repo/apps": "apps", "linked": "apps", "repo": ".", "other": "error", "repo/apps/file": "error",
		"repo/missing": "error", ".": "error"} {
		got, err := c.Rel(rel)
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%s is at %s in the repository, want %s", rel, got, want)
		}
	}
	for path, want := range map[string]string{"apps/web/Chart.yaml": "repo/apps/web/Chart.yaml", "apps/web": "repo/apps/web",
		"apps": "repo/apps", "apps/webserver": "repo/apps/webserver", ".": "repo"} {
		if got := c.Show(path); got != want {
			t.Errorf("%s is shown as %s, want %s", path, got, want)
		}
	}
}

// TestNoRepository opens a directory outside of any repository: paths are those of the whole
// file system.
func TestNoRepository(t *testing.T) {
	dir := inDirectory(t, "app/values.yaml")
	if checkout.GitRoot(dir) != "" {
		t.Skip("temporary files are in a repository")
	}
	c, err := checkout.Open("app")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if !c.NoRepository || c.Base != "/" {
		t.Errorf("opened %s", c.Base)
	}
	if text, err := fs.ReadFile(c.Repo, c.Dir+"/values.yaml"); err != nil || string(text) != "app/values.yaml" {
		t.Errorf("read %q, %v", text, err)
	}
}

func TestPluginRoot(t *testing.T) {
	dir := inDirectory(t, "repo/.git/", "repo/apps/web/", "part/web/", "part/apps/web/")
	for _, test := range []struct{ wd, path, want string }{
		{"repo/apps/web", "apps/web", "repo"},
		{"repo/apps/web", "/apps/web/", "repo"},
		{"repo/apps/web", "apps/../apps/web", "repo"},
		{"repo/apps/web", "web", "repo/apps"},             // what Argo CD says, even if there is a .git above
		{"repo/apps/web", "elsewhere", "repo"},            // the nearest .git
		{"repo/apps/web", "eb", "repo"},                   // not the end of a name
		{"part/web", "apps/web", "part"},                  // only a part was sent
		{"part/apps/web", "x/apps/web", "part"},           // the longest suffix
		{"part/apps/web", "x/y", "part/apps/web"},         // nothing outside is read
		{"part/apps/web", "", "part/apps/web"},            // the root of the repository
		{"part/apps/web", "../..", "part/apps/web"},       // no way out
		{"part/apps/web", "../apps/web", "part"},          // ".." at the root is the root
		{"part/apps/web", "../../web", "part/apps"},       //
		{"part/apps/web", "apps/web/..", "part/apps/web"}, // its parent is not the working directory
	} {
		if got := checkout.PluginRoot(filepath.Join(dir, test.wd), test.path); got != filepath.Join(dir, test.want) {
			t.Errorf("the root for %q in %s is %s, want %s", test.path, test.wd, got, test.want)
		}
	}
}

func TestArguments(t *testing.T) {
	dir := inDirectory(t, "repo/.git/", "repo/apps/", "repo/readme", "repo/other")
	t.Chdir("repo")
	for _, test := range []struct{ args, dirs, files string }{
		{"apps readme", "apps", "readme"},
		{"readme other", "readme other", ""}, // the user gets an error about them
		{"missing readme", "missing", "readme"},
	} {
		dirs, files := checkout.WithoutFiles(strings.Fields(test.args))
		if got := strings.Join(dirs, " ") + "|" + strings.Join(files, " "); got != test.dirs+"|"+test.files {
			t.Errorf("%s is %s", test.args, got)
		}
	}
	names := []string{"apps", "./apps/", filepath.Join(dir, "repo/apps"), "readme", "apps/../readme"}
	if got := checkout.Unique(names); !slices.Equal(got, []string{"apps", "readme"}) || names[1] != "./apps/" {
		t.Errorf("unique are %q of %q", got, names)
	}
	t.Chdir("apps")
	for typed, want := range map[string]string{".": "apps", "..": "repo", "../": "repo", "./x/": "x", "../apps": "../apps"} {
		if got := checkout.Called(filepath.Join(dir, "repo"), []string{typed}); got != want {
			t.Errorf("%s is called %s, want %s", typed, got, want)
		}
	}
}

// TestInRepository names directories to write to, which need not exist.
func TestInRepository(t *testing.T) {
	inDirectory(t, "repo/.git/", "repo/apps/", "elsewhere/")
	link(t, "../elsewhere", "repo/out")
	link(t, "apps", "repo/in")
	for out, want := range map[string]string{"repo/new/deep": "new/deep", "repo": ".", "repo/in/new": "apps/new", "repo/out/new": "error",
		"elsewhere": "error", "repo/../elsewhere": "error"} {
		got, err := checkout.InRepository("repo/apps", out)
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%s is at %s, want %s (%v)", out, got, want, err)
		}
	}
}

// TestUnpacked follows absolute symlinks, as Argo CD 2 writes them, but not out of the
// repository.
func TestUnpacked(t *testing.T) {
	dir := inDirectory(t, "repo/app/file", "repo/deep/a/", "secret")
	link(t, filepath.Join(dir, "repo/app/file"), "repo/absolute")
	link(t, filepath.Join(dir, "repo/app"), "repo/deep/a/app")
	link(t, "../app/file", "repo/deep/relative")
	link(t, filepath.Join(dir, "secret"), "repo/outside")
	link(t, "../secret", "repo/below")
	link(t, filepath.Join(dir, "repo/missing"), "repo/dangling")
	root, err := os.OpenRoot(filepath.Join(dir, "repo"))
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	repo, err := checkout.NewUnpacked(root)
	if err != nil {
		t.Fatal(err)
	}
	for name, allowed := range map[string]bool{"app/file": true, "absolute": true, "deep/a/app/file": true, "deep/relative": true,
		"outside": false, "below": false, "dangling": false} {
		if text, err := fs.ReadFile(repo, name); (err == nil) != allowed || allowed && string(text) != "repo/app/file" {
			t.Errorf("%s contains %q, %v", name, text, err)
		}
	}
	for name, want := range map[string]string{"absolute": "app/file", "deep/a/app": "../../app", "deep/relative": "../app/file"} {
		if got, err := repo.ReadLink(name); err != nil || got != want {
			t.Errorf("%s leads to %s, want %s (%v)", name, got, want, err)
		}
	}
}

// TestReadChange parses the arguments of a comparison in a repository with two branches.
func TestReadChange(t *testing.T) {
	inDirectory(t, "other/", "repo/app/")
	t.Chdir("repo")
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git",
			append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	git("init", "-q", "-b", "main")
	for i, branch := range []string{"main", "feature", "main"} {
		if i > 0 {
			git("checkout", "-q", "-B", branch, []string{"", "main", "main"}[i])
		}
		write(t, "app/values.yaml", branch+[]string{" first", "", " last"}[i])
		git("add", ".")
		git("commit", "-q", "-m", "change")
	}
	git("branch", "app") // also the name of a directory
	write(t, "app/values.yaml", "work tree")
	for _, test := range []struct{ args, want string }{
		{"main ./app", "main last -> work tree"},
		{"main.. ./app", "usage"},
		{"feature..main ./app", "feature -> main last"},
		{"main...feature ./app", "main first -> feature"}, // from the merge base
		{"feature... ./app", "main first -> work tree"},
		{"..feature ./app", "main last -> feature"}, // HEAD
		{"./app ./app", "work tree -> work tree"},
		{"app ./app", "usage"}, // a directory and a revision
		{"main feature", "usage"},
		{"main ../other", "no revision"},
		{"nonsense ./app", "error"},
		{"./app ./app ./missing", "usage"},
		{"./app/values.yaml ./app", "error"},
		{"./app ./missing", "error"},
		{"main ./app ../other", "usage"},
	} {
		ch, err := checkout.ReadChange(strings.Fields(test.args), func(dirs []string) []string { return dirs })
		got := "error"
		switch {
		case finding.IsUsage(err):
			got = "usage"
		case err == nil:
			got = values(t, ch.Before[0], ch.From) + " -> " + values(t, ch.After[0], ch.To)
		case strings.Contains(err.Error(), "no git repository around"):
			got = "no revision"
		}
		if got != test.want {
			t.Errorf("%s compares %s, want %s (%v)", test.args, got, test.want, err)
		}
	}
	if _, err := checkout.ReadChange([]string{"main", ""}, nil); !finding.IsUsage(err) {
		t.Errorf("an empty argument: %v", err)
	}
}

// values returns what app/values.yaml contains on a side of a change.
func values(t *testing.T, dir string, at *checkout.Commit) string {
	t.Helper()
	c, err := checkout.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c = c.At(at)
	text, err := c.ReadValues("app/values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
