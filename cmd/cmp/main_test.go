package main

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/tools/txtar"

	"github.com/ladder-cmp/ladder/internal/golden"
	"github.com/ladder-cmp/ladder/internal/startup"
)

func TestMain(m *testing.M) {
	startup.End()            // which would undo the next line
	debug.SetGCPercent(400)  // hundreds of short commands, here and
	os.Setenv("GOGC", "400") // in processes
	own := ownMemory
	ownMemory = func(int64, int, func()) (stop func()) { return func() {} }
	process := func() {
		ownMemory = own
		main()
	}
	testscript.Main(m, map[string]func(){"cmp": process, "ladder": process, "kubectl-ladder": process})
}

// TestScripts runs testdata/script/*.txtar, which use the program as people do
// and can be read as tutorials.
func TestScripts(t *testing.T) {
	deadline, _ := t.Deadline()
	testscript.RunT(inTurn{t}, testscript.Params{
		Dir:                 "testdata/script",
		Deadline:            deadline,
		RequireUniqueNames:  true,
		RequireExplicitExec: true,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"run": runs, "exits": exits, "same": same, "fill": fill},
		Setup:               withRepository,
	})
}

// exits is the command "exits CODE PROGRAM ARGS...": it runs the program, whose
// exit code must be CODE, and which must write nothing to stdout and every
// line of stderr with its name in front.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARGS...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got, stdout, stderr := runHere(ts, args[1:])
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
	if stdout != "" {
		ts.Fatalf("half output: %q", stdout)
	}
	for line := range strings.Lines(stderr) {
		if !strings.HasPrefix(line, "cmp: ") && !strings.HasPrefix(line, "ladder: ") && !strings.HasPrefix(line, "kubectl ladder: ") {
			ts.Fatalf("a fault of more than a line: %q", line)
		}
	}
}

// same is the command "same stdout|stderr FILE": the last program must have
// written just what the file of the script holds. (The usual command for that
// is called cmp.) With -update, the script is rewritten.
func same(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: same stdout|stderr FILE")
	}
	got := ts.ReadFile(args[0])
	if golden.Update() {
		script := filepath.Join("testdata", "script", ts.Name()+".txtar")
		ar, err := txtar.ParseFile(script)
		ts.Check(err)
		for i := range ar.Files {
			if ar.Files[i].Name == args[1] {
				ar.Files[i].Data = []byte(got)
			}
		}
		ts.Check(os.WriteFile(script, txtar.Format(ar), 0o644))
		return
	}
	if diff := gocmp.Diff(ts.ReadFile(ts.Getenv("WORK")+"/"+args[1]), got); diff != "" {
		ts.Fatalf("%s (-want +got):\n%s", args[0], diff)
	}
}
