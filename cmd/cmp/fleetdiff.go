package main

import (
	"context"

	"github.com/ladder-cmp/ladder/internal/change"
	"github.com/ladder-cmp/ladder/internal/checkout"
	"github.com/ladder-cmp/ladder/internal/compare"
	"github.com/ladder-cmp/ladder/internal/inputs"
)

// diffFleet compares a fleet before and after a change.
func diffFleet(ctx context.Context, s streams, in *inputs.Any, ch checkout.Change, out diffOutput, command string) error {
	opt, err := in.FleetOptions()
	if err != nil {
		return out.exitError(err)
	}
	r, found, err := change.Fleets(ctx, opt, ch, command)
	s.warn(found...)
	if err != nil {
		return out.exitError(err)
	}
	return out.write(s, r, r.Components(), compare.AnyError(r.New), r.Unknown)
}
