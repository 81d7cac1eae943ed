package main

import (
	"io"
	"net/http"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ladder-cmp/ladder/internal/cli"
)

// inTurn runs scripts one after the other: their commands have the working directory and the
// environment of the script, of which this process has one.
type inTurn struct{ *testing.T }

func (inTurn) Parallel()       {}
func (t inTurn) Verbose() bool { return testing.Verbose() }
func (t inTurn) Run(name string, f func(testscript.T)) {
	t.T.Run(name, func(t *testing.T) { f(inTurn{t}) })
}

// runs is the command "run PROGRAM ARGS...": it does what exec does, in the process of the test.
// What needs one of its own (a terminal, a shell, the end of the process) is for exec.
func runs(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) == 0 {
		ts.Fatalf("usage: run PROGRAM ARGS...")
	}
	if code, _, _ := runHere(ts, args); (code != exitOK) != neg {
		ts.Fatalf("exit code %d", code)
	}
}

// runHere runs a command line in this process, as main does, in the directory and with the
// environment of a script.
func runHere(ts *testscript.TestScript, args []string) (code int, stdout, stderr string) {
	input := ""
	if hidden(ts, "stdin").Len() > 0 { // the next process has it
		ts.Check(ts.Exec("cat"))
		input = ts.ReadFile("stdout")
	}
	here, err := os.Getwd()
	ts.Check(err)
	env, transport, errs := os.Environ(), http.DefaultTransport, os.Stderr
	defer func() {
		http.DefaultTransport, os.Stderr = transport, errs
		ts.Check(setEnvironment(env))
		ts.Check(os.Chdir(here))
	}()
	ts.Check(setEnvironment(environment(ts)))
	ts.Check(os.Chdir(ts.MkAbs(".")))
	var out, faults strings.Builder
	code = program(args, cli.Streams{In: strings.NewReader(input), Out: &out, Err: &faults})
	io.WriteString(ts.Stdout(), out.String())
	io.WriteString(ts.Stderr(), faults.String())
	return code, out.String(), faults.String()
}

// environment returns the environment of a script.
func environment(ts *testscript.TestScript) []string {
	env := []string{"PWD=" + ts.MkAbs(".")}
	for all := hidden(ts, "envMap").MapRange(); all.Next(); {
		env = append(env, all.Key().String()+"="+all.Value().String())
	}
	return env
}

// hidden is one of a script that the library has no method for.
func hidden(ts *testscript.TestScript, name string) reflect.Value {
	return reflect.ValueOf(ts).Elem().FieldByName(name)
}

func setEnvironment(env []string) error {
	os.Clearenv()
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	return nil
}
