package sidecartest

import (
	"context"

	"github.com/ladder-cmp/ladder/sidecar/task"
)

// Tasks are tasks as functions; those that a test does not run may be nil. It
// implements task.Runner.
type Tasks struct {
	Generate func(context.Context, task.Input) (task.Output, error)
	Match    func(context.Context, task.Input) (bool, error)
}

// Run implements task.Runner.
func (t Tasks) Run(ctx context.Context, name task.Name, in task.Input) (task.Response, error) {
	if name == task.Match {
		matched, err := t.Match(ctx, in)
		return task.Response{Matched: matched}, err
	}
	out, err := t.Generate(ctx, in)
	return task.Response{Output: out}, err
}
