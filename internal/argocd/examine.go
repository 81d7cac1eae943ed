package argocd

import (
	"context"
	"time"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/internal/doctor"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/server"
)

// checkPatience is how long a health check of a few lines may run.
const checkPatience = 5 * time.Second

// Examine finds what is wrong with an Argo CD.
func Examine(ctx context.Context, e doctor.Input) []finding.Finding {
	e.Serve = server.FlagsOf
	e.JudgeHealth = func(script string) []string {
		ctx, cancel := context.WithTimeout(ctx, checkPatience)
		defer cancel()
		return fleet.JudgeChildHealth(ctx, script)
	}
	return doctor.Examine(e)
}
