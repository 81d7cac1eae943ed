package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/ladder-cmp/ladder/internal/cli"
)

// The help of a command shows what it does on one screen; that of the program lists all
// commands.
const (
	mostHelp     = 24
	mostHelpRoot = 55
)

// TestHelpFitsAScreen makes sure that the help of each command begins with few lines, and
// that every command of the program is in a group or a help topic.
func TestHelpFitsAScreen(t *testing.T) {
	for path, cmd := range commands() {
		text := helpOf(t, strings.Fields(path)[1:]...)
		if path == "cmp" {
			if n := strings.Count(text, "\n"); n > mostHelpRoot {
				t.Errorf("cmp --help has %d lines, want at most %d", n, mostHelpRoot)
			}
			continue
		}
		before, _, found := strings.Cut(text, "lags:\n") // Flags, Global flags
		n := strings.Count(before, "\n")
		if !found || n > mostHelp {
			t.Errorf("%s --help has %d lines before its flags, want at most %d", path, n, mostHelp)
		}
		for line := range strings.Lines(cmd.Long) {
			if len(line) > 91 && !strings.HasPrefix(line, "  ") {
				t.Errorf("%s: the line %q of the help is too long", path, line)
			}
		}
	}
}

// TestHelpListsWhatPeopleRun makes sure that the help of the program describes no commands that
// Argo CD runs, but names them.
func TestHelpListsWhatPeopleRun(t *testing.T) {
	text := helpOf(t)
	if !strings.Contains(text, "\nFor Argo CD: generate, serve\n") {
		t.Errorf("the help does not name the commands for Argo CD:\n%s", text)
	}
	for _, name := range []string{"generate", "serve"} {
		if strings.Contains(text, "\n  "+name+" ") {
			t.Errorf("the help describes cmp %s:\n%s", name, text)
		}
	}
}

// TestHelpAll makes sure that few flags are shown, and all of them on demand.
func TestHelpAll(t *testing.T) {
	short, all := helpOf(t, "render"), helpOf(t, "render", "--help-all")
	for _, c := range []struct {
		text, flag string
		shown      bool
	}{
		{short, "--values ", true}, {short, "name-prefix ", false}, {short, "--remote-ttl ", false}, {short, "--quiet ", true},
		{all, "--values ", true}, {all, "  name-prefix ", true}, {all, "--remote-ttl ", true}, {all, "      --help-all", false},
	} {
		if strings.Contains(c.text, c.flag) != c.shown {
			t.Errorf("%s is shown: %t, want %t, in\n%s", c.flag, !c.shown, c.shown, c.text)
		}
	}
	if !strings.Contains(short, `Use "cmp render --help-all" for `) {
		t.Errorf("the help does not say how to see all flags:\n%s", short)
	}
}

func helpOf(t *testing.T, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	if code := run(append(args, "--help"), cli.Streams{In: strings.NewReader(""), Out: &out, Err: &out}); code != exitOK {
		t.Fatalf("%v --help exits with %d", args, code)
	}
	return out.String()
}
