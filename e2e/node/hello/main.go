// Hello is what runs on the node in its own tests: `hello serve` answers requests, and
// `hello ask URL` sends one and fails unless the answer is 200 OK.
package main

import (
	"fmt"
	"net/http"
	"os"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "hello:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 1 && args[0] == "serve" {
		return http.ListenAndServe(":8080", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, "hello") }))
	}
	if len(args) != 2 || args[0] != "ask" {
		return fmt.Errorf("usage: hello serve, or hello ask URL")
	}
	client := http.Client{Timeout: 5 * time.Second}
	answer, err := client.Get(args[1])
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", args[1], answer.Status)
	}
	return nil
}
