package sidecar

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
)

// Input is a request: a repository, the directory of the Application in it and
// the Application's environment, with the variables that Argo CD gives to a
// plugin.
type Input struct {
	Repo fs.FS
	Dir  string
	Env  map[string]string
	// Fetch gets what the server's Source has; nil if it has none. A task that gets
	// an error ends with one.
	Fetch func(ctx context.Context, key string) (Found, error)

	// digest is the Source's.
	digest func(key string) string
	// tenant is who the request is for.
	tenant tenant
	// turn is that of the rendering; nil outside of a server.
	turn *turn
	// part reads a part of what Fetch has found.
	part func(key string, from int64) ([]byte, error)
}

// Output is an answer, with what the log says about it.
type Output struct {
	Manifests []string
	// Expanded is how many bytes the manifests come to where their aliases are followed;
	// 0 is as many as they are.
	Expanded int
	// Log holds key and value pairs for the line about the request: strings,
	// numbers, booleans. Nothing secret may be in it.
	Log []any
	// Measures are sizes of the answer, for metrics, by what is counted.
	Measures map[string]int
	// Remarks are lines of their own behind that one.
	Remarks []Remark
	// Unused names variables of the environment that made no difference,
	// though they could have: with other values the answer is the same.
	Unused []string
}

// Remark is a line of the log. Nothing secret may be in it, either.
type Remark struct {
	Level slog.Level
	Text  string
}

// Tasks are what the plugin does. The functions are called by several
// goroutines. They return soon after their context has ended.
type Tasks struct {
	// Generate renders manifests.
	Generate func(context.Context, Input) (Output, error)
	// Match says whether there is anything to render.
	Match func(context.Context, Input) (bool, error)
}

// task names one of Tasks.
type task string

const (
	generate task = "generate"
	match    task = "match"
	// parameters needs no work.
	parameters task = "parameters"
)

// answer is what a task comes to.
type answer struct {
	Output  Output // of generate
	Matched bool   // of match
}

func (t Tasks) run(ctx context.Context, what task, in Input) (answer, error) {
	switch what {
	case generate:
		out, err := t.Generate(ctx, in)
		if err == nil {
			err = checkSize(in.Dir, out.Manifests)
		}
		return answer{Output: out}, err
	case match:
		matched, err := t.Match(ctx, in)
		return answer{Matched: matched}, err
	}
	return answer{}, fmt.Errorf("there is no task %q", what)
}
