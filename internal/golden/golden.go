// Package golden compares the results of tests with files, and rewrites these files
// with -update. It finds renderings of real charts, which are not part of the project
// but next to it, in ../shared/corpus; tests that need them are skipped with a message
// if they are missing. Fixtures of several packages are here, too. MemoryFactor is for tests
// with the race detector.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// Tests allocate much and end soon: each collection saved is time that the next test has.
func init() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}

var update = flag.Bool("update", false, "rewrite the expected results")

// Update reports whether to rewrite the files.
func Update() bool { return *update }

// File compares a text with a file.
func File(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; run with -update", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

// Archives runs a case for each txtar file that matches the pattern. The first file
// of an archive is the input; the others are the expected result.
func Archives(t *testing.T, pattern string, run func(t *testing.T, in txtar.File) []txtar.File) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases in %s: %v", pattern, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			ar.Files = append(ar.Files[:1], run(t, ar.Files[0])...)
			File(t, file, string(txtar.Format(ar)))
		})
	}
}

// Text returns a file of an archive.
func Text(name, text string) txtar.File { return txtar.File{Name: name, Data: []byte(text)} }
