package main

import (
	"bytes"
	"context"
	"io"
	"log"
	"log/slog"
	"os"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/sidecar"
)

const (
	workerName   = "worker"
	rememberFlag = "remember"
)

// newWorker is the process in which cmp serve renders a component.
func newWorker(s streams) *cobra.Command {
	var remember bool
	cmd := &cobra.Command{
		Use:    workerName,
		Short:  "Render components for cmp serve, which starts this itself",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			said := &lines{}
			log.SetOutput(libraryLog{said})
			os.Stdout = os.Stderr // the connection is for messages alone
			return sidecar.Work(struct {
				io.Reader
				io.Writer
			}{s.In, s.Out}, func(text []byte) (sidecar.Tasks, error) {
				base, err := withLadder(text)
				all := tasks(base, remember)
				generate := all.Generate
				all.Generate = func(ctx context.Context, in sidecar.Input) (sidecar.Output, error) {
					said.take()
					out, err := generate(ctx, in)
					for _, line := range said.take() {
						out.Remarks = append(out.Remarks, sidecar.Remark{Level: slog.LevelWarn, Text: line})
					}
					return out, err
				}
				return all, err
			})
		},
	}
	cmd.Flags().BoolVar(&remember, rememberFlag, true, "Keep what documents and schemas were decoded to")
	return cmd
}

// lines are what libraries log during a rendering.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// take returns what was written since the last time.
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
