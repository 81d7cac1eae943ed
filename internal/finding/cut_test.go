package finding

import (
	"strings"
	"testing"
)

// TestHugeFindings: a text of any size leaves as a short one, and what a URL hides stays hidden
// where it is cut.
func TestHugeFindings(t *testing.T) {
	huge := strings.Repeat("x", 5_000_000)
	for name, f := range map[string]Finding{
		"file": {File: huge}, "object": {Object: huge}, "field": {Field: huge}, "message": {Message: huge}, "remedy": {Remedy: huge},
		"escapes": {Message: strings.Repeat("\x1b", 5_000_000)},
		"spaces":  {Message: strings.Repeat("x ", 2_500_000)},
	} {
		if got := len(f.Error()); got > 8*MaxText+100 {
			t.Errorf("%s: a line of %d bytes", name, got)
		}
		r := f.Redacted()
		if got := len(r.File + r.Object + r.Field + r.Message + r.Remedy); got > 8*MaxText+100 {
			t.Errorf("%s: %d bytes in JSON", name, got)
		}
	}
	const address = "https://user:hunter2@host/path "
	for _, before := range []int{0, MaxText/2 - 20, MaxText/2 - 10, rawText/2 - 20, rawText/2 - 10, rawText} {
		for _, after := range []int{0, MaxText/2 - 20, MaxText/2 - 10, rawText/2 - 20, rawText/2 - 10, rawText} {
			text := strings.Repeat("y ", before/2) + address + strings.Repeat(" z", after/2)
			if got := Sanitize(text); strings.Contains(got, "hunter") || strings.Contains(got, "user:") {
				t.Errorf("%d bytes before, %d after: %q", before, after, got[max(0, strings.Index(got, "user")-20):])
			}
		}
	}
}
