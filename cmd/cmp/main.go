// Command cmp computes the order in which Argo CD applies a component: on a
// laptop, as the command of a Config Management Plugin, and as its server.
package main

import (
	"errors"
	"log"
	"net/http"
	"os"
	_ "time/tzdata" // a worker reads no files, and the image has none: dateInZone knew UTC only

	"github.com/ladder-cmp/ladder/internal/help"
	"github.com/ladder-cmp/ladder/internal/librarylog"
)

func main() {
	http.DefaultTransport = noNetwork{}
	log.SetFlags(0)
	out := streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Name: help.Program(os.Args[0])}
	log.SetOutput(librarylog.New(out.Err))
	wait := librarylog.DivertStderr(librarylog.New(out.Err))
	code := run(os.Args[1:], out)
	wait()
	os.Exit(code)
}

// noNetwork answers whatever a library would fetch. The renderers refuse remote
// files by name before a library sees them; this is for the day when they
// overlook one.
type noNetwork struct{}

func (noNetwork) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("nothing is fetched; copy it into the repository")
}
