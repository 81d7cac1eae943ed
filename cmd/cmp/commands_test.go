package main

import (
	"bytes"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ladder-cmp/ladder/internal/cli"
)

// commands are all that people see, by what they are called.
func commands() map[string]*cobra.Command {
	all := map[string]*cobra.Command{}
	var add func(cmd *cobra.Command)
	add = func(cmd *cobra.Command) {
		all[cmd.CommandPath()] = cmd
		for _, sub := range cmd.Commands() {
			if !sub.Hidden {
				add(sub)
			}
		}
	}
	root := newRoot(cli.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}, &maxMemory{})
	completeAll(root)
	add(root)
	return all
}

// TestOnlyTheNamedCommand compares the program of a command line with the whole one: it has the same
// commands, and builds the one that it runs.
func TestOnlyTheNamedCommand(t *testing.T) {
	names := func(cmd *cobra.Command) (all []string) {
		for _, sub := range cmd.Commands() {
			all = append(all, sub.Name())
		}
		return all
	}
	whole := newRoot(cli.Streams{}, &maxMemory{})
	for _, want := range whole.Commands() {
		got, _, err := newRoot(cli.Streams{}, &maxMemory{}, want.Name()).Find([]string{want.Name()})
		if err != nil || got.UsageString() != want.UsageString() || !slices.Equal(names(got), names(want)) || got.Hidden != want.Hidden {
			t.Errorf("%s: %v, with\n%s", want.Name(), err, got.UsageString())
		}
		if all := names(got.Root()); !slices.Equal(all, names(whole)) {
			t.Errorf("%s: its program has the commands %q", want.Name(), all)
		}
	}
}

// TestExamples makes sure that every command has an example, and that each line
// of those is one that the program takes.
func TestExamples(t *testing.T) {
	word := regexp.MustCompile(`'[^']*'|"[^"]*"|&&|[|<>]|[^\s'"|<>]+`)
	for path, cmd := range commands() {
		called := 0
		for line := range strings.Lines(cmd.Example) {
			words := append(word.FindAllString(line, -1), "|")
			begin := -1
			for i, w := range words {
				switch {
				case begin < 0 && w == "cmp" && (i == 0 || words[i-1] == "|" || words[i-1] == "&&" || strings.Contains(words[i-1], "=")):
					begin = i + 1
				case begin >= 0 && (w == "|" || w == ">" || w == "<" || w == "&&"):
					args := slices.Clone(words[begin:i])
					for j := range args {
						args[j] = strings.Trim(args[j], `'"`)
					}
					begin = -1
					if found, err := takes(args); err != nil {
						t.Errorf("%s: example %q: %v", path, strings.TrimSpace(line), err)
					} else if found == path || cmd.HasSubCommands() {
						called++
					}
				}
			}
		}
		if called == 0 {
			t.Errorf("%s has no example that calls it", path)
		}
	}
}

// takes returns the command of a command line that the program understands.
func takes(args []string) (string, error) {
	root := newRoot(cli.Streams{}, &maxMemory{})
	cmd, rest, err := root.Find(args)
	if err != nil {
		return "", err
	}
	if err := cmd.ParseFlags(rest); err != nil {
		return "", err
	}
	return cmd.CommandPath(), cmd.ValidateArgs(cmd.Flags().Args())
}

// noJSON says why commands have no -o json.
var noJSON = map[string]string{
	"cmp":                 "prints its help",
	"cmp fleet":           "prints its help",
	"cmp render":          "prints manifests, which programs read as YAML",
	"cmp generate":        "prints manifests, for Argo CD",
	"cmp fleet apps":      "prints manifests",
	"cmp fleet bootstrap": "writes files, and prints a line for each",
	"cmp install":         "prints values or a kustomization, which are YAML",
	"cmp health":          "prints a ConfigMap or values, which are YAML",
	"cmp knowledge":       "prints records as YAML, in the form of a ladder.yaml, with -o yaml",
	"cmp graph":           "draws; cmp explain, cmp fleet inventory and cmp fleet simulate have what it draws with -o json",
	"cmp serve":           "is asked by gRPC; its log is JSON with --log-format json",
	"cmp completion":      "prints a script for a shell",
	"cmp init":            "writes a file, and prints it with --print",
	"cmp vendor":          "writes files, and prints a line for each; ladder.lock is YAML",
	"cmp seed":            "prints a seed, which is one line",
	"cmp seed adopt":      "prints values, which are YAML",
}

// TestJSON makes sure that scripts can read what commands print, or that there
// is a reason why they need not.
func TestJSON(t *testing.T) {
	all := commands()
	for path, cmd := range all {
		has := slices.Contains(completed(cmd, "output"), cli.JSON)
		if _, reason := noJSON[path]; has == reason {
			t.Errorf("%s: -o json: %t; a reason why not: %t", path, has, reason)
		}
	}
	for path := range noJSON {
		if all[path] == nil {
			t.Errorf("there is no command %q", path)
		}
	}
}

