package main

import (
	"fmt"
	"os/exec"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/build"
	"github.com/ladder-cmp/ladder/internal/ladderfile"
	"github.com/ladder-cmp/ladder/internal/option"
	"github.com/ladder-cmp/ladder/internal/server"
	"github.com/ladder-cmp/ladder/plugin"
	"github.com/ladder-cmp/ladder/wave"
)

func newServe(s streams) *cobra.Command {
	var opt server.Options
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the plugin server for Argo CD's repo-server",
		Long: `Run the plugin server for Argo CD's repo-server, as the sidecar does. It listens on the
socket ` + plugin.Name + `.sock in the directory in which the repo-server looks for plugins.

Components are rendered in separate processes, which are killed when they exceed their
time or memory limit. Each flag has an environment variable: --worker-memory is
` + option.Variable("worker-memory") + `. A changed ` + ladderfile.Variable + ` file is reloaded while the server runs.`,
		Example: `  cmp serve --operations-address :9402 --parallel 2
  cmp serve --check`,
		Args: option.Args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := server.Complete(cmd.Flags(), option.Environment()); err != nil {
				return err
			}
			if opt.CheckOnly {
				return opt.Check(cmd.Context())
			}
			return opt.Serve(cmd.Context(), s.Err)
		},
	}
	opt.AddFlags(cmd.Flags())
	option.Choices(cmd, "explain", string(wave.ExplainOff), string(wave.InAnnotations))
	opt.WorkerCommand, opt.Release, opt.Version = workerCommand, release, build.Version(release)
	opt.Remote.Config.Process = fetchCommand
	return cmd
}

// workerCommand returns the command that runs this program as a worker, with an empty
// environment.
func workerCommand(remember bool) *exec.Cmd {
	return thisProgram(workerName, fmt.Sprintf("--%s=%v", rememberFlag, remember))
}
