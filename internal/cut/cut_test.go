package cut

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestMiddle keeps the start and the end, and whole characters.
func TestMiddle(t *testing.T) {
	if got := Middle("short", 5); got != "short" {
		t.Errorf("got %q", got)
	}
	for _, text := range []string{"begin" + strings.Repeat("x", 1000) + "end", "begin" + strings.Repeat("é", 1000) + "end", "begin" + strings.Repeat("€", 1001) + "end"} {
		for most := 20; most < 60; most++ {
			got := Middle(text, most)
			if len(got) > most || !strings.HasPrefix(got, "begin") || !strings.HasSuffix(got, "end") || !utf8.ValidString(got) {
				t.Errorf("%d: %q", most, got)
			}
		}
	}
}
