package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/build"
	"github.com/ladder-cmp/ladder/internal/complete"
	"github.com/ladder-cmp/ladder/internal/deprecated"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/option"
	"github.com/ladder-cmp/ladder/internal/screen"
	"github.com/ladder-cmp/ladder/internal/usage"
)

// streams are what a command reads and where it writes: results to Out, all
// else to Err.
type streams struct {
	In       io.Reader
	Out, Err io.Writer
	// Name is what the program is called by; cmp if empty.
	Name string
}

// name is what the program is called by.
func (s streams) name() string { return cmp.Or(s.Name, "cmp") }

// say writes a line for people.
func (s streams) say(format string, args ...any) {
	fmt.Fprintf(s.Err, "%s: %s\n", s.name(), spelled(fmt.Sprintf(format, args...), s.name()))
}

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // the input is wrong, or the work could not be done
	exitUsage  = 2 // the command line is wrong
)

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
		s.say("%s", f.Error())
	}
	if usage.Is(err) {
		return exitUsage
	}
	return exitFailed
}

func newRoot(s streams) *cobra.Command {
	colour := screen.Auto
	asItIs := s // for those whose output programs read
	s.Out, s.Err = colour.On(s.Out), colour.On(s.Err)
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
	root.Version = release
	root.SetVersionTemplate(build.This(release).Text())
	root.Flags().Bool("version", false, "Print the version, as cmp version does")
	root.PersistentFlags().Var(&colour, "color", "Colour output: auto (terminals only), always or never")
	option.Choices(root, "color", screen.Looks...)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if question := option.Suggestion(cmd.Flags(), err); question != "" {
			return usage.Errorf("%s; %s", option.Fault(err), question)
		}
		return usage.Errorf("%s; see %s --help", option.Fault(err), cmd.CommandPath())
	})
	root.AddCommand(newRender(s), newExplain(s), newGraph(s), newReport(s), newAnnotate(s), newFn(asItIs), newCheck(s), newLint(s), newDiff(s), newCRDs(s), newSplit(s), newHealth(s), newFleet(s), newInit(s), newDoctor(s), newInstall(s), newVendor(s), newSeed(s), newKnowledge(s), newCompletion(s), newMan(), newGenerate(asItIs), newServe(asItIs), newWorker(asItIs), newFetcher(asItIs), newVersion(s))
	for _, cmd := range root.Commands() {
		cmd.Args = asUsage(cmd.Args)
	}
	root.SetHelpCommand(newHelp())
	complete.All(root, flagValues, objects)
	acceptOldFlags(root, s)
	if name := s.name(); name != root.Use {
		callItself(root, name)
		root.Use = strings.ReplaceAll(name, "kubectl ", "kubectl-")
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: name}
	}
	return root
}

// acceptOldFlags lets the flags of a command and those below it be given by their old
// names, with a warning.
func acceptOldFlags(cmd *cobra.Command, s streams) {
	deprecated.Accept(cmd.Flags(), func(old, replacement string) {
		warn(s, []finding.Finding{{Severity: finding.Warning, Rule: "deprecated", Field: "--" + old, Message: "the flag is deprecated", Remedy: "use --" + replacement}})
	})
	for _, sub := range cmd.Commands() {
		acceptOldFlags(sub, s)
	}
}

// emit prints what was made, if nothing went wrong.
func emit(s streams, text string, err error) error {
	if err == nil {
		_, err = io.WriteString(s.Out, text)
	}
	return err
}

// warn writes the findings that left a result possible.
func warn(s streams, all []finding.Finding) {
	for _, f := range all {
		s.say("%s: %s", screen.PaintFor(s.Err).Severity(f.Severity), f.Error())
	}
}

// note writes what is worth knowing beside a result.
func note(s streams, format string, args ...any) {
	s.say("%s: %s", screen.PaintFor(s.Err).Severity(finding.Note), fmt.Sprintf(format, args...))
}
