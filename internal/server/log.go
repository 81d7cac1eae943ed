package server

import (
	"io"
	"log/slog"

	"github.com/ladder-cmp/ladder/internal/usage"
)

// NewLogger returns a logger with a format, text or json, and a minimum level.
func NewLogger(out io.Writer, format, level string) (*slog.Logger, error) {
	opt := &slog.HandlerOptions{}
	var least slog.Level
	if err := least.UnmarshalText([]byte(level)); err != nil {
		return nil, usage.Errorf("unknown log level %q; use debug, info, warn or error", level)
	}
	opt.Level = least
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(out, opt)), nil
	case "json":
		opt.ReplaceAttr = inSeconds
		return slog.New(slog.NewJSONHandler(out, opt)), nil
	}
	return nil, usage.Errorf("unknown log format %q; use text or json", format)
}

// inSeconds converts durations to seconds, since JSON has no format for them.
func inSeconds(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.Float64Value(a.Value.Duration().Seconds())
	}
	return a
}
