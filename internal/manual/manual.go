// Package manual generates manual pages.
package manual

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

	"github.com/ladder-cmp/ladder/internal/build"
	"github.com/ladder-cmp/ladder/internal/wholefile"
)

// Write writes the pages of a command and its subcommands.
func Write(cmd *cobra.Command, dir string, date time.Time) error {
	for _, sub := range cmd.Commands() {
		if !sub.IsAvailableCommand() || sub.IsAdditionalHelpTopicCommand() {
			continue
		}
		if err := Write(sub, dir, date); err != nil {
			return err
		}
	}
	var page bytes.Buffer
	if err := doc.GenMan(cmd, &doc.GenManHeader{Section: "1", Source: "Ladder", Manual: "Ladder"}, &page); err != nil {
		return err
	}
	file := filepath.Join(dir, strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".1")
	if err := wholefile.WriteFile(file, inOrder(page.Bytes(), date), 0o644); err != nil {
		return fmt.Errorf("%s: %s; name a directory to write to", dir, wholefile.Reason(err))
	}
	return nil
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

// Date returns the date of the pages, which is reproducible: SOURCE_DATE_EPOCH, or
// the date of the commit.
func Date(release string) time.Time {
	if epoch, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64); err == nil {
		return time.Unix(epoch, 0).UTC()
	}
	if at, err := time.Parse(time.RFC3339, build.This(release).Date); err == nil {
		return at
	}
	return time.Now()
}
