package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/fetch"
	"github.com/ladder-cmp/ladder/finding"
	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/profile"
	"github.com/ladder-cmp/ladder/render"
	"github.com/ladder-cmp/ladder/revision"
)

// shells are those that completion scripts are for.
var shells = []struct {
	name  string
	write func(root *cobra.Command, out io.Writer, described bool) error
}{
	{"bash", (*cobra.Command).GenBashCompletionV2},
	{"zsh", func(root *cobra.Command, out io.Writer, described bool) error {
		if described {
			return root.GenZshCompletion(out)
		}
		return root.GenZshCompletionNoDesc(out)
	}},
	{"fish", (*cobra.Command).GenFishCompletion},
	{"powershell", func(root *cobra.Command, out io.Writer, described bool) error {
		if described {
			return root.GenPowerShellCompletionWithDesc(out)
		}
		return root.GenPowerShellCompletion(out)
	}},
}

func newCompletion(s streams) *cobra.Command {
	var names []string
	for _, shell := range shells {
		names = append(names, shell.name)
	}
	cmd := &cobra.Command{
		Use:   "completion " + strings.Join(names, "|"),
		Short: "Print the script that lets a shell complete commands",
		Long: `Print the script that lets a shell complete commands, flags, their values,
components and objects. Objects are completed where the component renders within
` + patience.String() + `; of a fleet nothing is rendered.

In bash, with the package bash-completion, this line in ~/.bashrc loads it:

  source <(cmp completion bash)

In zsh, this line in ~/.zshrc behind compinit:

  source <(cmp completion zsh)

In fish, the script is a file that fish finds by itself:

  cmp completion fish > ~/.config/fish/completions/cmp.fish

In PowerShell, this line in the file that $PROFILE names:

  cmp completion powershell | Out-String | Invoke-Expression`,
		Example: `  cmp completion bash > /etc/bash_completion.d/cmp
  cmp completion fish > ~/.config/fish/completions/cmp.fish`,
		Args:                  cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs:             names,
		DisableFlagsInUseLine: true,
	}
	bare := cmd.Flags().Bool("no-descriptions", false, "Complete without a word on each choice")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return shells[slices.Index(names, args[0])].write(cmd.Root(), s.Out, !*bare)
	}
	return cmd
}

// patience is how long somebody waits who has pressed the key. What takes longer
// completes nothing.
const patience = 2 * time.Second

// within returns what f finds in time, and nothing if it fails: a shell has no
// place for a message. The program ends right after, and f with it.
func within[T any](ctx context.Context, f func(context.Context) (T, error)) T {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	log.SetOutput(io.Discard) // of libraries
	found := make(chan T, 1)
	go func() {
		defer close(found) // also where a library panics: nobody is to wait for it
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

// completable lets the shell complete every command below root: arguments by
// what its usage line calls them, flags by their names. What is neither a file
// nor a choice completes to nothing, and above all not to files.
func completable(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		completable(cmd)
		if cmd.ValidArgsFunction == nil && len(cmd.ValidArgs) == 0 {
			cmd.ValidArgsFunction = argumentsOf(cmd)
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if _, done := cmd.GetFlagCompletionFunc(f.Name); done || f.Value.Type() == "bool" {
				return
			}
			complete, known := flagValues[f.Name]
			if !known {
				complete = cobra.NoFileCompletions
			}
			_ = cmd.RegisterFlagCompletionFunc(f.Name, complete) // the flag is there, and has none
		})
	}
}

// argumentsOf completes the arguments that the usage line of a command names, in
// their order. The last one may be given again if dots follow it.
func argumentsOf(cmd *cobra.Command) cobra.CompletionFunc {
	var names []string
	for _, word := range strings.Fields(cmd.Use)[1:] {
		if word == "|" || strings.HasPrefix(strings.Trim(word, "[]"), "-") {
			break // flags, and other ways to call it
		}
		names = append(names, strings.Trim(word, "[]"))
	}
	of := cmd.HasParent() && cmd.Parent().Name() == "fleet"
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		at := len(args)
		if last := len(names) - 1; last >= 0 && at > last && strings.HasSuffix(names[last], "...") {
			at = last
		}
		if at >= len(names) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		if at == 0 && strings.Contains(cmd.Use, "REV") {
			return sidesOf(typed, of)
		}
		switch name := strings.TrimSuffix(names[at], "..."); {
		case name == "DIR" && of:
			return places(typed, areDescribed, false)
		case name == "DIR":
			return places(typed, isComponent, false)
		case name == "DIR|FILE|-":
			return places(typed, isComponent, true)
		case name == "KIND/NAME":
			return objects(cmd, args, typed)
		case name == "GROUP":
			return kinds(cmd, args, typed)
		case name == "FILE":
			return manifestFiles(cmd, args, typed)
		case strings.HasSuffix(name, "DIR"):
			return places(typed, isComponent, false)
		}
		return nil, cobra.ShellCompDirectiveDefault
	}
}

