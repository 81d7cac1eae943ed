package main

import (
	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/option"
	"github.com/ladder-cmp/ladder/internal/server"
)

const (
	workerName   = "worker"
	rememberFlag = "remember"
)

// newWorker returns the command for the process in which cmp serve renders a component.
func newWorker(s streams) *cobra.Command {
	var remember bool
	cmd := &cobra.Command{
		Use:    workerName,
		Short:  "Render components for cmp serve, which starts this command",
		Hidden: true,
		Args:   option.Args(0, 0),
		RunE: func(*cobra.Command, []string) error {
			return server.Work(s.In, s.Out, remember)
		},
	}
	cmd.Flags().BoolVar(&remember, rememberFlag, true, "Cache decoded documents and schemas")
	return cmd
}
