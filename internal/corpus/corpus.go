// Package corpus finds what real charts render to. The files lie beside the
// project, in ../shared/corpus, and not in it; tests that need them are
// skipped, and say so, where they are absent.
package corpus

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Each runs a case for every rendered chart that holds anything. root is the
// way from the package of the test to the root of the project.
func Each(t *testing.T, root string, run func(t *testing.T, text string)) {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(root, "../shared/corpus/*.yaml.gz"))
	if len(files) == 0 {
		t.Skip("SKIPPED: no rendered charts in ../shared/corpus beside the project")
	}
	for _, file := range files {
		text := read(t, file)
		if text == "" {
			continue // charts that render nothing without values
		}
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml.gz"), func(t *testing.T) { run(t, text) })
	}
}

// Experts runs a case for every real component whose owner wrote waves by hand, without
// these waves.
func Experts(t *testing.T, root string, run func(t *testing.T, text string)) {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(root, "../shared/experts/*/in.yaml.gz"))
	if len(files) == 0 {
		t.Skip("SKIPPED: no components in ../shared/experts beside the project")
	}
	for _, file := range files {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) { run(t, read(t, file)) })
	}
}

// Largest returns the longest rendering.
func Largest(tb testing.TB, root string) string {
	tb.Helper()
	files, _ := filepath.Glob(filepath.Join(root, "../shared/corpus/*.yaml.gz"))
	if len(files) == 0 {
		tb.Skip("SKIPPED: no rendered charts in ../shared/corpus beside the project")
	}
	longest := ""
	for _, file := range files {
		if text := read(tb, file); len(text) > len(longest) {
			longest = text
		}
	}
	return longest
}

func read(t testing.TB, file string) string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
