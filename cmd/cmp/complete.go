package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/command"
	"github.com/ladder-cmp/ladder/fleet/profile"
	"github.com/ladder-cmp/ladder/internal/checkout"
	"github.com/ladder-cmp/ladder/internal/cli"
	"github.com/ladder-cmp/ladder/internal/cli/flags"
	"github.com/ladder-cmp/ladder/internal/fetch"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/locate"
	"github.com/ladder-cmp/ladder/knowledge"
)

// completeAll adds completion to every command below root: arguments by their names in the
// usage line, flags by name. Everything else completes to nothing, in particular
// not to files. cobra keeps completions as long as the process runs, and with them the commands:
// only a shell that asks for one needs them.
func completeAll(root *cobra.Command) { addTo(root, values()) }

func addTo(root *cobra.Command, values map[string]cobra.CompletionFunc) {
	for _, cmd := range root.Commands() {
		addTo(cmd, values)
		if cmd.ValidArgsFunction == nil && len(cmd.ValidArgs) == 0 {
			cmd.ValidArgsFunction = argumentsOf(cmd)
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if _, done := cmd.GetFlagCompletionFunc(f.Name); done || f.Value.Type() == "bool" {
				return
			}
			complete, known := values[f.Name]
			if own, ok := f.Value.(completer); ok {
				complete = own.Complete
			} else if !known {
				complete = cobra.NoFileCompletions
			}
			_ = cmd.RegisterFlagCompletionFunc(f.Name, complete) // the flag exists and has none
		})
	}
}

// completer is a value of a flag that knows its completion.
type completer interface {
	Complete(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective)
}

// argumentsOf completes the arguments in a usage line, in order. Dots mean that the
// last one may be repeated.
func argumentsOf(cmd *cobra.Command) cobra.CompletionFunc {
	var names []string
	for _, word := range strings.Fields(cmd.Use)[1:] {
		if word == "|" || strings.HasPrefix(strings.Trim(word, "[]"), "-") {
			break // flags, and alternative forms
		}
		names = append(names, strings.Trim(word, "[]"))
	}
	of := cmd.HasParent() && cmd.Parent().Name() == "fleet"
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		at := len(args)
		if last := len(names) - 1; last >= 0 && at > last && strings.Contains(names[last], "...") {
			at = last
		}
		if at >= len(names) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		if at == 0 && strings.Contains(cmd.Use, "RANGE") {
			return sidesOf(typed, of)
		}
		switch name := strings.TrimSuffix(names[at], "..."); {
		case name == "DIR" && of:
			return completePaths(typed, locate.DescribedKindOf, false)
		case name == "DIR":
			return completePaths(typed, locate.KindOf, false)
		case strings.HasSuffix(name, "|FILE|-"):
			return completePaths(typed, locate.KindOf, true)
		case name == "KIND/NAME":
			return objects(cmd, args, typed)
		case name == "GROUP":
			return completeKinds(cmd, args, typed)
		case name == "FILE":
			return completeManifestFiles(cmd, args, typed)
		case strings.HasSuffix(name, "DIR"):
			return completePaths(typed, locate.KindOf, false)
		}
		return nil, cobra.ShellCompDirectiveDefault
	}
}

// sidesOf completes the start of a comparison: a directory, or a branch or tag of
// the current repository, also as the end of a range.
func sidesOf(typed string, fleet bool) ([]string, cobra.ShellCompDirective) {
	wanted := locate.KindOf
	if fleet {
		wanted = locate.DescribedKindOf
	}
	all, directive := completePaths(typed, wanted, false)
	before := ""
	if left, right, ranged := strings.Cut(typed, ".."); ranged {
		before = left + ".."
		if strings.HasPrefix(right, ".") {
			before += "."
		}
	}
	repo, err := checkout.OpenRepository(checkout.GitRoot(checkout.WorkingDir()))
	if err != nil {
		return all, directive
	}
	for _, name := range repo.Names() {
		all = append(all, before+finding.Sanitize(name))
	}
	return withPrefix(all, typed), directive
}

// anyFile leaves completion to the shell.
var anyFile = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)

// withPrefix returns the choices with the typed prefix.
func withPrefix(all []string, typed string) []string {
	return slices.DeleteFunc(all, func(c string) bool { return !strings.HasPrefix(c, typed) })
}

