package cli

import (
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ladder-cmp/ladder/internal/lazyregexp"
)

// ProgramName returns the name by which people call the program: the name of its file, if that is
// one of ours. Where cmp is the file comparison tool of diffutils, it is installed as ladder,
// and as kubectl-ladder it is a plugin of kubectl.
func ProgramName(file string) string {
	switch name := strings.TrimSuffix(filepath.Base(file), ".exe"); name {
	case "ladder":
		return name
	case "kubectl-ladder", "kubectl_ladder":
		return "kubectl ladder"
	}
	return "cmp"
}

// mention matches the name of the program in a text, or of one of its manual pages, and not a
// part of a path, of a flag or of the name of Argo CD's own server.
var mention = lazyregexp.New(`(^|[^\w./-])cmp(-server\b|\b)`)

// WithProgramName replaces the program name in a text with the one under which the program was
// called.
func WithProgramName(text, name string) string {
	if name == "cmp" {
		return text
	}
	return mention.ReplaceAllStringFunc(text, func(found string) string {
		if strings.HasSuffix(found, "-server") {
			return found
		}
		return strings.TrimSuffix(found, "cmp") + name
	})
}

// commandLine matches a command line in a text.
var commandLine = lazyregexp.New("(^|[\\s\"'`(>])cmp ([a-z-]+)")

// WithCommandName does the same only in command lines, such as "cmp fleet steps". Unlike
// WithProgramName, it is for texts that may contain other things called cmp: names of objects,
// scripts, styles.
func WithCommandName(text, name string, root *cobra.Command) string {
	if name == "cmp" || root == nil {
		return text
	}
	commands := map[string]bool{}
	for _, c := range root.Commands() {
		commands[c.Name()] = true
	}
	return commandLine.ReplaceAllStringFunc(text, func(found string) string {
		before, command, _ := strings.Cut(found, "cmp ")
		if !commands[command] {
			return found
		}
		return before + name + " " + command
	})
}

// Rename writes the name of the program into the help of a command and of those below.
func Rename(cmd *cobra.Command, name string) {
	cmd.Short, cmd.Long, cmd.Example = WithProgramName(cmd.Short, name), WithProgramName(cmd.Long, name), WithProgramName(cmd.Example, name)
	for _, flags := range []*pflag.FlagSet{cmd.LocalNonPersistentFlags(), cmd.PersistentFlags()} {
		flags.VisitAll(func(f *pflag.Flag) { f.Usage = WithProgramName(f.Usage, name) })
	}
	for _, sub := range cmd.Commands() {
		Rename(sub, name)
	}
}
