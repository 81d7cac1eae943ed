package sidecar

import (
	"log/slog"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ladder-cmp/ladder/sidecar/task"
)

// TestClock makes sure that what is measured is measured with the clock that
// nobody can set: a jump of the other one makes no response old and no request late.
func TestClock(t *testing.T) {
	t.Parallel()
	s := newServer(Config{Cache: 1 << 20, CacheAge: time.Hour, Timeout: time.Hour, Render: time.Hour, Log: slog.New(slog.DiscardHandler),
		Metrics: prometheus.NewRegistry()})
	req := &request{subject: subject{dir: "app"}, input: task.Input{Repo: fstest.MapFS{}, Dir: "app", Env: map[string]string{}}}
	_, _, flight, err := s.results.lookUp(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	flight.land(task.Response{}, nil)
	times := map[string]time.Time{"the age of a response": s.results.find(req).created}
	ctx, cancel := limitTime(t.Context(), time.Hour)
	defer cancel()
	times["a request"], _ = ctx.Deadline()
	rendering, err := s.scheduler.acquire(t.Context(), tenant{}, false)
	if err != nil {
		t.Fatal(err)
	}
	defer rendering.release()
	times["a rendering"] = rendering.until
	for what, at := range times {
		if !strings.Contains(at.String(), " m=") {
			t.Errorf("%s is measured with the clock on the wall", what)
		}
	}
}
