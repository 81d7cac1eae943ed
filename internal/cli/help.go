package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Section is a section of flags in the help of a command.
type Section string

// The sections. A flag that is in none is one of the command itself.
const (
	OwnFlags       Section = ""
	RenderingFlags Section = "Rendering"
	FleetFlags     Section = "Fleet"
	WaveFlags      Section = "Sync wave"
	SeedFlags      Section = "Seed"
	FetchingFlags  Section = "Fetching"
)

// sections are in the order of the help. Those of the long tail are collapsed.
var sections = []struct {
	Section
	tail bool
}{{OwnFlags, false}, {FleetFlags, false}, {RenderingFlags, false}, {WaveFlags, true}, {SeedFlags, true}, {FetchingFlags, true}}

// annotation names the section of a flag.
const annotation = "section"

// PutFlags puts flags into a section.
func PutFlags(flags *pflag.FlagSet, in Section, names ...string) {
	for _, name := range names {
		_ = flags.SetAnnotation(name, annotation, []string{string(in)}) // the flag is there
	}
}

// DefineFlags adds the flags that a function defines to a section.
func DefineFlags(flags *pflag.FlagSet, in Section, define func(*pflag.FlagSet)) {
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	own.SortFlags = false // the command's are sorted
	define(own)
	own.VisitAll(func(f *pflag.Flag) {
		flags.AddFlag(f)
		PutFlags(flags, in, f.Name)
	})
}

// SectionOf is the section of a flag.
func SectionOf(f *pflag.Flag) Section {
	if in := f.Annotations[annotation]; len(in) == 1 {
		return Section(in[0])
	}
	return OwnFlags
}

// list names what a flag takes.
const list = "list"

// SetList adds rows, each a name, a tab and a text, to the help with all flags: what the flag takes.
func SetList(f *pflag.Flag, rows []string) {
	if f.Annotations == nil {
		f.Annotations = map[string][]string{}
	}
	f.Annotations[list] = rows
}

// listOf is what SetList added.
func listOf(f *pflag.Flag) []string { return f.Annotations[list] }

// lists are what flags take, one part for each flag that has a list.
func lists(cmd *cobra.Command) (parts []string) {
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if rows := listOf(f); len(rows) > 0 {
			text := "For --" + f.Name + ":\n"
			for _, row := range rows {
				name, about, _ := strings.Cut(row, "\t")
				text += fmt.Sprintf("  %-28s %s\n", name, about)
			}
			parts = append(parts, text)
		}
	})
	return parts
}

// allFlag shows all flags.
const allFlag = "help-all"

// manyFlags is how many flags a command may have without any of them being collapsed.
const manyFlags = 20

// Collapse lets a command and those below it collapse their long tail of flags.
func Collapse(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		Collapse(sub)
	}
	if n, _ := tail(cmd.Flags()); n == 0 { // only its own: nothing is parsed yet
		return
	}
	cmd.InitDefaultHelpFlag()
	cmd.Flags().Var(&showAll{cmd: cmd}, allFlag, "Help with all flags")
	cmd.Flags().Lookup(allFlag).NoOptDefVal = "true"
	cmd.Flags().Lookup(allFlag).Hidden = true // the help has a line about it
}

// tail counts the flags that are collapsed and names their sections.
func tail(local *pflag.FlagSet) (flags int, names []string) {
	all := 0
	count := map[Section]int{}
	local.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			all++
			count[SectionOf(f)]++
		}
	})
	if all <= manyFlags {
		return 0, nil
	}
	for _, s := range sections {
		if s.tail && count[s.Section] > 0 {
			flags += count[s.Section]
			names = append(names, string(s.Section))
		}
	}
	return flags, names
}

// showAll is the value of --help-all, which is --help and more.
type showAll struct {
	cmd *cobra.Command
	on  bool
}

// String implements pflag.Value.
func (a *showAll) String() string { return fmt.Sprint(a.on) }

// Type implements pflag.Value.
func (a *showAll) Type() string { return "bool" }

