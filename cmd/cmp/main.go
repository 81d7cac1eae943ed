// Command cmp computes the order in which Argo CD applies a component: on a
// laptop, as the command of a Config Management Plugin, and as its server.
package main

import (
	"log"
	"net/http"
	"os"
)

func main() {
	http.DefaultTransport = noNetwork{}
	log.SetFlags(0)
	log.SetOutput(libraryLog{os.Stderr})
	os.Exit(run(os.Args[1:], streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}
