package main

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/fleet/lint"
	"github.com/ladder-cmp/ladder/fleet/rollout"
	"github.com/ladder-cmp/ladder/fleet/show"
	"github.com/ladder-cmp/ladder/internal/draw"
)

// graph draws a fleet, or a component with its dependencies and dependents.
func (in *fleetInputs) graph(cmd *cobra.Command, s streams, dirs []string, component string, all bool, format draw.Format) (string, error) {
	f, err := in.load(cmd, s, dirs)
	if err != nil {
		return "", err
	}
	opt := show.GraphOptions{All: all}
	if cmd.Flags().Changed("component") {
		if opt.Around, err = rollout.FindComponent(f, component); err != nil {
			return "", err
		}
	}
	warn(s, slices.Concat(lint.Rendering(f, in.source.Environment, nil), in.omissions))
	return show.Graph(f, opt).Draw(format), nil
}