// sidesOf are what a comparison begins with: a directory, or a branch or a tag of
// the repository around the working directory, also as the end of a range.
func sidesOf(typed string, fleet bool) ([]string, cobra.ShellCompDirective) {
	wanted := isComponent
	if fleet {
		wanted = areDescribed
	}
	all, directive := places(typed, wanted, false)
	before := ""
	if left, right, ranged := strings.Cut(typed, ".."); ranged {
		before = left + ".."
		if strings.HasPrefix(right, ".") {
			before += "."
		}
	}
	repo, err := revision.Open(gitRoot(workingDir()))
	if err != nil {
		return all, directive
	}
	for _, name := range repo.Names() {
		all = append(all, before+finding.Harmless(name))
	}
	return begunWith(all, typed), directive
}

// anyFile leaves it to the shell.
var anyFile = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)

// flagValues complete flags that mean the same with every command. Parameters of
// a rendering and formats have their choices with them.
var flagValues = map[string]cobra.CompletionFunc{
	"ladder": manifestFiles, "values": manifestFiles, "durations": manifestFiles, "check": manifestFiles, "argocd-cm": manifestFiles,
	"out": folders, "dir": folders, "plugin-dir": folders, "compare": folders, "path": folders,
	"components": folders, "libs": folders, "remote-cache": folders, "remote-credentials": folders, "remote-projects": folders,
	"set-file": anyFile, "kubeconfig": anyFile, "remote-ca": anyFile, "remote-verify": manifestFiles,
	"object":            objects,
	"component":         applications,
	"fail":              applications,
	"environment":       environments,
	"until":             phases,
	"rung":              rungs,
	"log-format":        cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp),
	"log-level":         cobra.FixedCompletions([]string{"debug", "info", "warn", "error"}, cobra.ShellCompDirectiveNoFileComp),
	"remote-on-failure": cobra.FixedCompletions([]string{string(fetch.Fail), string(fetch.UseCached)}, cobra.ShellCompDirectiveNoFileComp),
	"health-check":      cobra.FixedCompletions([]string{"configmap", "values"}, cobra.ShellCompDirectiveNoFileComp),
}

// choices are the values that a flag of a command takes.
func choices(cmd *cobra.Command, flag string, values ...string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)) // the flag is there
}

// formatFlag is the flag for the format of an output, the usual one first.
func formatFlag(cmd *cobra.Command, what string, known ...string) *string {
	format := cmd.Flags().StringP("output", "o", known[0], what+": "+anyOf(known))
	choices(cmd, "output", known...)
	return format
}

// knownFormat refuses a format that a command does not write.
func knownFormat(format string, known ...string) error {
	if slices.Contains(known, format) {
		return nil
	}
	return usageError{fmt.Errorf("there is no format %q; use %s", format, anyOf(known))}
}

// anyOf lists two or more choices as a sentence does.
func anyOf(all []string) string {
	last := len(all) - 1
	return strings.Join(all[:last], ", ") + " or " + all[last]
}

// profilesOrFiles are what a rollout can be compared with.
func profilesOrFiles(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	var all []string
	for _, name := range profile.Names() {
		if p, err := profile.Builtin(name); err == nil && strings.HasPrefix(name, typed) {
			all = append(all, cobra.CompletionWithDesc(name, p.Why))
		}
	}
	if len(all) > 0 {
		return all, cobra.ShellCompDirectiveNoFileComp
	}
	return manifestFiles(nil, nil, typed)
}

func manifestFiles(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"yaml", "yml", "json"}, cobra.ShellCompDirectiveFilterFileExt
}

