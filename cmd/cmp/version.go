package main

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/build"
	"github.com/ladder-cmp/ladder/internal/help"
	"github.com/ladder-cmp/ladder/internal/option"
)

// release is the version of the program, set by -ldflags in a release build.
var release = "dev"

func newVersion(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of the program, and of Helm, kustomize and Go in it",
		Long: `Print the version and commit of the program, and the versions of Helm, kustomize, Go and
Argo CD's plugin protocol that it is built with.`,
		Example: `  cmp version
  cmp version -o json | jq -r .helm`,
		Args: option.Args(0, 0),
	}
	format := option.Format(cmd, "Format", reportText, reportJSON)
	cmd.RunE = func(*cobra.Command, []string) error {
		b := build.This(release)
		if *format == reportJSON {
			return writeJSON(s, b)
		}
		return s.emit(help.WithProgramName(b.Text(), s.name()), nil)
	}
	return cmd
}

// writeJSON prints a value as JSON.
func writeJSON(s streams, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	return s.emit(string(text)+"\n", err)
}
