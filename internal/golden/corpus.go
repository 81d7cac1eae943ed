package golden

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// WholeCorpus reports whether property tests should use the whole corpus instead of a
// fixed sample.
func WholeCorpus() bool { return os.Getenv("LADDER_CORPUS") == "whole" }

// EachChart runs a case for every rendered chart that is not empty.
func EachChart(t *testing.T, run func(t *testing.T, text string)) {
	t.Helper()
	every(t, 1, run)
}

// SomeCharts runs a case for every third rendered chart, or for every one if Whole is
// set, for testing properties.
func SomeCharts(t *testing.T, run func(t *testing.T, text string)) {
	t.Helper()
	if WholeCorpus() {
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
			continue // charts that render nothing by default
		}
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml.gz"), func(t *testing.T) { run(t, text) })
	}
}

// Experts runs a case for every real component with handwritten waves, without
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

// LargestChart returns the longest rendering.
func LargestChart(tb testing.TB) string {
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

// beside finds files next to the project from any package.
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

// texts keeps what read returned: each chart is the input of several tests of a package.
var texts sync.Map

func read(t testing.TB, file string) string {
	t.Helper()
	if text, known := texts.Load(file); known {
		return text.(string)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if _, err := io.Copy(&text, z); err != nil {
		t.Fatal(err)
	}
	texts.Store(file, text.String())
	return text.String()
}