func folders(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

func rungs(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var all []string
	for _, r := range knowledge.Default().Ladder() {
		all = append(all, cobra.CompletionWithDesc(r.Name, fmt.Sprintf("wave %d: %s", r.Wave, r.Why)))
	}
	return all, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// kinds are the groups and kinds of which something is known.
func kinds(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	base, err := knowledgeBase(cmd.Flag("ladder").Value.String())
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
	return begunWith(all, typed), cobra.ShellCompDirectiveNoFileComp
}

// begunWith are those of the choices that go on with what was typed.
func begunWith(all []string, typed string) []string {
	return slices.DeleteFunc(all, func(c string) bool { return !strings.HasPrefix(c, typed) })
}

// objects are those of the component that is named before, if it renders in time.
func objects(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	in := &inputs{flags: cmd.Flags(), ladder: new(string)}
	if ladder := cmd.Flag("ladder"); ladder != nil {
		*in.ladder = ladder.Value.String()
	}
	found := within(cmd.Context(), func(ctx context.Context) ([]string, error) {
		cmd.SetContext(ctx)
		res, err := in.generate(cmd, args[0])
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
			all = append(all, cobra.CompletionWithDesc(finding.Harmless(name), "wave "+row.Wave+", "+finding.Harmless(row.Why)))
		}
		return all, nil
	})
	return begunWith(found, typed), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// described is a fleet as its files describe it, of which nothing is rendered.
func described(cmd *cobra.Command, dirs []string) *fleet.Fleet {
	if len(dirs) == 0 {
		dirs = []string{"."}
	}
	return within(cmd.Context(), func(ctx context.Context) (*fleet.Fleet, error) {
		in := fleetInputs{source: fleet.Source{Unrendered: true}, ladder: new(string)}
		cmd.SetContext(ctx)
		return in.load(cmd, streams{Err: io.Discard}, dirs)
	})
}

// applications are the names of what the fleet deploys.
func applications(cmd *cobra.Command, dirs []string, typed string) ([]string, cobra.ShellCompDirective) {
	var all []string
	if f := described(cmd, dirs); f != nil {
		for _, app := range f.Applications {
			all = append(all, cobra.CompletionWithDesc(finding.Harmless(app.Name), strings.TrimSpace(f.Write(app.Phase)+" "+app.File)))
		}
	}
	return begunWith(all, typed), cobra.ShellCompDirectiveNoFileComp
}

func environments(cmd *cobra.Command, dirs []string, typed string) ([]string, cobra.ShellCompDirective) {
	var all []string
	if f := described(cmd, dirs); f != nil {
		for _, name := range f.Environments() {
			all = append(all, finding.Harmless(name))
		}
	}
	return begunWith(all, typed), cobra.ShellCompDirectiveNoFileComp
}

// phases are those at which something stands.
func phases(cmd *cobra.Command, dirs []string, typed string) ([]string, cobra.ShellCompDirective) {
	var all []string
	if f := described(cmd, dirs); f != nil {
		at := map[string][]string{}
		for _, app := range f.Applications {
			if phase := f.Write(app.Phase); phase != "" {
				if at[phase] == nil {
					all = append(all, phase)
				}
				at[phase] = append(at[phase], finding.Harmless(app.Name))
			}
		}
		for i, phase := range all {
			all[i] = cobra.CompletionWithDesc(phase, strings.Join(at[phase], ", "))
		}
	}
	return begunWith(all, typed), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// isComponent says what kind of component the entries of a directory make it;
// empty if none.
func isComponent(entries []os.DirEntry) string {
	found := ""
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		switch kind := render.Sign(e.Name()); {
		case kind == render.Helm:
			return string(kind) // before all others
		case kind == render.Kustomize:
			found = string(kind)
		case e.Name() == component.File && found == "":
			found = "component"
		case kind != "" && found == "":
			found = string(kind)
		}
	}
	return found
}

// areDescribed says whether the directories in one are components that describe
// themselves.
func areDescribed(entries []os.DirEntry) string {
	for _, e := range entries {
		if !e.IsDir() && e.Name() == component.File {
			return "component"
		}
	}
	return ""
}

// glance is how many entries of a file system are looked at for each directory
// that is offered.
const glance = 500

// places are the directories that go on with what was typed and are wanted, and,
// with a slash behind them, those that lead to one; with files, manifests, too.
func places(typed string, wanted func([]os.DirEntry) string, files bool) ([]string, cobra.ShellCompDirective) {
	if home, err := os.UserHomeDir(); err == nil && strings.HasPrefix(typed, home+"/") || strings.HasPrefix(typed, "~") {
		return nil, cobra.ShellCompDirectiveFilterDirs // perhaps a ~, which only the shell can put back
	}
	parent, begun := filepath.Split(typed)
	entries, err := os.ReadDir(filepath.Clean(parent)) // "" is the working directory
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var all []string
	if kind := wanted(entries); kind != "" && typed == "" {
		all = append(all, cobra.CompletionWithDesc(".", kind))
	}
	directive := cobra.ShellCompDirectiveNoFileComp
	for _, e := range entries {
		name := parent + e.Name()
		switch {
		case !strings.HasPrefix(e.Name(), begun) || strings.HasPrefix(e.Name(), ".") && begun == "":
		case strings.ContainsAny(e.Name(), "\t\n"): // which the shells read as something else
		case isDir(name):
			below, _ := os.ReadDir(name)
			if kind := wanted(below); kind != "" {
				all = append(all, cobra.CompletionWithDesc(name, kind))
			} else if budget := glance; leads(name, wanted, &budget) {
				all = append(all, name+"/")
				directive |= cobra.ShellCompDirectiveNoSpace
			}
		case files && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name)):
			all = append(all, name)
		}
	}
	return all, directive
}

// leads reports whether there is something wanted below a directory, as far as
// the budget lets it look. If that ends first, there may be.
func leads(dir string, wanted func([]os.DirEntry) string, budget *int) bool {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	if *budget -= len(entries); wanted(entries) != "" || *budget < 0 {
		return true
	}
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		return e.IsDir() && !strings.HasPrefix(e.Name(), ".") && leads(filepath.Join(dir, e.Name()), wanted, budget)
	})
}
