package plugin_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/golden"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/plugin"
	"github.com/ladder-cmp/ladder/wave"
)

const olmDir = "../testdata/olm"

// TestOperatorsOfCatalogs renders components with Subscriptions: "cmp check" has no
// error on the order, and has one as soon as it is reversed. e2e syncs the same
// components both ways.
func TestOperatorsOfCatalogs(t *testing.T) {
	entries, err := os.ReadDir(olmDir)
	if err != nil {
		t.Fatal(err)
	}
	names := slices.DeleteFunc(entries, func(e os.DirEntry) bool { return !e.IsDir() })
	if len(names) != 10 {
		t.Errorf("%d components, want 10", len(names))
	}
	for _, e := range names {
		t.Run(e.Name(), func(t *testing.T) {
			req := request(e.Name())
			req.Repo = os.DirFS(olmDir)
			res, err := plugin.Generate(context.Background(), req, knowledge.Default())
			if err != nil {
				t.Fatal(err)
			}
			golden.File(t, filepath.Join(olmDir, e.Name()+".want.txt"), explain(res))
			if errors := errorsOf(t, res.YAML()); len(errors) > 0 {
				t.Errorf("in Ladder's order: %v", errors)
			}
			late := errorsOf(t, reversed(t, res.YAML()))
			if !slices.ContainsFunc(late, func(f finding.Finding) bool { return f.Rule == "late" }) {
				t.Errorf("in the reversed order: %v, and none of them is late", late)
			}
		})
	}
}

// errorsOf are the errors of "cmp check" on manifests.
func errorsOf(t *testing.T, text string) []finding.Finding {
	t.Helper()
	objs, err := object.Parse("rendered.yaml", 1, text)
	if err != nil {
		t.Fatal(err)
	}
	res, err := plugin.Annotate(objs, knowledge.Default(), nil, plugin.Settings{Waves: wave.Off})
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(slices.Clone(res.Findings), func(f finding.Finding) bool { return f.Severity != finding.Error })
}

var writtenWave = regexp.MustCompile(`(argocd\.argoproj\.io/sync-wave"?: ")(-?[0-9]+)"`)

// reversed turns the order of the waves around.
func reversed(t *testing.T, text string) string {
	t.Helper()
	var waves []int
	for _, m := range writtenWave.FindAllStringSubmatch(text, -1) {
		wave, err := strconv.Atoi(m[2])
		if err != nil {
			t.Fatal(err)
		}
		waves = append(waves, wave)
	}
	if len(waves) == 0 {
		t.Fatal("there are no waves to reverse")
	}
	ends := slices.Min(waves) + slices.Max(waves)
	return writtenWave.ReplaceAllStringFunc(text, func(written string) string {
		m := writtenWave.FindStringSubmatch(written)
		wave, _ := strconv.Atoi(m[2])
		return fmt.Sprintf("%s%d\"", m[1], ends-wave)
	})
}
