package help

import (
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Program is what people call the program by: the name of its file, if that is one
// of ours. Where cmp is the file comparison tool of diffutils, it is installed as ladder,
// and as kubectl-ladder it is a plugin of kubectl.
func Program(file string) string {
	switch name := strings.TrimSuffix(filepath.Base(file), ".exe"); name {
	case "ladder":
		return name
	case "kubectl-ladder", "kubectl_ladder":
		return "kubectl ladder"
	}
	return "cmp"
}

// mention is the name of the program in a text, or of one of its manual pages, and not a
// part of a path, of a flag or of the name of Argo CD's own server.
var mention = regexp.MustCompile(`(^|[^\w./-])cmp(-server\b|\b)`)

// Spelled is a text with the name that the program is called by.
func Spelled(text, name string) string {
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

// invoked is a command line in a text.
var invoked = regexp.MustCompile("(^|[\\s\"'`(>])cmp ([a-z-]+)")

// Invoked is a text whose command lines, such as "cmp fleet steps", call the program by a
// name. Unlike Spelled, it is for texts that may contain other things called cmp: names of
// objects, scripts, styles.
func Invoked(text, name string, root *cobra.Command) string {
	if name == "cmp" || root == nil {
		return text
	}
	commands := map[string]bool{}
	for _, c := range root.Commands() {
		commands[c.Name()] = true
	}
	return invoked.ReplaceAllStringFunc(text, func(found string) string {
		before, command, _ := strings.Cut(found, "cmp ")
		if !commands[command] {
			return found
		}
		return before + name + " " + command
	})
}

// Name writes the name of the program into the help of a command and of those below.
func Name(cmd *cobra.Command, name string) {
	cmd.Short, cmd.Long, cmd.Example = Spelled(cmd.Short, name), Spelled(cmd.Long, name), Spelled(cmd.Example, name)
	for _, flags := range []*pflag.FlagSet{cmd.LocalNonPersistentFlags(), cmd.PersistentFlags()} {
		flags.VisitAll(func(f *pflag.Flag) { f.Usage = Spelled(f.Usage, name) })
	}
	for _, sub := range cmd.Commands() {
		Name(sub, name)
	}
}
