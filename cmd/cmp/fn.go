package main

import (
	"bytes"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/inputs"
	"github.com/ladder-cmp/ladder/internal/krm"
	"github.com/ladder-cmp/ladder/internal/ladderfile"
	"github.com/ladder-cmp/ladder/internal/usage"
)

func newFn(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:    "fn",
		Hidden: true,
		Short:  "Add sync waves to a ResourceList, as cmp annotate does",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage.Errorf("cmp fn reads standard input and takes no %s; use cmp annotate %s", args[0], args[0])
			}
			return nil
		},
	}
	cmd.RunE = func(*cobra.Command, []string) error { return function(s, s.In) }
	return cmd
}

// function returns the command that runs as a KRM function.
func function(s streams, in io.Reader) error {
	base, err := ladderfile.Base("")
	if err != nil {
		return err
	}
	list, findings, err := krm.Run(in, base, inputs.Ordering)
	if _, writing := s.Out.Write(list); writing != nil {
		return writing
	}
	if err != nil {
		return err
	}
	warn(s, findings)
	for _, f := range findings {
		if f.Severity == finding.Error {
			return errReported
		}
	}
	return nil
}

// peek reads the input to annotate, standard input or a file, and reports whether it is a
// ResourceList. rest is the same input to read again. Unreadable input is not a ResourceList.
func peek(stdin io.Reader, file string) (list bool, rest io.Reader) {
	if file != "-" {
		text, err := os.ReadFile(file)
		return err == nil && krm.IsList(text), bytes.NewReader(text)
	}
	text, err := io.ReadAll(stdin)
	rest = bytes.NewReader(text)
	if err != nil {
		rest = io.MultiReader(rest, stdin) // which fails again
	}
	return err == nil && krm.IsList(text), rest
}
