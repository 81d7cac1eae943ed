package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestManFiles makes sure that each command has a page, which names its flags
// and has the date that it was told.
func TestManFiles(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1767322800") // 2026-01-02
	dir := t.TempDir()
	if code := run([]string{"man", dir}, streams{Out: io.Discard, Err: os.Stderr}); code != exitOK {
		t.Fatal(code)
	}
	for path, cmd := range commands() {
		name := strings.ReplaceAll(path, " ", "-")
		text, err := os.ReadFile(filepath.Join(dir, name+".1"))
		if err != nil {
			t.Error(err)
			continue
		}
		page := strings.ReplaceAll(string(text), `\-`, "-")
		for _, part := range []string{`.TH "` + strings.ToUpper(name) + `" "1" "2026-01-02" "Ladder" "Ladder"`, cmd.Short, ".SH EXAMPLE"} {
			if !strings.Contains(page, part) {
				t.Errorf("%s.1 does not have %q", name, part)
			}
		}
		for _, line := range strings.Split(page, "\n") {
			if strings.HasPrefix(line, "\t") {
				t.Errorf("%s.1: a tab in filled text: %q", name, line)
			}
		}
		if flag := cmd.LocalNonPersistentFlags().Lookup("output"); flag != nil && !strings.Contains(page, ".TP\n\\fB-o\\fP, \\fB--output\\fP") {
			t.Errorf("%s.1 does not list -o", name)
		}
	}
}
