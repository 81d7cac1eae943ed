package main

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/fleet/command"
	"github.com/ladder-cmp/ladder/internal/cli"
	"github.com/ladder-cmp/ladder/internal/finding"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // the input has errors, or the command failed
	exitUsage  = 2 // the command line is wrong
)

// exitCode makes a command that has printed its result exit with a code.
type exitCode int

func (c exitCode) Error() string { return cli.ErrReported.Error() }

// run executes a command line and returns the exit code. It prints each error as one line on
// Err, and writes to Out only if the command succeeds.
func run(args []string, s cli.Streams) int {
	s.Release, s.Rules = release, rules
	memory := &maxMemory{}
	defer memory.end()
	root := newRoot(s, memory, args...)
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		completeAll(root)
	}
	s.Out, s.Err = root.OutOrStdout(), root.ErrOrStderr()
	root.SetArgs(args)
	err := root.Execute()
	if err == nil {
		return exitOK
	}
	if code := exitCode(exitFailed); errors.Is(err, cli.ErrReported) || errors.As(err, &code) {
		return int(code)
	}
	for _, f := range finding.Of(err) {
		s.Say("%s", f.Error())
	}
	if finding.IsUsage(err) {
		return exitUsage
	}
	return exitFailed
}

// newRoot returns the program with all commands. Of those that a command line does not name, it has
// only the names: to build all of them takes longer than many a command does.
func newRoot(s cli.Streams, memory *maxMemory, args ...string) *cobra.Command {
	color := cli.Auto
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
	cli.OnlyParent(root)
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	root.Version = release
	root.SetVersionTemplate(cli.WithProgramName(cli.ThisBuild(release).Text(), s.CalledAs()))
	root.Flags().Bool("version", false, "Print the version of the program, and of Helm, kustomize and Go in it")
	root.PersistentFlags().Var(&color, "color", "Color output: auto (terminals only), always or never")
	root.PersistentFlags().BoolVarP(s.Quiet, "quiet", "q", false, "Do not print warnings, notes or progress to standard error")
	root.PersistentFlags().Var(memory, "max-memory", "Memory limit in bytes; 0 means no limit (default: half the machine's)")
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return memory.watch(cmd, s) }
	_ = root.RegisterFlagCompletionFunc("max-memory", cobra.NoFileCompletions) // the flag exists
	cli.Choices(root, "color", cli.ColorModes...)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if suggestion := cli.Suggestion(cmd.Flags(), err); suggestion != "" {
			return finding.Usagef("%s; %s", cli.Fault(err), suggestion)
		}
		return finding.Usagef("%s; see %s --help", cli.Fault(err), cmd.CommandPath())
	})
	s.Root = root
	addCommands(root, s, plain, args)
	root.SetUsageFunc(cli.PrintUsage)
	cli.Collapse(root)
	if name := s.CalledAs(); name != root.Use {
		cli.Rename(root, name)
		root.Use = strings.ReplaceAll(name, "kubectl ", "kubectl-")
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: name}
	}
	return root
}

// groups are the commands by group of the root's help, and those that it does not list. Those that
// other programs call have no colors.
var groups = []struct {
	id, title string
	plain     bool
	commands  []named
}{
	{"order", "Render and order:", false, []named{{"render", newRender}, {"explain", newExplain}, {"graph", newGraph}}},
	{"check", "Check and compare:", false, []named{{"check", newCheck}, {"diff", newDiff}}},
	{"write", "Components and fleets:", false, []named{
		{"init", newInit}, {"crds", newCRDs}, {"vendor", newVendor}, {"seed", newSeed}, {"fleet", command.New}}},
	{"install", "Install in Argo CD:", false, []named{
		{"install", newInstall}, {"doctor", newDoctor}, {"health", newHealth}, {"why", newWhy}}},
	{cli.Unlisted, "For Argo CD:", true, []named{{"generate", newGenerate}, {"serve", newServe}}},
	{"", "", false, []named{{"knowledge", newKnowledge}, {"completion", newCompletion}}},
	{"", "", true, []named{{workerName, newWorker}, {fetcherName, newFetcher}}},
}

type named struct {
	name string
	new  func(cli.Streams) *cobra.Command
}

func addCommands(root *cobra.Command, s, plain cli.Streams, args []string) {
	one := ""
	for _, group := range groups {
		if len(args) > 0 && slices.ContainsFunc(group.commands, func(c named) bool { return c.name == args[0] }) {
			one = args[0]
		}
	}
	for _, group := range groups {
		if group.id != "" {
			root.AddGroup(&cobra.Group{ID: group.id, Title: group.title})
		}
		streams := s
		if group.plain {
			streams = plain
		}
		for _, c := range group.commands {
			cmd := &cobra.Command{Use: c.name}
			if one == "" || one == c.name {
				cmd = c.new(streams)
			}
			cmd.GroupID = group.id
			root.AddCommand(cmd)
		}
	}
	root.SetHelpCommand(newHelp())
}

func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Help about any command",
		Long:  `Print the help of a command, as that command does with --help.`,
		Example: `  cmp help render
  cmp help fleet lint`,
		ValidArgsFunction: completeCommands,
		RunE:              func(cmd *cobra.Command, args []string) error { return cli.ShowHelp(cmd.Root(), args) },
	}
}
