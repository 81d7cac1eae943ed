//go:build manpages

package main

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestManualPages has the two programs that read manual pages say what is wrong
// with ours. It needs man-db with groff, and mandoc.
func TestManualPages(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("SOURCE_DATE_EPOCH", "1767322800")
	manualPages(t, dir)
	pages, err := filepath.Glob(filepath.Join(dir, "*.1"))
	if err != nil || len(pages) < 20 {
		t.Fatalf("there are %d pages: %v", len(pages), err)
	}
	if out, err := exec.Command("mandoc", append([]string{"-Tlint", "-Wwarning"}, pages...)...).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("mandoc: %v\n%s", err, out)
	}
	for _, page := range pages {
		cmd := exec.Command("man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", page)
		cmd.Env = append(cmd.Environ(), "LC_ALL=C.UTF-8", "MANWIDTH=80")
		var warnings bytes.Buffer // the page itself goes to standard output
		cmd.Stderr = &warnings
		if err := cmd.Run(); err != nil || warnings.Len() > 0 {
			t.Errorf("man: %s: %v\n%s", filepath.Base(page), err, warnings.String())
		}
	}
}
