package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/fleet"
)

// loadUnrendered loads a fleet without rendering it, to complete its names.
func loadUnrendered(cmd *cobra.Command, dirs []string) (*fleet.Fleet, error) {
	in := fleetInputs{source: fleet.Source{SkipRendering: true}, ladder: new(string)}
	return in.load(cmd, streams{Err: io.Discard}, dirs)
}
