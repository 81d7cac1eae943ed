package krm_test

import (
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/golden"
	"github.com/ladder-cmp/ladder/internal/krm"
	"github.com/ladder-cmp/ladder/knowledge"
)

var ordering = []string{"namespace", "waves", "author-waves", "explain", "jobs", "hooks", "tests", "crds", "crds-prune"}

// TestRun runs the function on the list in each archive of testdata. What comes
// out of it again is the same.
func TestRun(t *testing.T) {
	golden.Archives(t, "testdata/*.txtar", func(t *testing.T, in txtar.File) []txtar.File {
		list, findings, err := krm.Run(strings.NewReader(string(in.Data)), knowledge.Default(), ordering)
		var told strings.Builder
		for _, f := range append(findings, finding.Of(err)...) {
			told.WriteString(string(f.Severity) + ": " + f.Error() + "\n")
		}
		if err == nil {
			again, _, err := krm.Run(strings.NewReader(string(list)), knowledge.Default(), ordering)
			if err != nil {
				t.Fatal(err)
			}
			before, _, _ := strings.Cut(string(list), "\nresults:")
			if after, _, _ := strings.Cut(string(again), "\nresults:"); after != before {
				t.Errorf("the second run changes the items:\n%s", after)
			}
		}
		return []txtar.File{golden.Text("list.yaml", string(list)), golden.Text("findings.txt", told.String())}
	})
}
