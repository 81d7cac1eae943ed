package main

import (
	"log"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/fetch"
)

const fetcherName = "fetcher"

// newFetcher is the process in which cmp serve fetches one thing.
func newFetcher(s streams) *cobra.Command {
	return &cobra.Command{
		Use:    fetcherName,
		Short:  "Fetch one thing for cmp serve, which starts this itself",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			log.SetOutput(os.Stderr)
			os.Stdout = os.Stderr // the connection is for messages alone
			return fetch.Work(s.In, s.Out)
		},
	}
}

// fetchCommand is this program as a fetcher. Of the server's environment it sees where
// the system's authorities are, and nothing else; proxies it is told.
func fetchCommand() *exec.Cmd {
	cmd := thisProgram(fetcherName)
	for _, name := range []string{"SSL_CERT_FILE", "SSL_CERT_DIR"} {
		if value, set := os.LookupEnv(name); set {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	return cmd
}

// thisProgram is this program as another process, which sees nothing of the environment.
func thisProgram(args ...string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	cmd := exec.Command(self, args...)
	cmd.Env = []string{}
	cmd.Dir = string(filepath.Separator)
	return cmd
}
