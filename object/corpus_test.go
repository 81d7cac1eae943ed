package object

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// corpus lists the rendered charts that lie beside the project; a test that
// needs them is skipped, and says so, where they are absent.
func corpus(t testing.TB) []string {
	t.Helper()
	files, _ := filepath.Glob("../../shared/corpus/*.yaml.gz")
	if len(files) == 0 {
		t.Skip("SKIPPED: no rendered charts in ../shared/corpus beside the project")
	}
	return files
}

func gunzip(t testing.TB, file string) string {
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
