package cluster

import (
	"context"
	"fmt"
	"time"

	"github.com/ladder-cmp/ladder/argocd"
	"github.com/ladder-cmp/ladder/argocd/health"
)

// The states that a health check for Applications must report correctly, so that waves between
// Applications have an effect.
var childStates = []struct {
	name   string
	status map[string]any
	// healthy is the state that the check must return.
	healthy bool
}{
	{"has no status yet", nil, false},
	{"is Progressing", map[string]any{"health": map[string]any{"status": "Progressing"}}, false},
	{"is Degraded", map[string]any{"health": map[string]any{"status": "Degraded"}}, false},
	{"is Healthy", map[string]any{"health": map[string]any{"status": "Healthy"}, "sync": map[string]any{"status": "Synced"},
		"operationState": map[string]any{"phase": "Succeeded"}}, true},
}

// childHealthTimeout limits the run time of a health check.
const childHealthTimeout = 5 * time.Second

// checkChildHealth runs a health check for Applications, and returns a message for each
// health state that it reports wrongly.
func checkChildHealth(ctx context.Context, script string) []string {
	ctx, cancel := context.WithTimeout(ctx, childHealthTimeout)
	defer cancel()
	var all []string
	for _, state := range childStates {
		obj := map[string]any{"apiVersion": argocd.APIVersion, "kind": "Application", "metadata": map[string]any{"name": "child"},
			"spec": map[string]any{}}
		if state.status != nil {
			obj["status"] = state.status
		}
		status, _, err := health.Run(ctx, script, obj)
		if err != nil {
			return append(all, "the health check for Applications fails: "+err.Error())
		}
		if (status == "Healthy") != state.healthy {
			all = append(all, fmt.Sprintf("the health check for Applications returns %q for a child that %s", status, state.name))
		}
	}
	return all
}
