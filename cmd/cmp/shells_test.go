//go:build shells && linux

package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A key that makes each shell print its line; the line editor takes it when the
// completion before it is done.
const showKey = "\x18" // Ctrl-X

// TestShells types into the real shells, which run the completion scripts, and
// looks at what they make of the line. It needs bash with bash-completion, zsh
// and fish.
func TestShells(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"apps/shop/a.yaml":         "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n",
		"apps/shop/component.yaml": "rolloutPhase: 650\n",
		"src/main.go":              "package main\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, shell := range map[string]struct {
		args []string
		// begin makes the shell ready, and say so.
		begin string
	}{
		"bash": {[]string{"bash", "--norc", "--noprofile", "-i"},
			`PS1='$ '; bind 'set bell-style none'; source /usr/share/bash-completion/bash_completion; source <(cmp completion bash); ` +
				`bind -x '"\C-x": echo "LINE<$READLINE_LINE>"'; echo REA""DY`},
		"zsh": {[]string{"zsh", "-f", "-i"}, `PROMPT='$ '; unsetopt beep; autoload -Uz compinit; compinit -u -D; ` +
			`source <(cmp completion zsh); show() { print -r -- "LINE<$BUFFER>" }; zle -N show; bindkey '^X' show; echo REA""DY`},
		"fish": {[]string{"fish", "--no-config", "-i"},
			`function fish_prompt; echo '$ '; end; cmp completion fish | source; bind \cx 'echo LINE"<"(commandline)">"'; echo REA""DY`},
	} {
		t.Run(name, func(t *testing.T) {
			for typed, want := range map[string]string{
				"cmp expl":                        "cmp explain ",
				"cmp render ap":                   "cmp render apps/",
				"cmp render apps/s":               "cmp render apps/shop ",
				"cmp render s":                    "cmp render s", // no component is there
				"cmp explain apps/shop Conf":      "cmp explain apps/shop ConfigMap/settings ",
				"cmp fleet simulate apps --fail ": "cmp fleet simulate apps --fail shop ",
				"cmp render --author-waves ref":   "cmp render --author-waves refine ",
				"cmp explain apps/gone Conf":      "cmp explain apps/gone Conf",
			} {
				if got := typedInto(t, dir, shell.args, shell.begin, typed); got != want {
					t.Errorf("%q becomes %q, want %q", typed, got, want)
				}
			}
		})
	}
}

var shownLine = regexp.MustCompile(`LINE<([^>]*)>`)

// typedInto is what the line of a shell is after a text and a tab.
func typedInto(t *testing.T, dir string, args []string, begin, typed string) string {
	t.Helper()
	master, slave := openTerminal(t, 200)
	defer master.Close()
	shell := exec.Command(args[0], args[1:]...)
	shell.Dir = dir
	shell.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TERM=xterm", "LANG=C.UTF-8"}
	shell.Stdin, shell.Stdout, shell.Stderr = slave, slave, slave
	shell.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := shell.Start(); err != nil {
		t.Fatal(err)
	}
	slave.Close()
	defer func() {
		_ = shell.Process.Kill()
		_ = shell.Wait()
	}()
	timer := time.AfterFunc(time.Minute, func() { _ = shell.Process.Kill() }) // a shell that hangs
	defer timer.Stop()
	in := bufio.NewReader(master)
	var seen strings.Builder
	until := func(found func() bool) bool {
		for !found() {
			b, err := in.ReadByte()
			if err != nil {
				t.Errorf("the shell ended: %q", seen.String())
				return false
			}
			seen.WriteByte(b)
		}
		return true
	}
	if _, err := io.WriteString(master, begin+"\r"); err != nil {
		t.Fatal(err)
	}
	if !until(func() bool { return strings.Contains(seen.String(), "READY") }) {
		return ""
	}
	seen.Reset() // the line that made it ready names the mark, too
	if _, err := io.WriteString(master, typed+"\t"+showKey); err != nil {
		t.Fatal(err)
	}
	until(func() bool { return shownLine.MatchString(seen.String()) })
	found := shownLine.FindStringSubmatch(seen.String())
	if found == nil {
		return ""
	}
	return found[1]
}
