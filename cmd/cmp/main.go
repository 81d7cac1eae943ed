// Command cmp computes the order in which Argo CD applies a component: on the command line, as
// the command of a config management plugin, and as its server.
package main

import (
	"errors"
	"log"
	"net/http"
	"os"
	_ "time/tzdata" // a worker reads no files, and the image has none: dateInZone knew UTC only

	"github.com/ladder-cmp/ladder/internal/cli"
)

// release is the version of the program, set by -ldflags in a release build.
var release = "dev"

func main() {
	os.Exit(program(os.Args, cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}

// program runs a command line, whose first argument is the program's name, and what libraries
// do in its process. It returns the exit code.
func program(args []string, s cli.Streams) int {
	http.DefaultTransport = noNetwork{}
	log.SetFlags(0)
	log.SetOutput(cli.NewLibraryLog(s.Err))
	wait := cli.DivertStderr(cli.NewLibraryLog(s.Err))
	defer wait()
	s.Name = cli.ProgramName(args[0])
	return run(args[1:], s)
}

// noNetwork fails every HTTP request of a library. The renderers reject remote files by name
// before a library sees them; this is a safeguard in case they miss one.
type noNetwork struct{}

func (noNetwork) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("network access is disabled; copy the file into the repository")
}
