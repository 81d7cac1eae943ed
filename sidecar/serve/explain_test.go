package serve

import (
	"log/slog"
	"testing"

	"github.com/ladder-cmp/ladder/plugin"
)

// TestExplained passes the server's default on with each request.
func TestExplained(t *testing.T) {
	t.Parallel()
	opt := Options{Explain: "annotations"}
	if got := opt.config(slog.New(slog.DiscardHandler)).Defaults[plugin.DefaultExplain]; got != "annotations" {
		t.Errorf("got %q", got)
	}
}
