package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ladder-cmp/ladder/internal/golden"
)

// openTerminal returns both ends of a pseudo terminal of some width.
func openTerminal(t *testing.T, width uint16) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(int(master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: width}); err != nil {
		t.Fatal(err)
	}
	slave, err = os.OpenFile(filepath.Join("/dev/pts", strconv.Itoa(number)), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return master, slave
}

// onTerminal runs the program with its output and errors on a terminal, and
// returns what is seen there.
func onTerminal(t *testing.T, width uint16, env []string, args ...string) string {
	t.Helper()
	master, slave := openTerminal(t, width)
	defer master.Close()
	program := exec.Command("cmp", args...)
	program.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "TERM=xterm"}, env...)
	program.Stdout, program.Stderr = slave, slave
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	slave.Close()
	seen := make(chan string)
	go func() {
		text, _ := io.ReadAll(master) // ends with EIO when the program does
		seen <- string(text)
	}()
	_ = program.Wait() // findings exit with 1
	return strings.ReplaceAll(<-seen, "\r\n", "\n")
}

const shop = "../../testdata/components/shop"

// TestTerminal shows what people see: testdata/screen has it with ^[ for the
// character that begins a colour.
func TestTerminal(t *testing.T) {
	for name, args := range map[string][]string{
		"explain": {"explain", shop},
		"check":   {"check", "testdata/screen/late.yaml"},
		"warning": {"render", "testdata/screen/useless", "--param", "skip-tests=true"},
		"fleet":   {"check", "../../testdata/fleets/faults/components"},
	} {
		// A dumb terminal gets no bar that shows the progress, which depends on time.
		got := onTerminal(t, 100, []string{"TERM=dumb", "CLICOLOR_FORCE=1"}, args...)
		golden.File(t, filepath.Join("testdata/screen", name+".want.txt"), strings.ReplaceAll(got, "\x1b", "^["))
	}
}

// TestColours asks for colours and against them, on a terminal and in a pipe.
func TestColours(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		env, flag string
		// terminal and pipe say whether there are colours.
		terminal, pipe bool
	}{
		{terminal: true},
		{env: "TERM=dumb"},
		{env: "NO_COLOR=1"},
		{env: "NO_COLOR=", terminal: true},
		{env: "CLICOLOR_FORCE=1", terminal: true, pipe: true},
		{env: "CLICOLOR_FORCE=0", terminal: true},
		{env: "NO_COLOR=1 CLICOLOR_FORCE=1"},
		{env: "TERM=dumb CLICOLOR_FORCE=1", terminal: true, pipe: true},
		{flag: "auto", terminal: true},
		{flag: "never"},
		{flag: "never", env: "CLICOLOR_FORCE=1"},
		{flag: "always", terminal: true, pipe: true},
		{flag: "always", env: "NO_COLOR=1 TERM=dumb", terminal: true, pipe: true},
	} {
		args := []string{"check", "testdata/screen/late.yaml"}
		if c.flag != "" {
			args = append(args, "--color", c.flag)
		}
		env := strings.Fields(c.env)
		if got := strings.Contains(onTerminal(t, 80, env, args...), "\x1b["); got != c.terminal {
			t.Errorf("%q, --color %q: colours on a terminal: %t", c.env, c.flag, got)
		}
		piped := exec.Command("cmp", args...)
		piped.Env = append([]string{"PATH=" + os.Getenv("PATH"), "TERM=xterm"}, env...)
		out, _ := piped.Output() // findings exit with 1
		if got := strings.Contains(string(out), "\x1b["); got != c.pipe {
			t.Errorf("%q, --color %q: colours in a pipe: %t", c.env, c.flag, got)
		}
	}
}

// TestNothingElseIsShown makes sure that manifests and documents come to a
// terminal as they are, and that what programs read has no colours in any case.
func TestNothingElseIsShown(t *testing.T) {
	for _, args := range [][]string{
		{"render", "testdata/screen/table"},
		{"explain", shop, "-o", "json"},
		{"graph", shop, "-o", "dot"},
		{"completion", "zsh"},
	} {
		piped, err := exec.Command("cmp", args...).Output()
		if err != nil {
			t.Fatal(err)
		}
		if got := onTerminal(t, 40, []string{"CLICOLOR_FORCE=1"}, args...); got != string(piped) {
			t.Errorf("cmp %s is not the same on a terminal", strings.Join(args, " "))
		}
	}
}
