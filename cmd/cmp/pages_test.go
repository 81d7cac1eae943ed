package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"

	"github.com/ladder-cmp/ladder/internal/fetchers"
	"github.com/ladder-cmp/ladder/internal/golden"
	"github.com/ladder-cmp/ladder/plugin"
)

var fenced = regexp.MustCompile("(?ms)^```.*?^```$")

// anchors are the places of a page that links can lead to, as code hosts make
// them of its headings.
func anchors(text string) []string {
	var all []string
	heading := regexp.MustCompile(`(?m)^#+ (.*)$`)
	for _, m := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		name := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z':
				return r
			}
			return -1
		}, strings.ToLower(m[1]))
		for again, first := 1, name; slices.Contains(all, name); again++ {
			name = fmt.Sprint(first, "-", again)
		}
		all = append(all, name)
	}
	return all
}

// TestPages makes sure that docs/README.md leads to every page, that links
// between documents lead somewhere, and that the tests they name are there.
func TestPages(t *testing.T) {
	docs := documents(t)
	const index = "docs/README.md"
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	image := regexp.MustCompile(`<img [^>]*src="([^"]+)"`)
	testName := regexp.MustCompile("`(Test[A-Z]\\w*)`")
	tests := testsOfProject(t)
	listed := map[string]bool{index: true, "README.md": true}
	for _, doc := range docs {
		text, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range slices.Concat(link.FindAllStringSubmatch(fenced.ReplaceAllString(string(text), ""), -1), image.FindAllStringSubmatch(string(text), -1)) {
			to, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(to, "://") {
				continue
			}
			target := doc
			if to != "" {
				target = path.Join(path.Dir(doc), to)
			}
			if doc == index {
				listed[target] = true
			}
			found, err := os.Stat(target)
			switch {
			case err != nil:
				t.Errorf("%s: the link %s leads nowhere", doc, m[1])
			case anchor != "" && !found.IsDir():
				there, err := os.ReadFile(target)
				if err != nil || !slices.Contains(anchors(string(there)), anchor) {
					t.Errorf("%s: the link %s leads to no heading", doc, m[1])
				}
			}
		}
		for _, m := range testName.FindAllStringSubmatch(string(text), -1) {
			if !tests[m[1]] {
				t.Errorf("%s: there is no test %s", doc, m[1])
			}
		}
	}
	for _, doc := range docs {
		if !listed[doc] {
			t.Errorf("%s does not lead to %s", index, doc)
		}
	}
}

