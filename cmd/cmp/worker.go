package main

import (
	"log"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/cli"
	"github.com/ladder-cmp/ladder/internal/fetch"
	"github.com/ladder-cmp/ladder/sidecar/serve"
)

const (
	workerName   = "worker"
	rememberFlag = "remember"
)

// newWorker returns the command for the process in which cmp serve renders a component.
func newWorker(s cli.Streams) *cobra.Command {
	var remember bool
	cmd := &cobra.Command{
		Use:    workerName,
		Short:  "Render components for cmp serve, which starts this command",
		Hidden: true,
		Args:   cli.Args(0, 0),
		RunE: func(*cobra.Command, []string) error {
			return serve.Work(s.In, s.Out, remember)
		},
	}
	cmd.Flags().BoolVar(&remember, rememberFlag, true, "Cache decoded documents and schemas")
	return cmd
}

const fetcherName = "fetcher"

// newFetcher returns the command for the process in which cmp serve fetches one source.
func newFetcher(s cli.Streams) *cobra.Command {
	return &cobra.Command{
		Use:    fetcherName,
		Short:  "Fetch one source for cmp serve, which starts this command",
		Hidden: true,
		Args:   cli.Args(0, 0),
		RunE: func(*cobra.Command, []string) error {
			log.SetOutput(os.Stderr)
			os.Stdout = os.Stderr // standard output carries only messages
			return fetch.Work(s.In, s.Out)
		},
	}
}

// fetchCommand returns the command that runs this program as a fetcher. It passes only the
// location of the system's CA certificates and the proxies from the server's environment.
func fetchCommand() *exec.Cmd {
	cmd := thisProgram(fetcherName)
	for _, name := range []string{"SSL_CERT_FILE", "SSL_CERT_DIR"} {
		if value, set := os.LookupEnv(name); set {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	return cmd
}

// thisProgram returns a command that runs this program with an empty environment.
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
