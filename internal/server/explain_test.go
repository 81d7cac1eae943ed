package server

import (
	"context"
	"testing"

	"github.com/ladder-cmp/ladder/plugin"
	"github.com/ladder-cmp/ladder/sidecar/task"
)

// TestExplained passes the server's default on with each request.
func TestExplained(t *testing.T) {
	got := ""
	opt := Options{Explain: "annotations"}
	all := opt.withDefaultExplain(task.Tasks{Generate: func(_ context.Context, in task.Input) (task.Output, error) {
		got = in.Env[plugin.DefaultExplain] + in.Env["ARGOCD_APP_NAME"]
		return task.Output{}, nil
	}})
	if _, err := all.Generate(t.Context(), task.Input{Env: map[string]string{"ARGOCD_APP_NAME": " shop"}}); err != nil || got != "annotations shop" {
		t.Errorf("got %q, %v", got, err)
	}
}
