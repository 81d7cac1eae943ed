package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/ladder-cmp/ladder/internal/cli"
)

// TestFleetInterrupted asks for a report and does not wait for it.
func TestFleetInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errs bytes.Buffer
	root := newRoot(cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}, &maxMemory{})
	root.SetArgs([]string{"check", "../../testdata/fleets/bands/components", "-o", "json"})
	err := root.ExecuteContext(ctx)
	if err == nil || !strings.Contains(err.Error(), "interrupted") {
		t.Errorf("got the error %v, want one that says it was interrupted", err)
	}
	if out.Len() > 0 || errs.Len() > 0 {
		t.Errorf("got output: %q and %q", out.String(), errs.String())
	}
}
