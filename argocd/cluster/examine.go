package cluster

import (
	"context"

	"github.com/ladder-cmp/ladder/argocd/doctor"
	"github.com/ladder-cmp/ladder/internal/finding"
)

// Examine finds what is wrong with an Argo CD.
func Examine(ctx context.Context, e doctor.Input) []finding.Finding {

	e.CheckHealth = func(script string) []string { return checkChildHealth(ctx, script) }
	return doctor.Examine(e)
}
