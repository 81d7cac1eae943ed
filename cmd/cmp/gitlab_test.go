//go:build jq

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// fakeCurl keeps the notes of a merge request, like GitLab: a page of a hundred by
// others, and then those of the job. The token must not be on the command line.
const fakeCurl = `
config=$(cat)
case "$config" in *"PRIVATE-TOKEN: secret"*) ;; *) echo "no token" >&2; exit 1 ;; esac
echo "curl $*" >>"$FAKE/calls"
for arg; do case $arg in body@*) cp "${arg#body@}" "$FAKE/body" ;; esac; done
case "$*" in
*secret*) exit 1 ;;
*"-X POST https://gitlab.example.com/api/v4/projects/7/merge_requests/12/notes "*) cp "$FAKE/body" "$FAKE/note" ;;
*"-X PUT https://gitlab.example.com/api/v4/projects/7/merge_requests/12/notes/4711 "*) cp "$FAKE/body" "$FAKE/note" ;;
*"/api/v4/user") echo '{"id": 9}' ;;
*"page=1") jq -n '[range(100) | {id: ., author: {id: 9}, body: "something else"}]' ;;
*"page=2") if [ -e "$FAKE/note" ]; then jq -Rs '[{id: 4711, author: {id: 9}, body: .}]' <"$FAKE/note"; else echo '[]'; fi ;;
*) exit 1 ;;
esac
`

// TestGitLab plays the job of the GitLab template. It needs jq, as the job does,
// and so runs with -tags jq only.
func TestGitLab(t *testing.T) {
	if _, err := exec.LookPath("jq"); err != nil {
		t.Fatal("jq is missing; apt-get install jq")
	}
	var template map[string]struct {
		Stage     string              `yaml:"stage"`
		Image     string              `yaml:"image"`
		Rules     []map[string]string `yaml:"rules"`
		Variables map[string]string   `yaml:"variables"`
		Before    []string            `yaml:"before_script"`
		Script    []string            `yaml:"script"`
		Artifacts struct {
			When  string   `yaml:"when"`
			Paths []string `yaml:"paths"`
		} `yaml:"artifacts"`
	}
	strictly(t, "../../deploy/ci/gitlab/ladder.gitlab-ci.yml", &template)
	job, ok := template[".ladder"]
	if !ok || len(template) != 1 || len(job.Rules) != 1 {
		t.Fatalf("%+v", template)
	}
	c := newCICheckout(t)
	c.fake("curl", fakeCurl)
	base, _ := c.run("git", "rev-parse", "HEAD~1")
	play := func(wantCode int, wantCalls ...string) string {
		t.Helper()
		os.Remove(filepath.Join(c.temp, "calls"))
		run := *c
		run.env = append(run.env, "FAKE="+c.temp, "LADDER_TOKEN=secret", "LADDER_HOME="+c.home,
			"CI_API_V4_URL=https://gitlab.example.com/api/v4", "CI_PROJECT_ID=7",
			"CI_MERGE_REQUEST_IID=12", "CI_MERGE_REQUEST_DIFF_BASE_SHA="+strings.TrimSpace(base))
		for name, value := range job.Variables {
			run.env = append(run.env, name+"="+value)
		}
		run.env = append(run.env, "LADDER_COMPONENTS=apps/*")
		// A runner runs the lines in one shell, which ends where one fails. The
		// program is that of the test, and not what before_script builds.
		script := strings.ReplaceAll(strings.Join(job.Script, "\n"), "LADDER_CMP=$LADDER_HOME/dist/cmp", "LADDER_CMP=cmp")
		out, code := run.run("bash", "-e", "-o", "pipefail", "-c", script)
		if code != wantCode {
			t.Fatalf("exit code %d, want %d:\n%s", code, wantCode, out)
		}
		c.called(wantCalls...)
		return out
	}
	play(0, "/user", "page=1", "page=2", "-X POST")
	if body := c.read("note"); !strings.HasPrefix(body, "<!-- ladder  -->\n") || !strings.Contains(body, "+   spec.replicas: 3") {
		t.Errorf("the note is\n%s", body)
	}
	c.edit("apps/shop/values.yaml", "replicas: 3", "replicas: 4")
	play(0, "/user", "page=1", "page=2", "-X PUT")
	if body := c.read("note"); !strings.Contains(body, "+   spec.replicas: 4") {
		t.Errorf("the note is\n%s", body)
	}
	c.edit("apps/shop/values.yaml", "replicas: 4", "replicas: four")
	play(1, "/user", "page=1", "page=2", "-X PUT")
	c.edit("apps/shop/values.yaml", "replicas: four", "replicas: 2")
	play(0, "/user", "page=1", "page=2", "-X PUT")
	if body := c.read("note"); !strings.Contains(body, "no difference any more") {
		t.Errorf("the note is\n%s", body)
	}
}
