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

// Whole reports whether tests of properties are to try all that there is. They take a
// sample of it otherwise, which is the same each time.
func Whole() bool { return os.Getenv("LADDER_CORPUS") == "whole" }

// Each runs a case for every rendered chart that holds anything.
func Each(t *testing.T, run func(t *testing.T, text string)) {
	t.Helper()
	every(t, 1, run)
}

// Some runs a case for every third of the rendered charts, and for every one if all are
// wanted: for properties that hold of each.
func Some(t *testing.T, run func(t *testing.T, text string)) {
	t.Helper()
	if Whole() {
		every(t, 1, run)
	} else {
		every(t, 3, run)
	}
}

func every(t *testing.T, step int, run func(t *testing.T, text string)) {
	t.Helper()
	files := beside(t, "corpus/*.yaml.gz")
	if len(files) == 0 {
		t.Skip("SKIPPED: no rendered charts in ../shared/corpus beside the project")
	}
	for i, file := range files {
		if i%step != 0 {
			continue
		}
		text := read(t, file)
		if text == "" {
			continue // charts that render nothing without values
		}
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml.gz"), func(t *testing.T) { run(t, text) })
	}
}

// Experts runs a case for every real component whose owner wrote waves by hand, without
// these waves.
func Experts(t *testing.T, run func(t *testing.T, text string)) {
	t.Helper()
	files := beside(t, "experts/*/in.yaml.gz")
	if len(files) == 0 {
		t.Skip("SKIPPED: no components in ../shared/experts beside the project")
	}
	for _, file := range files {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) { run(t, read(t, file)) })
	}
}

// Largest returns the longest rendering.
func Largest(tb testing.TB) string {
	tb.Helper()
	files := beside(tb, "corpus/*.yaml.gz")
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

// beside finds files beside the project, wherever in it the package of the test is.
func beside(tb testing.TB, pattern string) []string {
	tb.Helper()
	root, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			break
		}
		if root == filepath.Dir(root) {
			tb.Fatal("no go.mod in the directories above the test")
		}
		root = filepath.Dir(root)
	}
	files, err := filepath.Glob(filepath.Join(root, "../shared", pattern))
	if err != nil {
		tb.Fatal(err)
	}
	return files
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
