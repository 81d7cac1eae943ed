package server

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// sparse rate-limits log lines, and adds the number of suppressed ones.
type sparse struct {
	slog.Handler
	last *lastLine
}

// Handle implements slog.Handler.
func (s *sparse) Handle(ctx context.Context, r slog.Record) error {
	s.last.mu.Lock()
	defer s.last.mu.Unlock()
	if now := time.Now(); now.Sub(s.last.at) < sparsePace {
		s.last.kept++
		return nil
	} else {
		s.last.at = now
	}
	if s.last.kept > 0 {
		r.AddAttrs(slog.Int("kept_back", s.last.kept))
		s.last.kept = 0
	}
	return s.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (s *sparse) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &sparse{s.Handler.WithAttrs(attrs), s.last}
}

// WithGroup implements slog.Handler.
func (s *sparse) WithGroup(name string) slog.Handler {
	return &sparse{s.Handler.WithGroup(name), s.last}
}

type lastLine struct {
	mu   sync.Mutex
	at   time.Time
	kept int
}

// sparsePace is the minimum time between two lines.
const sparsePace = time.Minute