// completePaths returns the directories with the typed prefix that are wanted, and, with a
// trailing slash, those that lead to one; if files is set, also manifests.
func completePaths(typed string, wanted func([]os.DirEntry) string, files bool) ([]string, cobra.ShellCompDirective) {
	if home, err := os.UserHomeDir(); err == nil && strings.HasPrefix(typed, home+"/") || strings.HasPrefix(typed, "~") {
		return nil, cobra.ShellCompDirectiveFilterDirs // perhaps a ~, which only the shell can restore
	}
	directive := cobra.ShellCompDirectiveNoFileComp
	var all []string
	for _, p := range locate.Paths(typed, wanted, files) {
		if p.HasComponents {
			directive |= cobra.ShellCompDirectiveNoSpace
		}
		if p.Kind != "" {
			p.Path = cobra.CompletionWithDesc(p.Path, p.Kind)
		}
		all = append(all, p.Path)
	}
	return all, directive
}

// completionTimeout is the timeout of a completion. Slower ones return nothing.
const completionTimeout = 2 * time.Second

// withTimeout returns the result of f, or nothing if it fails or is too slow, since a
// shell cannot show a message. The program ends right after, and f with it.
func withTimeout[T any](ctx context.Context, f func(context.Context) (T, error)) T {
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()
	log.SetOutput(io.Discard) // messages of libraries
	found := make(chan T, 1)
	go func() {
		defer close(found) // also if a library panics, so that nobody waits
		defer func() { _ = recover() }()
		if value, err := f(ctx); err == nil {
			found <- value
		}
	}()
	select {
	case value := <-found:
		return value
	case <-ctx.Done():
		var none T
		return none
	}
}

func newCompletion(s cli.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "completion " + strings.Join(shells, "|"),
		Short: "Print the completion script for a shell",
		Long: `Print the completion script for a shell. It completes commands, flags, their values,
components and objects; objects only if the component renders within ` + completionTimeout.String() + `.

  SHELL       COMMAND                                                        WHERE
  bash        source <(cmp completion bash)                                  in ~/.bashrc, with bash-completion
  zsh         source <(cmp completion zsh)                                   in ~/.zshrc, after compinit
  fish        cmp completion fish > ~/.config/fish/completions/cmp.fish      in a terminal, once
  powershell  cmp completion powershell | Out-String | Invoke-Expression     in $PROFILE`,
		Example: `  cmp completion bash > /etc/bash_completion.d/cmp
  cmp completion fish > ~/.config/fish/completions/cmp.fish`,
		Args:                  cli.OneOfValidArgs,
		ValidArgs:             shells,
		DisableFlagsInUseLine: true,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return completionScript(cmd.Root(), s.Out, args[0])
	}
	return cmd
}

// shells are the supported shells.
var shells = []string{"bash", "zsh", "fish", "powershell"}

// completionScript writes the completion script of a program for a shell.
func completionScript(root *cobra.Command, out io.Writer, shell string) error {
	switch shell {
	case "bash":
		return root.GenBashCompletionV2(out, true)
	case "fish":
		return root.GenFishCompletion(out, true)
	case "zsh":
		return root.GenZshCompletion(out)
	}
	return root.GenPowerShellCompletionWithDesc(out)
}

// completeProfilesOrFiles completes what a rollout can be compared with.
func completeProfilesOrFiles(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	var all []string
	for _, name := range profile.Names() {
		if p, err := profile.Builtin(name); err == nil && strings.HasPrefix(name, typed) {
			all = append(all, cobra.CompletionWithDesc(name, p.Why))
		}
	}
	if len(all) > 0 {
		return all, cobra.ShellCompDirectiveNoFileComp
	}
	return completeManifestFiles(nil, nil, typed)
}

func completeManifestFiles(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"yaml", "yml", "json"}, cobra.ShellCompDirectiveFilterFileExt
}

