package compare

import (
	"strings"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/paint"
)

// The formats of a comparison.
const (
	FormatText     = "text"
	FormatMarkdown = "markdown"
	FormatJSON     = "json"
)

// Shown is a comparison in all formats.
type Shown interface {
	Text(p paint.Paint) string
	// Markdown returns at most limit bytes.
	Markdown(limit int) string
	JSON() any
}

// Format formats a comparison. limit is the maximum size of markdown in bytes.
func Format(c Shown, format string, limit int, p paint.Paint) (string, error) {
	switch format {
	case FormatJSON:
		return paint.JSON(c.JSON())
	case FormatMarkdown:
		return c.Markdown(limit), nil
	}
	return c.Text(p), nil
}

// Lines formats names, one a line, or ended with NUL and unescaped for scripts.
func Lines(names []string, null bool) string {
	var b strings.Builder
	for _, name := range names {
		if null {
			b.WriteString(name + "\x00")
		} else {
			b.WriteString(finding.Sanitize(name) + "\n")
		}
	}
	return b.String()
}
