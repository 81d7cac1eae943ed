package serve

import (
	"bytes"
	"io"
	"log"
	"os"
	"strings"
	"sync"

	"github.com/ladder-cmp/ladder/internal/cli"
	"github.com/ladder-cmp/ladder/internal/cli/flags"
	"github.com/ladder-cmp/ladder/sidecar/task"
	"github.com/ladder-cmp/ladder/sidecar/worker"
)

// Work is the main function of a worker process. Log messages of libraries become
// remarks of the response.
func Work(in io.Reader, out io.Writer, cache bool) error {
	lines := &libraryLines{}
	log.SetOutput(cli.NewLibraryLog(lines))
	os.Stdout = os.Stderr // the connection is only for messages
	return worker.Main(in, out, func(text []byte) (task.Runner, error) {
		base, err := flags.KnowledgeWith(text)
		return newTasks(base, cache, lines), err
	})
}

// libraryLines collects log messages of libraries during a rendering.
type libraryLines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// maxLibraryText limits what libraries log in a rendering, in bytes: a line for each value of a
// chart, if its author wants it.
const maxLibraryText = task.MaxRemarks * task.MaxLine

func (l *libraryLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if room := maxLibraryText - l.text.Len(); len(p) <= room {
		return l.text.Write(p)
	}
	return len(p), nil
}

// take returns the lines since the last call, each once: a rendering may be repeated.
func (l *libraryLines) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := strings.TrimSpace(l.text.String())
	l.text.Reset()
	if text == "" {
		return nil
	}
	var lines []string
	seen := map[string]bool{}
	for line := range strings.SplitSeq(text, "\n") {
		if !seen[line] {
			lines = append(lines, line)
		}
		seen[line] = true
	}
	return lines
}
