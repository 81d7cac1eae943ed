package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// report runs deploy/ci/report.sh as the runner of GitHub does.
func (c *ciCheckout) report(components string) (out, comment string, code int) {
	c.t.Helper()
	c.env = append(c.env, "GITHUB_ACTIONS=true", "LADDER_FAIL_ON=any", "LADDER_COMPONENTS="+components)
	out, code = c.run(filepath.Join(c.home, "deploy/ci/report.sh"), "HEAD^1", filepath.Join(c.temp, "comment.md"))
	return out, c.read("comment.md"), code
}

// broken commits a chart that does not render, under names that its owner chose.
func (c *ciCheckout) broken(names ...string) {
	c.t.Helper()
	if err := os.RemoveAll(filepath.Join(c.dir, "apps")); err != nil {
		c.t.Fatal(err)
	}
	for _, name := range names {
		dir := filepath.Join(c.dir, name)
		if err := os.CopyFS(dir, os.DirFS(filepath.Join(c.home, "testdata/components/shop"))); err != nil {
			c.t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "component.yaml"), []byte("name: shop\n"), 0o644); err != nil {
			c.t.Fatal(err)
		}
	}
	c.commit("one more")
	for _, name := range names {
		c.edit(filepath.Join(name, "values.yaml"), "replicas: 2", "replicas: two")
	}
	c.commit("it does not render")
}

// TestHostileDirectories: whatever a directory is called, a change in it that breaks it
// fails, its name is code in the comment, and the runner reads no command in the log.
func TestHostileDirectories(t *testing.T) {
	for _, names := range [][]string{{"-h"}, {"--help"}, {"--exit-code=false"}, {"-o"}, {"--"}, {
		"a\n::set-output name=x::y", "a\r\n::add-mask::b", "::error::x", "##[command]x",
		"a\n\n# hi @team", "a`b ``c @team", "<img src=x onerror=y>", "[x](javascript:y)", "a\n```\n@team", "$(touch pwned)", "`touch pwned`",
		"a b", "a'b\"c", "a%0A::error::b", "x\x1b[31my",
	}} {
		t.Run(names[0], func(t *testing.T) {
			t.Parallel()
			c := newCICheckout(t)
			c.broken(names...)
			out, comment, code := c.report("*")
			if code != 1 {
				t.Errorf("exit code %d:\n%s", code, out)
			}
			if got := strings.Count(comment, "it cannot be rendered"); got != len(names) {
				t.Errorf("the comment says of %d of %d that they are broken:\n%s", got, len(names), comment)
			}
			at := outsideOfCode(comment)
			if strings.Contains(at, "@team") || strings.Contains(at, "<img") || strings.Contains(at, "](") || strings.Contains(at, "\n# hi") {
				t.Errorf("a name is obeyed in the comment:\n%s\nwhich is\n%s", comment, at)
			}
			if _, err := os.Stat(filepath.Join(c.dir, "pwned")); err == nil {
				t.Error("a name is run")
			}
			stopped := regexp.MustCompile(`(?s)^::stop-commands::([0-9a-f]{32})\n.*\n::([0-9a-f]{32})::\n$`).FindStringSubmatch(out)
			if stopped == nil || stopped[1] != stopped[2] || strings.Count(out, stopped[1]) != 2 {
				t.Errorf("the runner reads commands of the log:\n%s", out)
			}
			if strings.ContainsAny(out, "\x1b\r") {
				t.Errorf("the log has escape sequences: %q", out)
			}
		})
	}
}

var fencedCode = regexp.MustCompile("(?ms)^(````*)diff\n.*?\n````*$")

// outsideOfCode is what a code host obeys of a text of Markdown: code begins with a run of
// backticks and ends with one of the same length.
func outsideOfCode(text string) string {
	runs := regexp.MustCompile("`+")
	var out strings.Builder
	for text = fencedCode.ReplaceAllString(text, ""); ; {
		open := runs.FindStringIndex(text)
		if open == nil {
			return out.String() + text
		}
		out.WriteString(text[:open[0]])
		end := open[1]
		for _, run := range runs.FindAllStringIndex(text[open[1]:], -1) {
			if run[1]-run[0] == open[1]-open[0] && !strings.Contains(text[open[1]:open[1]+run[0]], "\n\n") {
				end = open[1] + run[1]
				break
			}
		}
		text = text[end:]
	}
}

// TestReportThroughLink: the file of the report is committed as a symlink.
func TestReportThroughLink(t *testing.T) {
	c := newCICheckout(t)
	victim := filepath.Join(c.temp, "victim")
	if err := os.WriteFile(victim, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, filepath.Join(c.dir, "ladder.md")); err != nil {
		t.Fatal(err)
	}
	c.env = append(c.env, "LADDER_COMPONENTS=apps/*")
	if out, code := c.run(filepath.Join(c.home, "deploy/ci/report.sh"), "HEAD^1", "ladder.md"); code != 0 {
		t.Fatalf("%d: %s", code, out)
	}
	if got := c.read("victim"); got != "kept" {
		t.Errorf("what the link leads to is now %q", got)
	}
}