// completed are the values that a flag is completed to.
func completed(cmd *cobra.Command, flag string) []string {
	complete, ok := cmd.GetFlagCompletionFunc(flag)
	if !ok {
		return nil
	}
	values, _ := complete(cmd, nil, "")
	return values
}

// TestFormats makes sure that -o completes to what the command takes: all that
// its help names, and nothing else.
func TestFormats(t *testing.T) {
	for path, cmd := range commands() {
		flag := cmd.Flags().Lookup("output")
		if flag == nil || flag.DefValue == "-" { // a file
			continue
		}
		values := completed(cmd, "output")
		if len(values) < 2 || !slices.Contains(values, flag.DefValue) {
			t.Errorf("%s: -o completes to %v", path, values)
		}
		for _, value := range append(slices.Clone(values), "no-such") {
			var out bytes.Buffer
			args := []string{"no-such-directory"}
			if cmd.ValidateArgs(args) != nil {
				args = append(args, "no-other")
			}
			code := run(slices.Concat(strings.Fields(path)[1:], args, []string{"-o", value}),
				cli.Streams{In: strings.NewReader(""), Out: &out, Err: &out})
			// What is wrong with a format is wrong with the command line.
			if known := slices.Contains(values, value); known && code == exitUsage || !known && code != exitUsage {
				t.Errorf("%s -o %s exits with %d: %s", path, value, code, out.String())
			}
			if !strings.Contains(flag.Usage, value) && value != "no-such" {
				t.Errorf("%s: the help of -o does not name %s", path, value)
			}
		}
	}
}

// freeText are flags whose values nobody can guess: names, addresses, numbers.
var freeText = []string{
	"name", "namespace", "application", "set", "set-string", "kube-version", "api-versions", "revision", "parallel",
	"repo-url", "argocd-version",
	"timeout", "max-memory", "render-timeout", "worker-memory", "max-repository-bytes", "max-repository-files",
	"allow-remote", "allow-private", "remote-memory", "remote-parallel", "remote-ttl", "remote-timeout", "remote-max-bytes",
	"remote-plain-http", "update", "limit", "context", "image",
	"repository-memory", "answer-memory", "allow-project", "repo", "cache-bytes", "cache-age", "operations-address", "drain-timeout",
}

// TestFlagsComplete makes sure that every flag with a value completes to
// something, or is known not to.
func TestFlagsComplete(t *testing.T) {
	for path, cmd := range commands() {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Value.Type() == "bool" || f.Name == "help" {
				return
			}
			completion, ok := cmd.GetFlagCompletionFunc(f.Name)
			if !ok {
				t.Errorf("%s: --%s completes to files", path, f.Name)
				return
			}
			_, something := values()[f.Name]
			if !something {
				values, directive := completion(cmd, nil, "")
				something = len(values) > 0 || directive != cobra.ShellCompDirectiveNoFileComp
			}
			if something == slices.Contains(freeText, f.Name) {
				t.Errorf("%s: --%s completes to something: %t; is on the list of free text: %t", path, f.Name, something, something)
			}
		})
	}
}

// TestVersion makes sure that a build says all that it knows, and that the
// releases of Argo CD are those whose code is asked by the conformance tests.
func TestVersion(t *testing.T) {
	b := cli.BuildInfo{Version: "v1.2.3", Commit: "0123456789abcdef", Date: "2026-01-02T03:04:05Z", Dirty: true, Go: "go1.26.8",
		Platform: "linux/arm64", Helm: "v4.2.4", Kustomize: "v0.21.2", ArgoCD: "2.14 to 3.5"}
	want := `cmp v1.2.3
  commit:    0123456789abcdef, and changes
  date:      2026-01-02T03:04:05Z
  go:        go1.26.8 linux/arm64
  helm:      v4.2.4
  kustomize: api v0.21.2
  argo cd:   plugin protocol of 2.14 to 3.5
`
	if got := b.Text(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	var tested []string
	for _, module := range []string{"v2", "v3"} {
		text, err := os.ReadFile("../../conformance/" + module + "/go.mod")
		if err != nil {
			t.Fatal(err)
		}
		tested = append(tested, string(regexp.MustCompile(`argo-cd/v\d v(\d+\.\d+)\.`).FindSubmatch(text)[1]))
	}
	if got := strings.Join(tested, " to "); got != cli.ArgoCD {
		t.Errorf("tested with the protocol of %s, and the program says %s", got, cli.ArgoCD)
	}
}
