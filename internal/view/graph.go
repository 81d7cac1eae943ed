package view

import (
	"context"
	"slices"

	"github.com/ladder-cmp/ladder/fleet/lint"
	"github.com/ladder-cmp/ladder/fleet/rollout"
	"github.com/ladder-cmp/ladder/fleet/show"
	"github.com/ladder-cmp/ladder/internal/draw"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/fleets"
	"github.com/ladder-cmp/ladder/internal/inputs"
	"github.com/ladder-cmp/ladder/wave/explain"
)

// GraphOptions say what to draw.
type GraphOptions struct {
	Format draw.Format
	// Around is the object or component to draw with its dependencies and dependents; nil draws
	// everything.
	Around *string
	// All also draws references that do not affect the order, and does not group objects.
	All bool
}

// Graph draws the waves of the component in dir.
func Graph(ctx context.Context, opt inputs.Options, dir string, graph GraphOptions) (drawing string, found []finding.Finding, err error) {
	res, err := opt.Generate(ctx, dir)
	if err != nil {
		return "", res.Findings, err
	}
	of := draw.Options{All: graph.All, ApplicationNames: res.GeneratedNames()}
	if graph.Around != nil {
		if of.Focus, err = explain.Find(res.Plan, *graph.Around); err != nil {
			return "", nil, err
		}
	}
	return draw.Ladder(res.Plan, graph.Format, of), res.Findings, nil
}

// FleetGraph draws the steps of a fleet.
func FleetGraph(ctx context.Context, opt fleets.Options, dirs []string, graph GraphOptions) (drawing string, found []finding.Finding, err error) {
	all, err := fleets.Load(ctx, opt, dirs)
	if err != nil {
		return "", nil, err
	}
	of := show.GraphOptions{All: graph.All}
	if graph.Around != nil {
		if of.Around, err = rollout.FindComponent(all.Fleet, *graph.Around); err != nil {
			return "", nil, err
		}
	}
	found = slices.Concat(lint.Rendering(all.Fleet, opt.Source.Environment, nil), all.Omissions)
	return show.Graph(all.Fleet, of).Draw(graph.Format), found, nil
}
