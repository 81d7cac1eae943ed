package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ladder-cmp/ladder/finding"
)

// streams are what a command reads and where it writes: results to Out, all
// else to Err.
type streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // the input is wrong, or the work could not be done
	exitUsage  = 2 // the command line is wrong
)

// usageError marks a fault of the command line.
type usageError struct{ error }

// Unwrap lets each fault of several have a line of its own.
func (u usageError) Unwrap() error { return u.error }

// run executes a command line and returns the exit code. Every fault becomes
// one line on Err; nothing is written to Out unless all went well.
func run(args []string, s streams) int {
	root := newRoot(s)
	s.Out, s.Err = root.OutOrStdout(), root.ErrOrStderr()
	root.SetArgs(args)
	err := root.Execute()
	if err == nil {
		return exitOK
	}
	if errors.Is(err, errReported) {
		return exitFailed
	}
	for _, f := range finding.Of(err) {
		fmt.Fprintf(s.Err, "cmp: %s\n", f.Error())
	}
	var usage usageError
	if errors.As(err, &usage) {
		return exitUsage
	}
	return exitFailed
}

func newRoot(s streams) *cobra.Command {
	colour := lookAuto
	asItIs := s // for those whose output programs read
	s = colour.on(s)
	root := &cobra.Command{
		Use:   "cmp",
		Short: "Compute the sync waves of a component for Argo CD",
		Long: `cmp renders a component directory (a Helm chart, a kustomization, templated or
plain YAML) and computes the Argo CD sync wave of every object from what the
objects are and what they refer to.

As the Config Management Plugin "ladder" it does so when Argo CD syncs.`,
		Example: `  cmp explain ./component
  cmp render ./component | kubectl apply --dry-run=server -f -`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cmd.Help()
		},
	}
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	root.PersistentFlags().Var(&colour, "color", "When there are colours: auto for on terminals only, always or never")
	choices(root, "color", looks...)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%s; see %s --help", flagFault(err), cmd.CommandPath())}
	})
	root.AddCommand(newRender(s), newExplain(s), newGraph(s), newReport(s), newAnnotate(s), newFn(asItIs), newCheck(s), newLint(s), newDiff(s), newCRDs(s), newSplit(s), newHealth(s), newFleet(s), newInit(s), newDoctor(s), newVendor(s), newKnowledge(s), newCompletion(s), newMan(), newGenerate(asItIs), newServe(asItIs), newWorker(asItIs), newVersion(s))
	for _, cmd := range root.Commands() {
		cmd.Args = asUsage(cmd.Args)
	}
	root.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return usageError{fmt.Errorf("there is no command %q; see cmp --help", args[0])}
		}
		return nil
	}
	completable(root)
	return root
}

// flagFault says what is wrong with a flag, without the function that found it.
func flagFault(err error) string {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err.Error()
	}
	wants := "a number"
	switch invalid.GetFlag().Value.Type() {
	case "bool":
		wants = "true or false"
	case "duration":
		wants = "a time such as 30s"
	case "stringSlice":
		wants = "a list such as a,b"
	case "when":
		wants = strings.Join(looks, ", ")
	}
	return fmt.Sprintf("--%s: got %q, want %s", invalid.GetFlag().Name, invalid.GetValue(), wants)
}

// asUsage turns the complaints about arguments into usage errors.
func asUsage(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		err := check(cmd, args)
		if err != nil && strings.HasPrefix(err.Error(), "unknown command") {
			err = fmt.Errorf("%q is too much, since it takes no arguments", args[0])
		}
		if err != nil {
			return usageError{fmt.Errorf("%w; usage: %s", err, strings.TrimSpace(cmd.UseLine()))}
		}
		return nil
	}
}

// warn writes the findings that left a result possible.
func warn(s streams, all []finding.Finding) {
	for _, f := range all {
		fmt.Fprintf(s.Err, "cmp: %s: %s\n", f.Severity, f.Error())
	}
}
