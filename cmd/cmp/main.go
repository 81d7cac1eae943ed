// Command cmp computes the order in which Argo CD applies a component: on a
// laptop, as the command of a Config Management Plugin, and as its server.
package main

import (
	"log"
	"net/http"
	"os"
	_ "time/tzdata" // a worker reads no files, and the image has none: dateInZone knew UTC only
)

func main() {
	http.DefaultTransport = noNetwork{}
	log.SetFlags(0)
	out := streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
	log.SetOutput(libraryLog{out.Err})
	wait := divertStderr(libraryLog{out.Err})
	code := run(os.Args[1:], out)
	wait()
	os.Exit(code)
}
