package main

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ladder-cmp/ladder/internal/cli"
	"github.com/ladder-cmp/ladder/internal/cli/flags"
	"github.com/ladder-cmp/ladder/internal/golden"
	"github.com/ladder-cmp/ladder/plugin"
)

// TestCommandsPage compares the reference of the commands with the commands.
// With -update it is written.
func TestCommandsPage(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir()) // the default of --remote-cache is below
	all := commands()
	documents(t)
	paths := slices.Sorted(maps.Keys(all))
	groups := newFlagGroups(slices.Collect(maps.Values(all)))
	var b strings.Builder
	b.WriteString("# Commands\n\nThis page contains the help of all commands, generated from the program; `--help` has more examples. " +
		"Flags that several commands have are in\n" +
		"[groups of flags](#groups-of-flags). A list is separated by commas or repeats the flag; `text...` repeats it.\n")
	for _, path := range paths {
		b.WriteString(groups.command(all[path]))
	}
	golden.File(t, "docs/reference/commands.md", b.String()+groups.text())
}

// flagGroups are the flags that several commands have: the section of the help, by row.
type flagGroups map[string]cli.Section

// The groups of the flags that each command inherits, and of those that three commands have and
// that are in no section.
const everywhere, several cli.Section = "Global", "Common"

func newFlagGroups(all []*cobra.Command) flagGroups {
	g, times, rows := flagGroups{}, map[string]int{}, map[string]map[string]bool{}
	for _, cmd := range all {
		for _, f := range flagsOf(cmd) {
			row := flagRow(f)
			times[row]++
			switch in := groupOf(f); {
			case f.Name == "max-memory" || f.Name == "quiet" || f.Name == "color":
				g[row] = everywhere
			case in != cli.OwnFlags && (g[row] == cli.OwnFlags || g[row] == several || in < g[row]):
				g[row] = in
			case times[row] > 2 && g[row] == cli.OwnFlags:
				g[row] = several
			}
		}
	}
	for row, in := range g {
		if rows[string(in)+rowName(row)] == nil {
			rows[string(in)+rowName(row)] = map[string]bool{}
		}
		rows[string(in)+rowName(row)][row] = true
	}
	for _, same := range rows { // one row of a flag in a group, the most frequent one
		sorted := slices.SortedFunc(maps.Keys(same), func(a, b string) int { return cmp.Or(times[b]-times[a], strings.Compare(a, b)) })
		for _, row := range sorted[1:] {
			delete(g, row)
		}
	}
	return g
}

// groupOf is the section of a flag. The parameters of a rendering are one group here, because a
// command that renders has all of them.
func groupOf(f *pflag.Flag) cli.Section {
	switch in := cli.SectionOf(f); in {
	case cli.WaveFlags, cli.SeedFlags:
		return cli.RenderingFlags
	default:
		return in
	}
}

// flags are the rows of a group.
func (g flagGroups) flags(in cli.Section) (rows []string) {
	for row, section := range g {
		if section == in {
			rows = append(rows, row)
		}
	}
	slices.SortFunc(rows, func(a, b string) int { return strings.Compare(rowName(a), rowName(b)) })
	return rows
}

// flagsOf are the flags that people see. Those of serve have a page of their own.
func flagsOf(cmd *cobra.Command) (all []*pflag.Flag) {
	cmd.InheritedFlags() // adds them to the flags
	if cmd.Name() == "serve" {
		return nil
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" && !f.Hidden {
			all = append(all, f)
		}
	})
	return all
}

// command is the section of a command: its own flags, the groups of which it has all flags, and
// the flags of other groups.
func (g flagGroups) command(cmd *cobra.Command) string {
	var b strings.Builder
	long := cmd.Long
	if long == "" {
		long = cmd.Short + "."
	}
	use := cmd.UseLine()
	if below := cmd.CommandPath() + " COMMAND"; cmd.HasSubCommands() && !strings.Contains(cmd.Use, " ") {
		use = below
	} else if cmd.HasSubCommands() {
		use += "\n" + below
	}
	fmt.Fprintf(&b, "\n## %s\n\n```sh\n%s\n```\n\n%s\n", cmd.CommandPath(), use, prose(long))
	first, _, _ := strings.Cut(unindented(cmd.Example), "\n") // --help has the others
	fmt.Fprintf(&b, "\n```sh\n%s\n```\n", first)
	if cmd.Name() == "serve" {
		return b.String() + "\nIts flags are in [operations.md](../operations.md#flags-and-variables).\n"
	}
	rows, some := "", map[cli.Section][]string{}
	for _, f := range flagsOf(cmd) {
		row := flagRow(f)
		if in := g[row]; in == cli.OwnFlags {
			rows += row
		} else if in != everywhere {
			some[in] = append(some[in], row)
		}
	}
	if rows != "" {
		b.WriteString("\n" + rows)
	}
	var names []string
	for _, in := range slices.Sorted(maps.Keys(some)) {
		names = append(names, g.named(in, some[in]))
	}
	if len(names) > 0 {
		fmt.Fprintf(&b, "\nFlags of groups: %s.\n", strings.Join(names, "; "))
	}
	return b.String()
}

