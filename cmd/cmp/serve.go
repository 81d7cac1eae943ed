package main

import (
	"fmt"
	"os/exec"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/cli"
	"github.com/ladder-cmp/ladder/internal/cli/flags"
	"github.com/ladder-cmp/ladder/plugin"
	"github.com/ladder-cmp/ladder/sidecar/serve"
	"github.com/ladder-cmp/ladder/wave"
)

func newServe(s cli.Streams) *cobra.Command {
	var opt serve.Options
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the plugin server for Argo CD's repo-server",
		Long: `Run the plugin server for Argo CD's repo-server, as the sidecar does. It listens on the
socket ` + plugin.Name + `.sock in the directory in which the repo-server looks for plugins.

Components are rendered in separate processes, which are killed when they exceed their
time or memory limit. Each flag has an environment variable: --worker-memory is
` + cli.Variable("worker-memory") + `. A changed ` + flags.LadderVariable + ` file is reloaded while the server runs.`,
		Example: `  cmp serve --operations-address :9402 --parallel 2
  cmp serve --check`,
		Args: cli.Args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := serve.Complete(cmd.Flags(), cli.Environment()); err != nil {
				return err
			}
			if opt.CheckOnly {
				return opt.Check(cmd.Context())
			}
			return opt.Serve(cmd.Context(), s.Err)
		},
	}
	opt.AddFlags(cmd.Flags())
	cli.Choices(cmd, "explain", string(wave.ExplainOff), string(wave.InAnnotations))
	opt.WorkerCommand, opt.Release, opt.Version = workerCommand, release, cli.Version(release)
	opt.Remote.Config.Process = fetchCommand
	return cmd
}

// workerCommand returns the command that runs this program as a worker, with an empty
// environment.
func workerCommand(remember bool) *exec.Cmd {
	return thisProgram(workerName, fmt.Sprintf("--%s=%v", rememberFlag, remember))
}
