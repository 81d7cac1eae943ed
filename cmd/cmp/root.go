package main

import (
	"cmp"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/build"
	"github.com/ladder-cmp/ladder/internal/complete"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/help"
	"github.com/ladder-cmp/ladder/internal/option"
	"github.com/ladder-cmp/ladder/internal/screen"
	"github.com/ladder-cmp/ladder/internal/usage"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // the input has errors, or the command failed
	exitUsage  = 2 // the command line is wrong
)

// exitCode makes a command that has printed its result exit with a code.
type exitCode int

func (c exitCode) Error() string { return errReported.Error() }

// run executes a command line and returns the exit code. It prints each error as one line on
// Err, and writes to Out only if the command succeeds.
func run(args []string, s streams) int {
	s.Memory = &maxMemory{}
	defer s.Memory.end()
	root := newRoot(s)
	s.Out, s.Err = root.OutOrStdout(), root.ErrOrStderr()
	root.SetArgs(args)
	err := root.Execute()
	if err == nil {
		return exitOK
	}
	if code := exitCode(exitFailed); errors.Is(err, errReported) || errors.As(err, &code) {
		return int(code)
	}
	for _, f := range finding.Of(err) {
		s.say("%s", f.Error())
	}
	if usage.Is(err) {
		return exitUsage
	}
	return exitFailed
}

func newRoot(s streams) *cobra.Command {
	color := screen.Auto
	s.Quiet = new(bool)
	plain := s // without colors, for commands whose output other programs read
	s.Out, s.Err = color.On(s.Out), color.On(s.Err)
	root := &cobra.Command{
		Use:   "cmp",
		Short: "Compute the sync waves of a component for Argo CD",
		Long: `cmp renders a component (a Helm chart, a kustomization, jsonnet, templated or plain
YAML), finds the dependencies between its objects, and adds Argo CD sync waves only where
Argo CD has to wait for an object before it applies another one.

Exit codes: 0 success; 1 invalid input, or findings of severity error in a command that
checks or plans, such as check, diff, doctor and fleet lint; 2 invalid command line.
Other commands print findings, and exit with 0 unless they cannot produce their output or
their help says otherwise.`,
		Example: `  cmp explain ./component
  cmp render ./component | kubectl apply --dry-run=server -f -`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	help.Parent(root)
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	root.Version = release
	root.SetVersionTemplate(help.WithProgramName(build.This(release).Text(), s.name()))
	root.Flags().Bool("version", false, "Print the version of the program, and of Helm, kustomize and Go in it")
	root.PersistentFlags().Var(&color, "color", "Color output: auto (terminals only), always or never")
	root.PersistentFlags().BoolVarP(s.Quiet, "quiet", "q", false, "Do not print warnings, notes or progress to standard error")
	memory := cmp.Or(s.Memory, &maxMemory{})
	root.PersistentFlags().Var(memory, "max-memory", "Memory limit in bytes; 0 means no limit (default: half the machine's)")
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return memory.watch(cmd, s) }
	_ = root.RegisterFlagCompletionFunc("max-memory", cobra.NoFileCompletions) // the flag exists
	option.Choices(root, "color", screen.ColorModes...)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if suggestion := option.Suggestion(cmd.Flags(), err); suggestion != "" {
			return usage.Errorf("%s; %s", option.Fault(err), suggestion)
		}
		return usage.Errorf("%s; see %s --help", option.Fault(err), cmd.CommandPath())
	})
	s.Root = root
	addCommands(root, s, plain)
	complete.All(root)
	root.SetUsageFunc(help.Usage)
	help.Collapse(root)
	if name := s.name(); name != root.Use {
		help.Name(root, name)
		root.Use = strings.ReplaceAll(name, "kubectl ", "kubectl-")
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: name}
	}
	return root
}
