package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/fleet"
)

// described loads a fleet without rendering it, to complete its names.
func described(cmd *cobra.Command, dirs []string) (*fleet.Fleet, error) {
	in := fleetInputs{source: fleet.Source{SkipRendering: true}, ladder: new(string)}
	return in.load(cmd, streams{Err: io.Discard}, dirs)
}
