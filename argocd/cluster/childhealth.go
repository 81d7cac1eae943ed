package cluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
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
	{"could not be synced (Healthy since Argo CD 3.4.2)", childStatus("OutOfSync", "Failed", "main"), false},
	{"has not been compared with its new spec", childStatus("Synced", "Succeeded", "old"), false},
	{"is Healthy", childStatus("Synced", "Succeeded", "main"), true},
}

// childStatus is the status of a child that is Healthy.
func childStatus(sync, phase, revision string) map[string]any {
	return map[string]any{
		"health":         map[string]any{"status": "Healthy"},
		"sync":           map[string]any{"status": sync, "comparedTo": childSpec(revision)},
		"operationState": map[string]any{"phase": phase},
	}
}

// childSpec is what Argo CD compares a child with.
func childSpec(revision string) map[string]any {
	return map[string]any{
		"source":      map[string]any{"repoURL": "https://git.example.com/x.git", "path": "child", "targetRevision": revision},
		"destination": map[string]any{"server": "https://kubernetes.default.svc", "namespace": "child"},
	}
}

// childHealthTimeout limits the run time of a health check.
const childHealthTimeout = 5 * time.Second

// checkChildHealth runs a health check for Applications, and returns a message for each
// health that it reports wrongly, with the states.
func checkChildHealth(ctx context.Context, script string) []string {
	ctx, cancel := context.WithTimeout(ctx, childHealthTimeout)
	defer cancel()
	wrong := map[string][]string{} // states by health
	for _, state := range childStates {
		obj := map[string]any{"apiVersion": argocd.APIVersion, "kind": "Application", "metadata": map[string]any{"name": "child"},
			"spec": childSpec("main")}
		if state.status != nil {
			obj["status"] = state.status
		}
		status, _, err := health.Run(ctx, script, obj)
		if err != nil {
			return []string{"the health check for Applications fails: " + err.Error()}
		}
		if (status == "Healthy") != state.healthy {
			wrong[status] = append(wrong[status], state.name)
		}
	}
	var all []string
	for _, status := range slices.Sorted(maps.Keys(wrong)) {
		all = append(all, fmt.Sprintf("the health check for Applications returns %q for a child that %s", status,
			strings.Join(wrong[status], ", or that ")))
	}
	return all
}
