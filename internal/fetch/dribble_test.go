//go:build load

package fetch

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// TestDribble has a server that sends a byte now and then.
func TestDribble(t *testing.T) {
	n := newInternet(t)
	over := make(chan struct{})
	n.host("slow.example.com", func(w http.ResponseWriter, r *http.Request) {
		for i := 0; ; i++ {
			select {
			case <-over:
				return
			case <-time.After(20 * time.Millisecond):
				if r.URL.Path == "/steady" && i > 50 {
					return
				}
				fmt.Fprint(w, strings.Repeat("x", map[string]int{"/steady": 5000, "/slow": 1}[r.URL.Path]))
				w.(http.Flusher).Flush()
			}
		}
	})
	defer close(over)
	f := n.fetcher(Config{Allow: []string{"https://slow.example.com"}, Limits: Limits{Rate: 1000}})
	f.window = 500 * time.Millisecond
	if os.Getenv(everyProcess) != "" {
		return // whose window is the real one
	}
	within(t, 5*time.Minute, func() {
		refuse(t, f, fileRef("https://slow.example.com/slow"), "timeout",
			"slow.example.com sends less than 1000 bytes a second; fix: try again later")
	})
	get(t, f, fileRef("https://slow.example.com/steady"))
}
