package finding

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestCutMiddle keeps the start and the end, and whole characters.
func TestCutMiddle(t *testing.T) {
	if got := CutMiddle("short", 5); got != "short" {
		t.Errorf("got %q", got)
	}
	for _, text := range []string{"begin" + strings.Repeat("x", 1000) + "end", "begin" + strings.Repeat("é", 1000) + "end",
		"begin" + strings.Repeat("€", 1001) + "end"} {
		for most := 20; most < 60; most++ {
			got := CutMiddle(text, most)
			if len(got) > most || !strings.HasPrefix(got, "begin") || !strings.HasSuffix(got, "end") || !utf8.ValidString(got) {
				t.Errorf("%d: %q", most, got)
			}
		}
	}
}