func completeDirectories(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

func completeRungs(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var all []string
	for _, r := range knowledge.Default().Rungs() {
		all = append(all, cobra.CompletionWithDesc(r.Name, fmt.Sprintf("wave %d: %s", r.Wave, r.Why)))
	}
	return all, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// completeKinds completes the known groups and kinds.
func completeKinds(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	base, err := flags.KnowledgeOf(cmd.Flag("ladder").Value.String())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var all []string
	for _, g := range base.Groups() {
		all = append(all, cobra.CompletionWithDesc(groupName(g.Name), g.Product))
		for _, k := range g.Kinds {
			if strings.Contains(k.Kind, "*") {
				continue
			}
			all = append(all, cobra.CompletionWithDesc(groupName(g.Name)+"/"+k.Kind, k.Why), cobra.CompletionWithDesc(k.Kind, k.Why))
		}
	}
	return withPrefix(all, typed), cobra.ShellCompDirectiveNoFileComp
}

// values complete flags with the same meaning in every command. Parameters of a rendering
// and formats define their own choices.
func values() map[string]cobra.CompletionFunc {
	all := map[string]cobra.CompletionFunc{
		"object":            objectsOrApplications,
		"against":           completeProfilesOrFiles,
		"fail":              applications,
		"only":              applications,
		"skip":              applications,
		"environment":       environments,
		"until":             completeSteps,
		"rung":              completeRungs,
		"log-format":        fixed("text", "json"),
		"log-level":         fixed("debug", "info", "warn", "error"),
		"remote-on-failure": fixed(string(fetch.Fail), string(fetch.UseCached)),
	}
	for _, of := range []struct {
		complete cobra.CompletionFunc
		flags    []string
	}{
		{completeManifestFiles, []string{"ladder", "file", "values", "durations", "check", "generator-values", "template"}},
		{completeDirectories, []string{"out", "dir", "plugin-dir", "path", "remote-cache", "remote-credentials", "remote-projects"}},
		{anyFile, []string{"set-file", "kubeconfig", "seed-file", "remote-ca"}},
	} {
		for _, flag := range of.flags {
			all[flag] = of.complete
		}
	}
	return all
}

func fixed(choices ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(choices, cobra.ShellCompDirectiveNoFileComp)
}

// objects returns the objects of the component in the preceding argument, if it renders in
// time.
func objects(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	in := flags.FromCompletion(cmd)
	found := withTimeout(cmd.Context(), func(ctx context.Context) ([]string, error) {
		cmd.SetContext(ctx)
		res, err := in.Generate(args[0])
		if err != nil {
			return nil, err
		}
		var all []string
		for _, row := range res.Plan.Table() {
			id := row.Object
			name := id.Kind + "/" + id.Name
			if len(res.Plan.Find(name)) > 1 {
				name = id.Kind + "/" + id.Namespace + "/" + id.Name
			}
			all = append(all, cobra.CompletionWithDesc(finding.Sanitize(name), "wave "+row.Wave+", "+finding.Sanitize(row.Why)))
		}
		return all, nil
	})
	return withPrefix(found, typed), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// fleetIn returns the fleet in directories, by default in the working directory, without
// rendering it. It is empty if it cannot be loaded in time.
func fleetIn(cmd *cobra.Command, dirs []string) *fleet.Fleet {
	if len(dirs) == 0 {
		dirs = []string{"."}
	}
	dirs, _ = checkout.WithoutFiles(dirs)
	f := withTimeout(cmd.Context(), func(ctx context.Context) (*fleet.Fleet, error) {
		all, err := command.Load(ctx, command.LoadOptions{Source: fleet.Source{SkipRendering: true}}, dirs)
		return all.Fleet, err
	})
	if f == nil {
		return &fleet.Fleet{}
	}
	return f
}

// objectsOrApplications returns the objects of a component, or the components of a fleet.
func objectsOrApplications(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if found, directive := objects(cmd, args, typed); len(found) > 0 {
		return found, directive
	}
	return applications(cmd, args, typed)
}

// applications returns the names of the deployed Applications.
func applications(cmd *cobra.Command, dirs []string, typed string) ([]string, cobra.ShellCompDirective) {
	var all []string
	f := fleetIn(cmd, dirs)
	for _, app := range f.Applications {
		all = append(all, cobra.CompletionWithDesc(finding.Sanitize(app.Name), strings.TrimSpace(f.FormatStep(app.Step)+" "+app.File)))
	}
	return withPrefix(all, typed), cobra.ShellCompDirectiveNoFileComp
}

func environments(cmd *cobra.Command, dirs []string, typed string) ([]string, cobra.ShellCompDirective) {
	var all []string
	for _, name := range fleetIn(cmd, dirs).Environments() {
		all = append(all, finding.Sanitize(name))
	}
	return withPrefix(all, typed), cobra.ShellCompDirectiveNoFileComp
}

// completeSteps returns the steps that have components.
func completeSteps(cmd *cobra.Command, dirs []string, typed string) ([]string, cobra.ShellCompDirective) {
	var all []string
	at := map[string][]string{}
	f := fleetIn(cmd, dirs)
	for _, app := range f.Applications {
		if step := f.FormatStep(app.Step); step != "" {
			if at[step] == nil {
				all = append(all, step)
			}
			at[step] = append(at[step], finding.Sanitize(app.Name))
		}
	}
	for i, step := range all {
		all[i] = cobra.CompletionWithDesc(step, strings.Join(at[step], ", "))
	}
	return withPrefix(all, typed), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// completeCommands completes the name of a command, one word at a time.
func completeCommands(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	var names []string
	if at, rest, err := cmd.Root().Find(args); err == nil && len(rest) == 0 {
		for _, sub := range at.Commands() {
			if sub.IsAvailableCommand() {
				names = append(names, cobra.CompletionWithDesc(sub.Name(), sub.Short))
			}
		}
	}
	return withPrefix(names, typed), cobra.ShellCompDirectiveNoFileComp
}