// named is a link to a group, with the flags that a command has of it, or has not.
func (g flagGroups) named(in cli.Section, have []string) string {
	link := fmt.Sprintf("[%s](#%s-flags)", in, strings.ToLower(strings.ReplaceAll(string(in), " ", "-")))
	missing := slices.DeleteFunc(g.flags(in), func(row string) bool { return slices.Contains(have, row) })
	quoted := func(rows []string) string {
		var names []string
		for _, row := range rows {
			names = append(names, "`--"+rowName(row)+"`")
		}
		return strings.Join(names, ", ")
	}
	switch {
	case len(missing) == 0:
		return link
	case len(missing) < len(have):
		return link + " without " + quoted(missing)
	}
	return quoted(have) + " of " + link
}

// text lists the flags of each group.
func (g flagGroups) text() string {
	var b strings.Builder
	b.WriteString("\n## Groups of flags\n")
	for _, in := range slices.Compact(slices.Sorted(maps.Values(g))) {
		if in == cli.OwnFlags {
			continue
		}
		rows, parameters, shorts := "", []string(nil), []string(nil)
		for _, row := range g.flags(in) {
			isParameter := func(p plugin.Parameter) bool { return p.Name == rowName(row) }
			if in != cli.FleetFlags && in != several && slices.ContainsFunc(plugin.Parameters(), isParameter) {
				parameters = append(parameters, rowName(row))
				if short := regexp.MustCompile("`-[a-z], ").FindString(row); short != "" {
					shorts = append(shorts, short[:3]+"` for `--"+rowName(row)+"`")
				}
				continue
			}
			rows += row
		}
		fmt.Fprintf(&b, "\n### %s flags\n", in)
		if rows != "" {
			b.WriteString("\n" + rows)
		}
		if len(parameters) > 0 {
			fmt.Fprintf(&b, "\nThere is also a flag for each of %d [parameters](../components.md#parameters), with the short forms %s.\n",
				len(parameters), strings.Join(shorts, ", "))
		}
	}
	return b.String()
}

// rowName is the name of the flag in a row.
func rowName(row string) string {
	return regexp.MustCompile("--([a-z-]+)").FindStringSubmatch(row)[1]
}

// flagRow is a flag in a list, with the type of its value as in --help.
func flagRow(f *pflag.Flag) string {
	name := "--" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + ", " + name
	}
	return fmt.Sprintf("- `%s`: %s\n", strings.TrimSpace(name+" "+valueOf(f)), f.Usage+defaultOf(f))
}

// valueOf says what to write as the value of a flag.
func valueOf(f *pflag.Flag) string {
	words := map[string]string{"bool": "", "int": "number", "int64": "number", "duration": "duration", "stringArray": "text...",
		"stringSlice": "list"}
	value, known := words[f.Value.Type()]
	if !known {
		value = "text"
	}
	if f.NoOptDefVal != "" && value != "" {
		return "[=" + value + "]"
	}
	return value
}

// defaultOf is the default of a flag, if its description does not contain it.
func defaultOf(f *pflag.Flag) string {
	value := f.DefValue
	switch {
	case slices.Contains([]string{"", "0", "false", "[]"}, value) || strings.Contains(f.Usage, "(default"):
		return ""
	case value == flags.UserCache():
		return " (default: ladder in the user's cache directory)"
	}
	for _, zero := range []string{"m0s", "h0m"} {
		if f.Value.Type() == "duration" && strings.HasSuffix(value, zero) {
			value = value[:len(value)-2]
		}
	}
	return " (default: " + value + ")"
}

// prose is a text of --help in Markdown: what is indented there is a list, a table below
// a head in capitals, or code.
func prose(text string) string {
	var parts []string
	for part := range strings.SplitSeq(text, "\n\n") {
		head, _, _ := strings.Cut(part, "\n")
		switch {
		case strings.HasPrefix(part, "  - "):
			part = unindented(part)
		case strings.HasPrefix(part, "  ") && strings.ToUpper(head) == head:
			part = columns(unindented(part))
		case strings.HasPrefix(part, "  "):
			part = "```sh\n" + unindented(part) + "\n```"
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "\n\n")
}

// columns is a table of --help in Markdown. Its second column contains commands.
func columns(text string) string {
	gap := regexp.MustCompile(` {2,}`)
	var b strings.Builder
	for i, line := range strings.Split(text, "\n") {
		cells := gap.Split(line, -1)
		if i == 0 {
			fmt.Fprintf(&b, "| %s |\n|%s", strings.ToLower(strings.Join(cells, " | ")), strings.Repeat(" --- |", len(cells)))
			continue
		}
		cells[1] = "`" + strings.ReplaceAll(cells[1], "|", `\|`) + "`"
		fmt.Fprintf(&b, "\n| %s |", strings.Join(cells, " | "))
	}
	return b.String()
}

func unindented(text string) string {
	return strings.ReplaceAll(strings.TrimPrefix(text, "  "), "\n  ", "\n")
}
