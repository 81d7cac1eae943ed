//go:build jq

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fakeHub answers as gh does, from a file of comments: the filter of the caller chooses. Whatever
// is written is noted, and fails if the file of that name exists.
const fakeHub = `
echo gh $* >>"$FAKE/calls"
if [ -e "$FAKE/refuse" ]; then echo "gh: Resource not accessible by integration (HTTP 403)" >&2; exit 1; fi
case "$*" in
*"query("*)
	while [ $# -gt 1 ]; do
		if [ "$1" = --jq ]; then filter=$2; fi
		shift
	done
	jq '{data: {repository: {pullRequest: {comments: {nodes: .}}}}}' <"$FAKE/comments" | jq -r "${filter:?}" ;;
*) if [ -e "$FAKE/readonly" ]; then echo "gh: Forbidden (HTTP 403)" >&2; exit 1; fi ;;
esac
`

// fakeLab is the same for curl and GitLab.
const fakeLab = `
cat >/dev/null
echo "curl $*" >>"$FAKE/calls"
if [ -e "$FAKE/refuse" ]; then echo "curl: (22) The requested URL returned error: 401" >&2; exit 22; fi
case "$*" in
*/user) cat "$FAKE/user" ;;
*"page="*) cat "$FAKE/comments" ;;
*) if [ -e "$FAKE/readonly" ]; then echo "curl: (22) The requested URL returned error: 403" >&2; exit 22; fi ;;
esac
`

// TestForeignComments: a comment of another user that begins with the marker is left alone, and
// whether a comment can be written does not decide how the pipeline ends.
func TestForeignComments(t *testing.T) {
	hosts := map[string]struct {
		fake, program, script              string
		foreign, own, post, update, quoted string
	}{
		"GitHub": {fakeHub, "gh", "github-comment.sh",
			`{"id": "F", "viewerDidAuthor": false, "body": "<!-- ladder  -->\nmine now"}`,
			`{"id": "OWN", "viewerDidAuthor": true, "body": "<!-- ladder  -->\nold"}`,
			"gh api --silent -X POST repos/o/r/issues/5/comments ",
			"gh api graphql --silent -f id=OWN ", `{"id": "Q", "viewerDidAuthor": true, "body": "> <!-- ladder  -->"}`},
		"GitLab": {fakeLab, "curl", "gitlab-comment.sh",
			`{"id": 111, "author": {"id": 1}, "body": "<!-- ladder  -->\nmine now"}`,
			`{"id": 222, "author": {"id": 9}, "body": "<!-- ladder  -->\nold"}`,
			"-X POST https://lab/api/v4/projects/7/merge_requests/5/notes ", "-X PUT https://lab/api/v4/projects/7/merge_requests/5/notes/222 ",
			`{"id": 3, "author": {"id": 9}, "body": "> <!-- ladder  -->"}`},
	}
	for name, h := range hosts {
		for _, tt := range []struct {
			name, comments, flag, user, want string
			warns                            bool
		}{
			{"only the other's", h.foreign, "", "", h.post, false},
			{"the other's first", h.foreign + "," + h.own, "", "", h.update, false},
			{"many of others", strings.Repeat(h.foreign+",", 90) + h.own, "", "", h.update, false},
			{"a quotation", h.quoted, "", "", h.post, false},
			{"the user is gone", `{"id": 4, "author": null, "viewerDidAuthor": false, "body": "<!-- ladder  -->"}`, "", "", h.post, false},
			{"may not write", h.own, "readonly", "", h.update, true},
			{"may not write a new one", "", "readonly", "", h.post, true},
			{"may not read", h.own, "refuse", "", "", true},
			{"not JSON", h.own + "]", "", "", "", true},
			{"the host does not know the user", h.foreign, "", `{"message": "x"}`, h.post, false},
		} {
			t.Run(name+"/"+tt.name, func(t *testing.T) {
				t.Parallel()
				c := newCICheckout(t)
				c.fake(h.program, h.fake)
				user := tt.user
				if user == "" {
					user = `{"id": 9}`
				} else if name == "GitLab" {
					tt.want, tt.warns = "", true
				}
				for file, text := range map[string]string{"comments": "[" + tt.comments + "]", "user": user,
					"ladder.md": "a difference\n", tt.flag: ""} {
					if err := os.WriteFile(filepath.Join(c.temp, file), []byte(text), 0o600); file != "" && err != nil {
						t.Fatal(err)
					}
				}
				c.env = append(c.env, "FAKE="+c.temp, "GH_TOKEN=token", "GITHUB_REPOSITORY=o/r", "LADDER_PULL=5", "LADDER_TOKEN=secret",
					"CI_API_V4_URL=https://lab/api/v4", "CI_PROJECT_ID=7", "CI_MERGE_REQUEST_IID=5")
				out, code := c.run(filepath.Join(c.home, "deploy/ci", h.script), filepath.Join(c.temp, "ladder.md"))
				if code != 0 || strings.Contains(out, "could not") != tt.warns {
					t.Errorf("exit code %d:\n%s", code, out)
				}
				calls := c.read("calls")
				if tt.want != "" && !strings.Contains(calls, tt.want) {
					t.Errorf("no call %q:\n%s", tt.want, calls)
				}
				for _, write := range []string{h.post, h.update, "=F ", "=Q ", "notes/111", "notes/3 "} {
					if write != tt.want && strings.Contains(calls, write) {
						t.Errorf("a call %q:\n%s", write, calls)
					}
				}
			})
		}
	}
}
