package serve

import (
	"fmt"
	"io"
	"log/slog"

	"github.com/ladder-cmp/ladder/internal/finding"
)

// NewLogger returns a logger with a format, text or json, and a minimum level.
func NewLogger(out io.Writer, format, level string) (*slog.Logger, error) {
	opt := &slog.HandlerOptions{ReplaceAttr: cutText}
	var least slog.Level
	if err := least.UnmarshalText([]byte(level)); err != nil {
		return nil, finding.Usagef("unknown log level %q; use debug, info, warn or error", level)
	}
	opt.Level = least
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(out, opt)), nil
	case "json":
		opt.ReplaceAttr = func(groups []string, a slog.Attr) slog.Attr { return cutText(groups, inSeconds(groups, a)) }
		return slog.New(slog.NewJSONHandler(out, opt)), nil
	}
	return nil, finding.Usagef("unknown log format %q; use text or json", format)
}

// inSeconds converts durations to seconds, since JSON has no format for them.
func inSeconds(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.Float64Value(a.Value.Duration().Seconds())
	}
	return a
}

// maxLogText limits a message and an attribute of the log, in bytes: whatever logs it may have it
// from a tenant. It is the limit of an error, the longest text that a line has.
const maxLogText = 32 << 10

// cutText cuts what an attribute says.
func cutText(_ []string, a slog.Attr) slog.Attr {
	switch a.Value.Kind() {
	case slog.KindString:
		a.Value = slog.StringValue(finding.CutMiddle(a.Value.String(), maxLogText))
	case slog.KindAny:
		if text := fmt.Sprint(a.Value.Any()); len(text) > maxLogText {
			a.Value = slog.StringValue(finding.CutMiddle(text, maxLogText))
		}
	}
	return a
}
