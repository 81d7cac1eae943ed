package main

import (
	"errors"

	"github.com/ladder-cmp/ladder/internal/option"
	"github.com/ladder-cmp/ladder/internal/verdict"
)

// The formats of a report.
const (
	reportText  = verdict.Text
	reportJSON  = verdict.JSON
	reportSARIF = verdict.SARIF
)

// errReported ends a command whose report, on standard output, says what is
// wrong.
var errReported = errors.New("the report holds errors")

func knownReport(format string) error {
	return option.KnownFormat(format, reportText, reportJSON, reportSARIF)
}
