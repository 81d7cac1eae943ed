package server

import (
	"bytes"
	"context"
	"io"
	"log"
	"log/slog"
	"os"
	"strings"
	"sync"

	"github.com/ladder-cmp/ladder/internal/ladderfile"
	"github.com/ladder-cmp/ladder/internal/librarylog"
	"github.com/ladder-cmp/ladder/sidecar/task"
	"github.com/ladder-cmp/ladder/sidecar/worker"
)

// Work is the main function of a worker process. Log messages of libraries become
// remarks of the answer.
func Work(in io.Reader, out io.Writer, remember bool) error {
	said := &lines{}
	log.SetOutput(librarylog.New(said))
	os.Stdout = os.Stderr // the connection is only for messages
	return worker.Main(in, out, func(text []byte) (task.Tasks, error) {
		base, err := ladderfile.With(text)
		all := tasks(base, remember)
		generate := all.Generate
		all.Generate = func(ctx context.Context, req task.Input) (task.Output, error) {
			said.take()
			made, err := generate(ctx, req)
			for _, line := range said.take() {
				made.Remarks = append(made.Remarks, task.Remark{Level: slog.LevelWarn, Text: line})
			}
			return made, err
		}
		return all, err
	})
}

// lines collects log messages of libraries during a rendering.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// take returns the lines since the last call.
func (l *lines) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := strings.TrimSpace(l.text.String())
	l.text.Reset()
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}