// Set implements pflag.Value.
func (a *showAll) Set(value string) error {
	a.on = value == "true"
	return a.cmd.Flags().Set("help", value)
}

// PrintUsage prints what follows the description of a command in its help.
func PrintUsage(cmd *cobra.Command) error {
	parts := []string{usageLines(cmd)}
	if cmd.HasExample() {
		parts = append(parts, "Examples:\n"+cmd.Example+"\n")
	}
	parts = append(parts, commands(cmd)...)
	parts = append(parts, flags(cmd)...)
	if wantsAll(cmd) {
		parts = append(parts, lists(cmd)...)
	}
	if n, names := tail(cmd.LocalFlags()); n > 0 && !wantsAll(cmd) {
		parts = append(parts, fmt.Sprintf("Use %q for %d more flags: %s.\n", cmd.CommandPath()+" --"+allFlag, n, strings.Join(names, ", ")))
	}
	if cmd.HasAvailableSubCommands() {
		parts = append(parts, fmt.Sprintf("Use %q for more information about a command.\n", cmd.CommandPath()+" COMMAND --help"))
	}
	_, err := fmt.Fprint(cmd.OutOrStderr(), strings.Join(parts, "\n"))
	return err
}

func usageLines(cmd *cobra.Command) string {
	text := "Usage:\n"
	if cmd.Runnable() && (!cmd.HasAvailableSubCommands() || strings.Contains(cmd.Use, " ")) {
		text += "  " + cmd.UseLine() + "\n"
	}
	if cmd.HasAvailableSubCommands() {
		text += "  " + cmd.CommandPath() + " COMMAND\n"
	}
	return text
}

// Unlisted is the ID of the group of commands that people rarely run. The help names them in
// one line.
const Unlisted = "unlisted"

// commands lists those below a command, by group.
func commands(cmd *cobra.Command) []string {
	if !cmd.HasAvailableSubCommands() {
		return nil
	}
	groups := cmd.Groups()
	if !cmd.AllChildCommandsHaveGroup() {
		title := "Commands:"
		if len(groups) > 0 {
			title = "Other commands:"
		}
		groups = append(groups, &cobra.Group{Title: title})
	}
	var parts, unlisted []string
	for _, group := range groups {
		text, names := group.Title+"\n", []string(nil)
		for _, sub := range cmd.Commands() {
			if sub.GroupID == group.ID && sub.IsAvailableCommand() {
				text += fmt.Sprintf("  %-*s %s\n", sub.NamePadding(), sub.Name(), sub.Short)
				names = append(names, sub.Name())
			}
		}
		if group.ID == Unlisted {
			unlisted = append(unlisted, group.Title+" "+strings.Join(names, ", ")+"\n")
			continue
		}
		parts = append(parts, text)
	}
	return append(parts, unlisted...)
}

// flags lists the flags of a command by section.
func flags(cmd *cobra.Command) []string {
	n, _ := tail(cmd.LocalFlags())
	var parts []string
	for _, s := range sections {
		if s.tail && n > 0 && !wantsAll(cmd) {
			continue
		}
		title := "Flags:"
		if s.Section != OwnFlags {
			title = string(s.Section) + " flags:"
		}
		parts = append(parts, listed(title, cmd.LocalFlags(), func(f *pflag.Flag) bool { return SectionOf(f) == s.Section })...)
	}
	return append(parts, listed("Global flags:", cmd.InheritedFlags(), func(*pflag.Flag) bool { return true })...)
}

// listed is a section of those of the flags that are in it; nil without any.
func listed(title string, flags *pflag.FlagSet, in func(*pflag.Flag) bool) []string {
	some := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && in(f) {
			some.AddFlag(f)
		}
	})
	if !some.HasFlags() {
		return nil
	}
	return []string{title + "\n" + some.FlagUsages()}
}

func wantsAll(cmd *cobra.Command) bool {
	f := cmd.Flags().Lookup(allFlag)
	return f != nil && f.Value.String() == "true"
}
