package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

func newMan() *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write the manual pages",
		Long: `Write a manual page for each command to DIR: cmp.1, cmp-render.1, cmp-fleet-lint.1
and so on. Their date is SOURCE_DATE_EPOCH, or that of the commit that the program
was built from.

The first is called like the page of the tool of diffutils that compares files;
a directory of its own keeps both.`,
		Example: `  mkdir -p ~/ladder/man1 && cmp man ~/ladder/man1
  man -M ~/ladder cmp-fleet-lint`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := isThere(args[0]); err != nil {
				return err
			}
			root := cmd.Root()
			root.DisableAutoGenTag = true
			return writePages(root, args[0], pageDate())
		},
	}
}

// pageDate is the same for the same build.
func pageDate() time.Time {
	if epoch, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64); err == nil {
		return time.Unix(epoch, 0).UTC()
	}
	if at, err := time.Parse(time.RFC3339, thisBuild().Date); err == nil {
		return at
	}
	return time.Now()
}

// writePages writes the page of a command and of those below it.
func writePages(cmd *cobra.Command, dir string, date time.Time) error {
	for _, sub := range cmd.Commands() {
		if !sub.IsAvailableCommand() || sub.IsAdditionalHelpTopicCommand() {
			continue
		}
		if err := writePages(sub, dir, date); err != nil {
			return err
		}
	}
	var page bytes.Buffer
	if err := doc.GenMan(cmd, &doc.GenManHeader{Section: "1", Source: "Ladder", Manual: "Ladder"}, &page); err != nil {
		return err
	}
	file := filepath.Join(dir, strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".1")
	if err := writeFile(file, inOrder(page.Bytes(), date)); err != nil {
		return fmt.Errorf("%s: %s; name a directory to write to", dir, reason(err))
	}
	return nil
}

// What the library writes in a way that man pages do not have: the month alone as
// the date, and a tab before the meaning of a flag.
var (
	pageMonth   = regexp.MustCompile(`(?m)^(\.TH "[^"]*" "[^"]*") "[^"]*"`)
	flagMeaning = regexp.MustCompile(`(?m)^(?:\.PP\n)?(\\fB-.*)\n\t(.*)$`)
)

func inOrder(page []byte, date time.Time) []byte {
	page = pageMonth.ReplaceAll(page, []byte(`$1 "`+date.Format(time.DateOnly)+`"`))
	return flagMeaning.ReplaceAll(page, []byte(".TP\n$1\n$2"))
}