// testsOfProject are the names of all tests, of every module.
func testsOfProject(t *testing.T) map[string]bool {
	t.Helper()
	name := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	all := map[string]bool{}
	err := filepath.WalkDir(".", func(p string, d os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(p, "_test.go") && !strings.HasPrefix(p, "conformance/suite/") || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(p)
		for _, m := range name.FindAllStringSubmatch(string(text), -1) {
			all[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestCommandsPage compares the reference of the commands with the commands.
// With -update it is written.
func TestCommandsPage(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir()) // the default of --remote-cache is below
	all := commands()
	documents(t)
	var paths []string
	for path := range all {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	var b strings.Builder
	b.WriteString("# Commands\n\nThis page contains the output of `cmp --help` and of `cmp COMMAND --help` for all commands. It is generated from the program.\n\n")
	for _, path := range paths[1:] {
		fmt.Fprintf(&b, "- [`%s`](#%s): %s\n", path, strings.ReplaceAll(path, " ", "-"), all[path].Short)
	}
	b.WriteString("\nEvery command accepts `--quiet` (`-q`), which suppresses warnings, notes and progress, `--max-memory`, a number of bytes at\nwhich the command stops (default: half of the machine's memory; 0 means no limit), and `--color auto|always|never`. On a terminal, severities and comparisons are colored, unless `NO_COLOR` is set or `TERM` is `dumb`; in a pipe, the output is\nplain, unless `CLICOLOR_FORCE` is set.\n")
	for _, path := range paths {
		b.WriteString(commandSection(all[path]))
	}
	golden.File(t, "docs/reference/commands.md", b.String())
}

func commandSection(cmd *cobra.Command) string {
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
	fmt.Fprintf(&b, "\n```sh\n%s\n```\n", unindented(cmd.Example))
	if cmd.Name() == "serve" {
		return b.String() + "\nIts flags are in [operations.md](../operations.md#flags-and-variables).\n"
	}
	var rendering []string
	rows := ""
	isParameter := func(name string) bool {
		return cmd.Flags().Lookup("namespace") != nil && slices.ContainsFunc(plugin.Parameters(), func(p plugin.Parameter) bool { return p.Name == name })
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		name := "`--" + f.Name + "`"
		if f.Shorthand != "" {
			name = "`-" + f.Shorthand + "`, " + name
		}
		switch {
		case f.Name == "help" || f.Hidden || f.Name == "color" || f.Name == "quiet" || f.Name == "max-memory":
		case isParameter(f.Name):
			rendering = append(rendering, name)
		default:
			rows += fmt.Sprintf("| %s | %s | %s |\n", name, valueOf(f), strings.ReplaceAll(f.Usage+defaultOf(f), "|", `\|`))
		}
	})
	if rows != "" {
		b.WriteString("\n| flag | value | meaning |\n| --- | --- | --- |\n" + rows)
	}
	if len(rendering) > 0 {
		fmt.Fprintf(&b, "\nRendering flags, which [parameters](../components.md#parameters) describes: %s.\n", strings.Join(rendering, "; "))
	}
	return b.String()
}

// valueOf says what to write as the value of a flag.
func valueOf(f *pflag.Flag) string {
	words := map[string]string{"bool": "none", "string": "text", "int": "number", "int64": "number", "duration": "duration", "stringArray": "text, may be repeated", "stringSlice": "list, separated by commas or repeated"}
	value := words[f.Value.Type()]
	if f.NoOptDefVal != "" && value != "none" {
		value += "; or none"
	}
	return value
}

// defaultOf is the default of a flag, if its description does not contain it.
func defaultOf(f *pflag.Flag) string {
	value := f.DefValue
	switch {
	case slices.Contains([]string{"", "0", "false", "[]"}, value) || strings.Contains(f.Usage, "(default"):
		return ""
	case value == fetchers.UserCache():
		return " (default: ladder in the user's cache directory)"
	}
	return " (default: " + strings.TrimSuffix(value, "0s") + ")"
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

// walked are the pages whose commands are run one after the other, in a folder
// of their own.
var walked = []string{"docs/getting-started.md", "docs/migration.md"}

// guides have pages that are walked too, if they contain commands.
const guides = "docs/guides/"

// TestWalks does what such a page tells a reader to do: it writes the files whose
// names stand in front of their text, runs the commands, and compares what they
// print.
func TestWalks(t *testing.T) {
	for _, page := range walked {
		t.Run(strings.TrimSuffix(path.Base(page), ".md"), func(t *testing.T) {
			if files, ran := walk(t, "../../"+page); files < 2 || ran < 5 {
				t.Errorf("only %d files and %d commands were found", files, ran)
			}
		})
	}
	pages, err := filepath.Glob("../../" + guides + "*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("no guides: %v", err)
	}
	for _, page := range pages {
		t.Run(strings.TrimSuffix(path.Base(page), ".md"), func(t *testing.T) { walk(t, page) })
	}
}

// walk returns how many files and commands there are on a page.
func walk(t *testing.T, page string) (files, ran int) {
	t.Helper()
	page, err := filepath.Abs(page)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.Mkdir(".git", 0o755); err != nil { // the repository begins here
		t.Fatal(err)
	}
	part := regexp.MustCompile("(?s)\n`([^`\n]+)`:\n\n```\\w+\n(.*?)```|```console\n(.*?)```")
	for _, m := range part.FindAllStringSubmatch(string(text), -1) {
		if m[1] != "" {
			files++
			if err := os.MkdirAll(filepath.Dir(m[1]), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(m[1], []byte(m[2]), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		for block := range strings.SplitSeq("\n"+m[3], "\n$ ") {
			if strings.TrimSpace(block) == "" {
				continue
			}
			ran++
			line, want, _ := strings.Cut(block, "\n")
			want = strings.TrimSuffix(want, "\n")
			var shown, written bytes.Buffer
			args, file, redirected := strings.Cut(line, " > ")
			to := streams{In: strings.NewReader(""), Out: &shown, Err: &shown}
			if redirected {
				to.Out = &written
			}
			words := strings.Fields(args)
			program := exec.Command(words[0], words[1:]...)
			program.Stdout, program.Stderr = to.Out, to.Err
			if words[0] == "cmp" {
				run(words[1:], to)
			} else if err := program.Run(); err != nil {
				t.Errorf("%s: %v\n%s", line, err, shown.String())
			}
			if redirected {
				if err := os.WriteFile(file, written.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			got := strings.TrimSuffix(shown.String(), "\n")
			if !asShownIn(want).MatchString(got) {
				t.Errorf("%s prints\n%s\nnot\n%s", line, got, want)
			}
		}
	}
	return files, ran
}

// TestPluginsInGuides reads the sources with the plugin that guides show as the plugin
// does: their parameters and variables exist.
func TestPluginsInGuides(t *testing.T) {
	pages, err := filepath.Glob("../../" + guides + "*.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```yaml\n(.*?)```")
	seen := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range block.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(m[1], "{{ .Values") {
				continue // a template
			}
			var doc any
			if err := yaml.Unmarshal([]byte(m[1]), &doc); err != nil {
				t.Errorf("%s: %v in\n%s", page, err, m[1])
			}
			for _, p := range pluginsIn(doc) {
				seen++
				env, err := environmentOf(p)
				if err == nil {
					_, err = plugin.FromEnvironment(os.DirFS("."), ".", env)
				}
				if err != nil || p["name"] != plugin.Name {
					t.Errorf("%s: %v: %v", page, p, err)
				}
			}
		}
	}
	if seen < 5 {
		t.Errorf("only %d sources were found", seen)
	}
}

// pluginsIn finds the mappings called plugin that name one.
func pluginsIn(v any) (all []map[string]any) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			all = append(all, pluginsIn(item)...)
		}
	case map[string]any:
		for key, value := range v {
			if p, ok := value.(map[string]any); ok && key == "plugin" && p["spec"] == nil && p["tag"] == nil {
				all = append(all, p)
			}
			all = append(all, pluginsIn(value)...)
		}
	}
	return all
}

// environmentOf is what Argo CD passes to a plugin of a source.
func environmentOf(p map[string]any) (map[string]string, error) {
	parameters, err := json.Marshal(p["parameters"])
	env := map[string]string{"ARGOCD_APP_NAME": "shop", "ARGOCD_APP_PARAMETERS": string(parameters)}
	variables, _ := p["env"].([]any)
	for _, v := range variables {
		entry := v.(map[string]any)
		env["ARGOCD_ENV_"+entry["name"].(string)] = fmt.Sprint(entry["value"])
	}
	return env, err
}

// asShownIn matches what a document shows, where a line "..." stands for any
// number of lines.
func asShownIn(text string) *regexp.Regexp {
	parts := strings.Split(text, "...")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	return regexp.MustCompile("(?s)^" + strings.Join(parts, ".*") + "$")
}
