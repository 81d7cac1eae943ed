package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	yaml "go.yaml.in/yaml/v3"
)

// strictly reads a YAML file of the repository, in which no key may be unknown.
func strictly(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	if err := dec.Decode(into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// ciCheckout is a repository with two components in apps, of which the last commit
// has changed one, and the directories that a runner gives a job.
type ciCheckout struct {
	t    *testing.T
	dir  string
	home string // of the project
	bin  string // comes first in the PATH
	temp string
	env  []string
}

func newCICheckout(t *testing.T) *ciCheckout {
	t.Helper()
	home, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	c := &ciCheckout{t: t, dir: t.TempDir(), home: home, bin: t.TempDir(), temp: t.TempDir()}
	c.env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "PATH="+c.bin+":"+os.Getenv("PATH"))
	for _, app := range []string{"shop", "bookshelf"} {
		if err := os.CopyFS(filepath.Join(c.dir, "apps", app), os.DirFS(filepath.Join(home, "testdata/components", app))); err != nil {
			t.Fatal(err)
		}
	}
	c.git("init", "-q", "-b", "main")
	c.commit("one")
	c.edit("apps/shop/values.yaml", "replicas: 2", "replicas: 3")
	c.commit("two")
	return c
}

func (c *ciCheckout) git(args ...string) {
	c.t.Helper()
	if out, code := c.run("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...); code != 0 {
		c.t.Fatalf("git %v: %s", args, out)
	}
}

func (c *ciCheckout) commit(message string) {
	c.t.Helper()
	c.git("add", "-A")
	c.git("commit", "-q", "-m", message)
}

func (c *ciCheckout) edit(file, old, now string) {
	c.t.Helper()
	name := filepath.Join(c.dir, file)
	text, err := os.ReadFile(name)
	if err != nil || !strings.Contains(string(text), old) {
		c.t.Fatalf("%s holds no %q: %v", file, old, err)
	}
	if err := os.WriteFile(name, []byte(strings.Replace(string(text), old, now, 1)), 0o644); err != nil {
		c.t.Fatal(err)
	}
}

// fake puts a program into the PATH.
func (c *ciCheckout) fake(name, script string) {
	c.t.Helper()
	if err := os.WriteFile(filepath.Join(c.bin, name), []byte("#!/usr/bin/env bash\nset -euo pipefail\n"+script), 0o755); err != nil {
		c.t.Fatal(err)
	}
}

func (c *ciCheckout) run(name string, args ...string) (out string, code int) {
	c.t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = c.dir, c.env
	text, err := cmd.CombinedOutput()
	if _, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed {
		c.t.Fatal(err)
	}
	return string(text), cmd.ProcessState.ExitCode()
}

// called makes sure that the fake program was called so often, and with these words.
func (c *ciCheckout) called(wantCalls ...string) {
	c.t.Helper()
	calls := c.read("calls")
	if n := strings.Count(calls, "\n"); n != len(wantCalls) {
		c.t.Errorf("%d calls, want %d:\n%s", n, len(wantCalls), calls)
	}
	for _, want := range wantCalls {
		if !strings.Contains(calls, want) {
			c.t.Errorf("no call %q:\n%s", want, calls)
		}
	}
}

// read returns a file of the runner, empty if there is none.
func (c *ciCheckout) read(name string) string {
	text, err := os.ReadFile(filepath.Join(c.temp, name))
	if err != nil && !os.IsNotExist(err) {
		c.t.Fatal(err)
	}
	return string(text)
}

type action struct {
	Name        string `yaml:"name"`
	Description string `yaml:"description"`
	Inputs      map[string]struct {
		Description string `yaml:"description"`
		Default     string `yaml:"default"`
	} `yaml:"inputs"`
	Runs struct {
		Using string       `yaml:"using"`
		Steps []actionStep `yaml:"steps"`
	} `yaml:"runs"`
}

type actionStep struct {
	Name  string            `yaml:"name"`
	If    string            `yaml:"if"`
	Uses  string            `yaml:"uses"`
	With  map[string]string `yaml:"with"`
	Shell string            `yaml:"shell"`
	Env   map[string]string `yaml:"env"`
	Run   string            `yaml:"run"`
}

// fakeGh keeps one comment, like GitHub, and notes each call.
const fakeGh = `
echo gh $* >>"$FAKE/calls"
[ "$GH_TOKEN" = token ] || { echo "no token" >&2; exit 1; }
for arg; do case $arg in body=@*) cp "${arg#body=@}" "$FAKE/body" ;; esac; done
case "$*" in
*"-X POST"*) echo 4711 >"$FAKE/comment" ;;
*"id=4711 "*"updateIssueComment"*) [ -e "$FAKE/comment" ] ;;
*"--jq"*) [ -n "$MARKER" ]; cat "$FAKE/comment" 2>/dev/null || true ;;
*) exit 1 ;;
esac
`

var ofActions = regexp.MustCompile(`\$\{\{ (.*?) \}\}`)

// play runs the steps of the action as a runner does, and returns what they print
// and the code of the first that fails.
func (a action) play(c *ciCheckout, inputs map[string]string) (out string, code int) {
	c.t.Helper()
	known := map[string]string{
		"github.action_path": filepath.Join(c.home, "deploy/ci/github"), "runner.temp": c.temp,
		"github.event.pull_request.number": "12", "github.token": "token", "github.action_ref": "main",
	}
	evaluate := func(text string) string {
		return ofActions.ReplaceAllStringFunc(text, func(s string) string {
			name := ofActions.FindStringSubmatch(s)[1]
			value, ok := known[name]
			if !ok {
				c.t.Fatalf("nobody knows ${{ %s }}", name)
			}
			return value
		})
	}
	for name, input := range a.Inputs {
		known["inputs."+name] = evaluate(input.Default)
	}
	for name, value := range inputs {
		if _, there := a.Inputs[name]; !there {
			c.t.Fatalf("there is no input %s", name)
		}
		known["inputs."+name] = value
	}
	for _, step := range a.Runs.Steps {
		wanted := code == 0
		for _, term := range strings.Split(step.If, " && ") {
			name, value, compared := strings.Cut(term, " == ")
			switch {
			case term == "":
			case term == "always()":
				wanted = true
			case compared:
				wanted = wanted && known[name] == strings.Trim(value, "'")
			default:
				wanted = wanted && known[name] != ""
			}
		}
		if step.Run == "" || step.Name == "program" || !wanted {
			continue
		}
		if strings.Contains(step.Run, "${{") {
			c.t.Errorf("step %s: what others may write stands in a script", step.Name)
		}
		run := *c
		run.env = append(slices.Clone(c.env), "GITHUB_STEP_SUMMARY="+filepath.Join(c.temp, "summary"),
			"GITHUB_REPOSITORY=team/repo", "FAKE="+c.temp)
		for name, value := range step.Env {
			run.env = append(run.env, name+"="+evaluate(value))
		}
		text, failed := run.run("bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step.Run)
		out += text
		if code == 0 {
			code = failed
		}
	}
	return out, code
}

// TestAction plays the action of GitHub: it comments, keeps the comment up to
// date, takes it back, and fails where it should.
func TestAction(t *testing.T) {
	t.Parallel()
	var a action
	strictly(t, "../../deploy/ci/github/action.yml", &a)
	if a.Runs.Using != "composite" || !slices.ContainsFunc(a.Runs.Steps, func(s actionStep) bool { return s.Name == "program" }) {
		t.Errorf("%+v", a.Runs)
	}
	c := newCICheckout(t)
	c.fake("gh", fakeGh)
	program, err := exec.LookPath("cmp")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(c.temp, "ladder"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(program, filepath.Join(c.temp, "ladder/cmp")); err != nil { // what the step program gets
		t.Fatal(err)
	}
	play := func(inputs map[string]string, wantCode int, wantCalls ...string) (out string) {
		t.Helper()
		os.Remove(filepath.Join(c.temp, "calls"))
		out, code := a.play(c, inputs)
		if code != wantCode {
			t.Fatalf("exit code %d, want %d:\n%s", code, wantCode, out)
		}
		c.called(wantCalls...)
		return out
	}
	list := "gh api graphql --paginate -f owner=team -f name=repo -F pull=12 -f query="
	const update = "gh api graphql --silent -f id=4711 -F body="
	apps := map[string]string{"components": "apps/*"}
	out := play(apps, 0, list, "-X POST repos/team/repo/issues/12/comments -F")
	body := c.read("body")
	if !strings.HasPrefix(body, "<!-- ladder  -->\n") || !strings.Contains(body, "### Ladder: `apps/shop`") ||
		!strings.Contains(body, "+   spec.replicas: 3") || strings.Contains(body, "bookshelf") {
		t.Errorf("the comment is\n%s", body)
	}
	if !strings.Contains(out, "== cmp check --waves rungs apps/shop\n") || strings.Contains(out, "apps/bookshelf\n") ||
		!strings.Contains(c.read("summary"), "+   spec.replicas: 3") {
		t.Errorf("the log is\n%s", out)
	}

	c.edit("apps/shop/values.yaml", "replicas: 3", "replicas: 4")
	play(apps, 0, list, update)
	if body := c.read("body"); !strings.Contains(body, "+   spec.replicas: 4") {
		t.Errorf("the comment is\n%s", body)
	}

	c.edit("apps/shop/values.yaml", "replicas: 4", "replicas: 2")
	play(apps, 0, list, update)
	if body := c.read("body"); !strings.Contains(body, "no difference any more") {
		t.Errorf("the comment is\n%s", body)
	}
	os.Remove(filepath.Join(c.temp, "comment"))
	play(apps, 0, list) // there is nothing to say, and nothing to take back
	play(map[string]string{"components": "apps/*", "comment": "false"}, 0)

	c.edit("apps/shop/values.yaml", "replicas: 2", "replicas: two")
	out = play(apps, 1, list, "-X POST")
	if body := c.read("body"); !strings.Contains(body, "it cannot be rendered") ||
		!strings.Contains(out, "error [bad-values]: apps/shop/values.yaml:") {
		t.Errorf("the comment is\n%s", body)
	}
	os.Remove(filepath.Join(c.temp, "comment"))
	play(map[string]string{"components": "apps/*", "fail-on": "never"}, 0, list, "-X POST")

	play(nil, 2, list, update)
}

// fakeRelease answers as a server of releases: from a folder, by the path.
const fakeRelease = `
while [ $# -gt 1 ]; do
	if [ "$1" = --output ]; then to=$2; fi
	shift
done
cp "$FAKE/releases/${1#https://releases.example.com/}" "$to"
`

// TestProgramOfARelease: pipelines use the program of a release if they name one, and only
// with the checksum of that release.
func TestProgramOfARelease(t *testing.T) {
	t.Parallel()
	c := newCICheckout(t)
	c.fake("curl", fakeRelease)
	c.fake("uname", `case $1 in -s) echo Linux ;; *) echo aarch64 ;; esac`)
	c.env = append(c.env, "FAKE="+c.temp, "LADDER_RELEASES=https://releases.example.com")
	const archive = "releases/v1.2.3/ladder_1.2.3_linux_arm64.tar.gz"
	if err := os.MkdirAll(filepath.Join(c.temp, "releases/v1.2.3"), 0o755); err != nil {
		t.Fatal(err)
	}
	must := func(script string) {
		t.Helper()
		if out, code := c.run("bash", "-e", "-c", "cd \"$FAKE\"\n"+script); code != 0 {
			t.Fatal(out)
		}
	}
	must("mkdir ladder_1.2.3_linux_arm64; echo released >ladder_1.2.3_linux_arm64/cmp; tar -czf " + archive +
		" ladder_1.2.3_linux_arm64; rm -r ladder_1.2.3_linux_arm64; cd releases/v1.2.3; sha256sum *.tar.gz >checksums.txt")
	get := func(version string) (string, int) {
		return c.run(filepath.Join(c.home, "deploy/ci/program.sh"), version, filepath.Join(c.temp, "out"))
	}
	if out, code := get("v1.2.3"); code != 0 || c.read("out/cmp") != "released\n" {
		t.Errorf("%d: %s", code, out)
	}
	if out, code := get("v1.2.4"); code != 2 ||
		!strings.Contains(out, "https://releases.example.com/v1.2.4/checksums.txt cannot be downloaded; fix: name a version that was released") {
		t.Errorf("%d: %s", code, out)
	}
	must("rm out/cmp; echo more >>" + archive)
	if out, code := get("v1.2.3"); code != 2 ||
		!strings.Contains(out, "ladder_1.2.3_linux_arm64.tar.gz does not have the checksum in checksums.txt") || c.read("out/cmp") != "" {
		t.Errorf("%d: %s", code, out)
	}
	c.fake("go", `echo "go $*"`)
	if out, code := get("main"); code != 0 || !strings.HasSuffix(out, "build -o "+filepath.Join(c.temp, "out/cmp")+" ./cmd/cmp\n") {
		t.Errorf("%d: %s", code, out)
	}
}

// TestPreCommitHooks runs the entries of the hooks as pre-commit does.
func TestPreCommitHooks(t *testing.T) {
	var hooks []struct {
		ID          string   `yaml:"id"`
		Name        string   `yaml:"name"`
		Description string   `yaml:"description"`
		Language    string   `yaml:"language"`
		Entry       string   `yaml:"entry"`
		Args        []string `yaml:"args"`
		Files       string   `yaml:"files"`
		Serial      bool     `yaml:"require_serial"`
		Filenames   *bool    `yaml:"pass_filenames"`
	}
	strictly(t, "../../.pre-commit-hooks.yaml", &hooks)
	if len(hooks) != 2 || hooks[0].ID != "ladder-check" || hooks[1].ID != "ladder-fleet-lint" {
		t.Fatalf("%+v", hooks)
	}
	c := newCICheckout(t)
	files := regexp.MustCompile(hooks[0].Files)
	var changed []string
	for _, file := range []string{"README.md", "apps/shop/values.yaml", "apps/shop/templates/web.yaml", "apps/shop/templates/_names.tpl",
		"apps/bookshelf/kustomization.yaml"} {
		if files.MatchString(file) {
			changed = append(changed, file)
		}
	}
	for _, file := range []string{"apps/board/main.jsonnet", "apps/board/lib/names.libsonnet"} {
		if !files.MatchString(file) {
			t.Errorf("the hook is not for %s", file)
		}
	}
	if len(changed) != 4 {
		t.Errorf("the hook is for %v", changed)
	}
	entry := append(strings.Fields(hooks[0].Entry), hooks[0].Args...)
	if out, code := c.run(entry[0], append(entry[1:], changed...)...); code != 0 || !strings.Contains(out, " in 2 components\n") {
		t.Errorf("%d: %s", code, out)
	}
	c.edit("apps/shop/values.yaml", "replicas: 3", "replicas: three")
	if out, code := c.run(entry[0], append(entry[1:], changed...)...); code != 1 ||
		!strings.Contains(out, "error [bad-values]: apps/shop/values.yaml:") {
		t.Errorf("%d: %s", code, out)
	}
	if out, code := c.run(entry[0], append(entry[1:], "apps/bookshelf/kustomization.yaml", "apps/README.md")...); code != 0 ||
		!strings.Contains(out, " in 1 component\n") {
		t.Errorf("%d: %s", code, out)
	}
	lint := strings.Fields(hooks[1].Entry)
	if out, code := c.run(lint[0], append(lint[1:], "apps")...); code != 1 || !strings.Contains(out, "component.yaml") {
		t.Errorf("%d: %s", code, out)
	}
}
