package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ladder-cmp/ladder/finding"
	"github.com/ladder-cmp/ladder/nearest"
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
		Args:          oneOfItsCommands,
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
	root.AddCommand(newRender(s), newExplain(s), newGraph(s), newReport(s), newAnnotate(s), newFn(asItIs), newCheck(s), newLint(s), newDiff(s), newCRDs(s), newSplit(s), newHealth(s), newFleet(s), newInit(s), newDoctor(s), newVendor(s), newKnowledge(s), newCompletion(s), newMan(), newGenerate(asItIs), newServe(asItIs), newWorker(asItIs), newFetcher(asItIs), newVersion(s))
	for _, cmd := range root.Commands() {
		cmd.Args = asUsage(cmd.Args)
	}
	root.SetHelpCommand(newHelp())
	completable(root)
	return root
}

// oneOfItsCommands refuses a word where one of the commands below should be.
func oneOfItsCommands(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	near := nearest.New(args[0])
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			near.Add(sub.CommandPath(), sub.Name())
		}
	}
	return usageError{fmt.Errorf("there is no command %q; %ssee %s --help", cmd.CommandPath()+" "+args[0], near, cmd.CommandPath())}
}

func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Help about any command",
		Long:  `Print the help of a command, as that command does with --help.`,
		Example: `  cmp help render
  cmp help fleet lint`,
		ValidArgsFunction: func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			var names []string
			if at, rest, err := cmd.Root().Find(args); err == nil && len(rest) == 0 {
				for _, sub := range at.Commands() {
					if sub.IsAvailableCommand() {
						names = append(names, cobra.CompletionWithDesc(sub.Name(), sub.Short))
					}
				}
			}
			return begunWith(names, typed), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			at := cmd.Root()
			for _, name := range args {
				i := slices.IndexFunc(at.Commands(), func(sub *cobra.Command) bool { return sub.Name() == name })
				if i < 0 {
					return oneOfItsCommands(at, []string{name})
				}
				at = at.Commands()[i]
			}
			at.InitDefaultHelpFlag()
			return at.Help()
		},
	}
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
		var usage usageError
		if errors.As(err, &usage) {
			return err
		}
		if err != nil && strings.HasPrefix(err.Error(), "unknown command") {
			err = fmt.Errorf("%q is too much, since %s takes no arguments", args[0], cmd.CommandPath())
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
