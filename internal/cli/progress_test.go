package cli

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestProgress makes sure that only what takes long is shown, and that it is removed.
func TestProgress(t *testing.T) {
	for name, step := range map[string]time.Duration{"short": time.Millisecond, "long": quietTime} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			tell := progress(&out, time.Now())
			for i := range 3 {
				time.Sleep(step)
				tell(i+1, 3, "shop")
			}
			check(t, name, out.String(), "1 of 3  shop")
		})
	}
}

func TestWaiting(t *testing.T) {
	for name, takes := range map[string]time.Duration{"short": time.Millisecond, "long": 2 * quietTime} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			done := waiting(&out, "fetching redis")
			time.Sleep(takes)
			synctest.Wait()
			done()
			check(t, name, out.String(), "fetching redis")
		})
	}
}

func check(t *testing.T, name, shown, want string) {
	t.Helper()
	if name == "short" && shown != "" {
		t.Errorf("shows %q although it takes no time", shown)
	}
	if name == "long" && (!strings.Contains(shown, want) || !strings.HasSuffix(shown, clear)) {
		t.Errorf("shows %q", shown)
	}
}