// plantSpies writes components that would show .git/config, by its path or through
// symlinks.
func plantSpies(t *testing.T, dir string) {
	t.Helper()
	write(t, dir, map[string]string{
		"chart/Chart.yaml": "{apiVersion: v2, name: spy, version: 1.0.0}\n",
		"chart/templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: spy}\n" +
			"data: {text: {{ .Values.text | default \"\" | quote }}}\n",
		"base/kustomization.yaml":   "configMapGenerator: [{name: spy, files: [text=../../../.git/config]}]\n",
		"linked/kustomization.yaml": "configMapGenerator: [{name: spy, files: [text]}]\n",
		"git/kustomization.yaml":    "resources: [../git-dir]\n",
	})
	for name, target := range map[string]string{
		"linked/text": "../../../.git/config",
		"git-dir":     "../../.git",
		"config":      "../../.git/config",
		"git-dir-2":   "git-dir",
	} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestNothingOfGit: a checkout of a pipeline has its credentials in .git/config, and no
// rendering reads it, by whatever name.
func TestNothingOfGit(t *testing.T) {
	t.Parallel()
	const secret = "AUTHORIZATION"
	c := newCICheckout(t)
	c.git("config", "http.extraheader", secret+": basic c2VjcmV0")
	dir := filepath.Join(c.dir, "apps", "spy")
	plantSpies(t, dir)
	other := filepath.Join(c.temp, "worktree")
	c.git("worktree", "add", "-q", "-f", other, "HEAD")
	for _, args := range [][]string{
		{"chart", "--set-file", "text=/.git/config"},
		{"chart", "--set-file", "text=../../../.git/config"},
		{"chart", "--set-file", "text=/apps/spy/config"},
		{"chart", "--set-file", "text=../git-dir/config"},
		{"chart", "--set-file", "text=../git-dir-2/config"},
		{"chart", "--set-file", "text=/apps/../.git/./config"},
		{"chart", "-f", "/.git/config"},
		{"chart", "-f", "../config"},
		{"base"}, {"linked"}, {"git"}, {"git-dir"}, {"."},
	} {
		for _, verb := range [][]string{{"render"}, {"diff", "HEAD"}, {"explain"}} {
			given := append(append([]string{}, verb...), filepath.Join("apps/spy", args[0]))
			given = append(given, args[1:]...)
			if out, _ := c.run("cmp", given...); strings.Contains(out, secret) || strings.Contains(out, "c2VjcmV0") ||
				strings.Contains(out, "repositoryformatversion") {
				t.Errorf("cmp %s shows what is git's:\n%s", strings.Join(given, " "), out)
			}
		}
		if args[0] == "chart" {
			if out, code := c.run("cmp", append([]string{"render", "apps/spy/chart"}, args[1:]...)...); code == 0 ||
				!strings.Contains(out, ".git") && !strings.Contains(out, "no such file") {
				t.Errorf("%v: %d: %s", args, code, out)
			}
		}
	}
	// In a worktree .git is a file that says where the directory is.
	if err := os.CopyFS(filepath.Join(other, "apps/spy"), os.DirFS(filepath.Join(dir, "chart"))); err != nil {
		t.Fatal(err)
	}
	w := *c
	w.dir = other
	if out, code := w.run("cmp", "render", "apps/spy", "--set-file", "text=/.git"); code == 0 || strings.Contains(out, "gitdir") {
		t.Errorf("%d: %s", code, out)
	}
	// Argo CD's own plugin server unpacks the repository, and runs cmp generate there.
	g := *c
	g.dir = filepath.Join(dir, "chart")
	g.env = append(g.env, "ARGOCD_APP_NAME=spy", "ARGOCD_APP_SOURCE_PATH=apps/spy/chart",
		`ARGOCD_APP_PARAMETERS=[{"name": "set-file", "map": {"text": "/.git/config"}}]`)
	if out, code := g.run("cmp", "generate"); code == 0 || strings.Contains(out, secret) {
		t.Errorf("%d: %s", code, out)
	}
}

// TestOwnLadderInPipeline: the fleet section in the ladder.yaml of a component has no effect if a
// pattern matches only that component, and the pipeline says so.
func TestOwnLadderInPipeline(t *testing.T) {
	t.Parallel()
	c := newCICheckout(t)
	write(t, c.dir, map[string]string{
		"ladder.yaml":                       "fleet: {name: platform, project: plat, repoURL: 'https://git.example.com/a.git'}\n",
		"components/teama/x/component.yaml": "name: x\nrolloutPhase: 110\nproject: admin\nserver: evil\n",
		"components/teama/x/a.yaml":         "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n",
	})
	c.commit("a fleet")
	write(t, c.dir, map[string]string{
		"components/teama/x/ladder.yaml": "fleet: {project: admin, server: evil, allow: {projects: [admin], servers: [evil]}}\n"})
	c.commit("its own settings")
	c.env = append(c.env, "LADDER_FAIL_ON=any")
	for _, directories := range []string{"components", "components/teama", "components/teama/*", "components/teama/x"} {
		run := *c
		run.env = append(run.env, "LADDER_FLEET="+directories)
		out, code := run.run(filepath.Join(c.home, "deploy/ci/report.sh"), "HEAD^1", filepath.Join(c.temp, "comment.md"))
		n := strings.Count(out, "[platform-setting]")
		if code != 1 || n != 3 || !strings.Contains(out, "components/teama/x/ladder.yaml:1: fleet: ") {
			t.Errorf("%s: exit code %d, %d findings:\n%s", directories, code, n, out)
		}
	}
}
