package main

import (
	"bytes"
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/ladder-cmp/ladder/internal/cli"
)

// manualPages writes the manual pages, of the date SOURCE_DATE_EPOCH.
func manualPages(t *testing.T, dir string) {
	t.Helper()
	seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	root := newRoot(cli.Streams{Name: "ladder"}, &maxMemory{})
	root.DisableAutoGenTag = true
	if err := writeManual(root, dir, time.Unix(seconds, 0).UTC()); err != nil {
		t.Fatal(err)
	}
}

// writeManual writes the pages of a command and its subcommands.
func writeManual(cmd *cobra.Command, dir string, date time.Time) error {
	for _, sub := range cmd.Commands() {
		if !sub.IsAvailableCommand() || sub.IsAdditionalHelpTopicCommand() {
			continue
		}
		if err := writeManual(sub, dir, date); err != nil {
			return err
		}
	}
	var page bytes.Buffer
	if err := doc.GenMan(cmd, &doc.GenManHeader{Section: "1", Source: "Ladder", Manual: "Ladder"}, &page); err != nil {
		return err
	}
	file := filepath.Join(dir, strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".1")
	return os.WriteFile(file, inOrder(page.Bytes(), date), 0o644)
}

func inOrder(page []byte, date time.Time) []byte {
	page = pageMonth.ReplaceAll(page, []byte(`$1 "`+date.Format(time.DateOnly)+`"`))
	return flagMeaning.ReplaceAll(page, []byte(".TP\n$1\n$2"))
}

// Output of the library that is unusual in man pages: only the month as the date,
// and a tab before the description of a flag.
var (
	pageMonth   = regexp.MustCompile(`(?m)^(\.TH "[^"]*" "[^"]*") "[^"]*"`)
	flagMeaning = regexp.MustCompile(`(?m)^(?:\.PP\n)?(\\fB-.*)\n\t(.*)$`)
)

// TestManFiles writes the manual pages, of a release if LADDER_MAN names a directory. Each
// command has a page, which names its flags and has the date that it was told.
func TestManFiles(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", cmp.Or(os.Getenv("SOURCE_DATE_EPOCH"), "1767322800")) // 2026-01-02
	dir := cmp.Or(os.Getenv("LADDER_MAN"), t.TempDir())
	manualPages(t, dir)
	for path, cmd := range commands() {
		name := "ladder" + strings.TrimPrefix(strings.ReplaceAll(path, " ", "-"), "cmp")
		text, err := os.ReadFile(filepath.Join(dir, name+".1"))
		if err != nil {
			t.Error(err)
			continue
		}
		page := strings.ReplaceAll(string(text), `\-`, "-")
		for _, part := range []string{`.TH "` + strings.ToUpper(name) + `" "1" "20`, `" "Ladder" "Ladder"`, cmd.Short, ".SH EXAMPLE"} {
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
