package main

import (
	"context"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/internal/doctor"
	"github.com/ladder-cmp/ladder/internal/finding"
)

// examine looks at an Argo CD.
func examine(ctx context.Context, e doctor.Input) []finding.Finding {
	e.Serve = servingOf
	e.JudgeHealth = func(script string) []string {
		ctx, cancel := context.WithTimeout(ctx, checkPatience)
		defer cancel()
		return fleet.JudgeChildHealth(ctx, script)
	}
	return doctor.Examine(e)
}
