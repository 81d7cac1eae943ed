package cli_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ladder-cmp/ladder/internal/finding"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ladder-cmp/ladder/internal/cli"
)

// expect checks that an error of the command line contains a text; without a text, that there is
// no error.
func expect(t *testing.T, what string, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("%s: %v", what, err)
	case want != "" && (!finding.IsUsage(err) || !strings.Contains(err.Error(), want)):
		t.Errorf("%s: %v, want an error of the command line with %q", what, err, want)
	}
}

func TestArgs(t *testing.T) {
	t.Parallel()
	cmd := &cobra.Command{Use: "x DIR", ValidArgs: []string{"bash", "zsh"}}
	all := cmd.Flags().Bool("all", false, "")
	unless := cli.ArgsUnless("all", 1, 1)
	for _, test := range []struct {
		name  string
		check cobra.PositionalArgs
		all   bool
		args  string
		want  string
	}{
		{"enough", cli.Args(1, 2), false, "a b", ""},
		{"too few", cli.Args(1, 2), false, "", "missing argument; usage: x DIR"},
		{"too many", cli.Args(1, 2), false, "a b c", `unexpected argument "c"`},
		{"none allowed", cli.Args(0, 0), false, "a b", `unexpected argument "a"`},
		{"any number", cli.Args(1, cli.Many), false, "a b c d", ""},
		{"unless, without the flag", unless, false, "", "missing argument"},
		{"unless, with the flag", unless, true, "", ""},
		{"unless, with both", unless, true, "a", "--all takes no directory"},
		{"valid", cli.OneOfValidArgs, false, "zsh", ""},
		{"invalid", cli.OneOfValidArgs, false, "tcsh", `"tcsh"`},
		{"two valid ones", cli.OneOfValidArgs, false, "zsh bash", `unexpected argument "bash"`},
	} {
		*all = test.all
		expect(t, test.name, test.check(cmd, strings.Fields(test.args)), test.want)
	}
}

// TestChecks runs a command with several flags whose values are checked before it runs.
func TestChecks(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"":                            "",
		"-o json --layout computed":   "",
		"-o jsno":                     `did you mean "json"?`,
		"-o xml":                      "use text, json or sarif",
		"--layout computd":            `did you mean "computed"?`,
		"--layout zzz -o xml":         `unknown value "zzz"`, // both are reported
		"-o xml --layout zzz":         `unknown format "xml"`,
		"--set a --unset b":           "--set and --unset cannot be combined",
		"--set a --other b":           "",
		"--set a --unset b --other c": "--set and --unset cannot be combined",
	} {
		cmd := &cobra.Command{Use: "x", SilenceErrors: true, SilenceUsage: true}
		cli.Format(cmd, "Format", "text", "json", "sarif")
		cli.Choice(cmd, "layout", "Layout", "set", "computed")
		for _, name := range []string{"set", "unset", "other"} {
			cmd.Flags().String(name, "", "")
		}
		cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cli.Alone(cmd.Flags(), "set", "unset") }
		cmd.SetArgs(strings.Fields(args))
		expect(t, args, cmd.Execute(), want)
	}
}

func TestOutputFile(t *testing.T) {
	t.Chdir(t.TempDir())
	for args, want := range map[string]string{"": "", "-o json": "-o ./json for a file of that name", "-o ./json": "",
		"-o missing/page.html": "no"} {
		var out strings.Builder
		cmd := &cobra.Command{Use: "x", SilenceErrors: true, SilenceUsage: true}
		file := cli.OutputFile(cmd, "File", "the page", "report.html")
		cmd.RunE = func(*cobra.Command, []string) error { return file.Write(&out, "content", 0o600) }
		cmd.SetArgs(strings.Fields(args))
		err := cmd.Execute()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", args, err, want)
		}
		if isStdout := args == ""; (out.String() == "content") != isStdout {
			t.Errorf("%q printed %q", args, out.String())
		}
	}
}

func serveFlags() (flags *pflag.FlagSet, workers *int, wait *time.Duration) {
	flags = pflag.NewFlagSet("serve", pflag.ContinueOnError)
	flags.String("socket", "", "")
	flags.String("log-level", "info", "")
	return flags, flags.Int("max-workers", 4, ""), flags.Duration("wait", time.Second, "")
}

// TestFromVariables sets flags from variables, which the command line overrides.
func TestFromVariables(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, args string
		env        map[string]string
		workers    int // if there is no error
		want       string
	}{
		{"neither", "", nil, 4, ""},
		{"a variable", "", map[string]string{"LADDER_SERVE_MAX_WORKERS": "7", "HOME": "/"}, 7, ""},
		{"the command line first", "--max-workers 9", map[string]string{"LADDER_SERVE_MAX_WORKERS": "7"}, 9, ""},
		{"an overridden variable is not read", "--max-workers 9", map[string]string{"LADDER_SERVE_MAX_WORKERS": "many"}, 9, ""},
		{"not a number", "", map[string]string{"LADDER_SERVE_MAX_WORKERS": "many"}, 0,
			`LADDER_SERVE_MAX_WORKERS: --max-workers: must be a number, not "many"`},
		{"empty", "", map[string]string{"LADDER_SERVE_MAX_WORKERS": ""}, 0, `must be a number, not ""`},
		{"not a duration", "", map[string]string{"LADDER_SERVE_WAIT": "5"}, 0, `must be a time such as 30s, not "5"`},
		{"misspelled", "", map[string]string{"LADDER_SERVE_MAX_WORKER": "7"}, 0, `did you mean "LADDER_SERVE_MAX_WORKERS"?`},
		{"every fault", "", map[string]string{"LADDER_SERVE_WAIT": "5", "LADDER_SERVE_XYZ": "7"}, 0, "unknown variable LADDER_SERVE_XYZ"},
	} {
		flags, workers, _ := serveFlags()
		if err := flags.Parse(strings.Fields(test.args)); err != nil {
			t.Fatal(err)
		}
		expect(t, test.name, cli.FromVariables(flags, test.env), test.want)
		if test.want == "" && *workers != test.workers {
			t.Errorf("%s: %d workers, want %d", test.name, *workers, test.workers)
		}
	}
}

func TestFlagErrors(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"--max-workers=many": `--max-workers: must be a number, not "many"`,
		"--wait=5":           `--wait: must be a time such as 30s, not "5"`,
		"--sokcet=x":         `unknown flag: --sokcet did you mean "--socket"?`,
		"--zzzzzzzz=x":       "unknown flag: --zzzzzzzz ",
	} {
		flags, _, _ := serveFlags()
		err := flags.Parse([]string{args})
		if got := strings.TrimSuffix(cli.Fault(err)+" "+cli.Suggestion(flags, err), " "); got != strings.TrimSuffix(want, " ") {
			t.Errorf("%s: %s, want %s", args, got, want)
		}
	}
	flags, workers, wait := serveFlags()
	if err := flags.Parse([]string{"--socket=-x"}); err != nil {
		t.Fatal(err)
	}
	expect(t, "a text", cli.NoneNegative(flags), "")
	*workers = -1
	expect(t, "a number", cli.NoneNegative(flags), "--max-workers is -1")
	*workers, *wait = 0, -time.Second
	expect(t, "a duration", cli.NoneNegative(flags), "--wait is -1s")
}
