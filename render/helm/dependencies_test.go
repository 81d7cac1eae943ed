package helm

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/ladder-cmp/ladder/internal/remote"
)

// counting counts what is fetched, and how much of it at once.
type counting struct {
	mu     sync.Mutex
	asked  map[remote.Ref]int
	atOnce int
	answer chan struct{} // closed, or to be
}

func (c *counting) Fetch(_ context.Context, ref remote.Ref) (remote.Content, error) {
	c.mu.Lock()
	c.asked[ref]++
	c.atOnce++
	c.mu.Unlock()
	<-c.answer
	c.mu.Lock()
	c.atOnce--
	c.mu.Unlock()
	return remote.Content{}, errors.New("it is not there")
}

// TestFewDependenciesAtOnce has a chart with more dependencies than are fetched at
// the same time.
func TestFewDependenciesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &counting{asked: map[remote.Ref]int{}, answer: make(chan struct{})}
		wanted := map[remote.Ref]bool{}
		for i := range 5 * maxConcurrent {
			wanted[remote.Ref{Kind: remote.Chart, Chart: fmt.Sprint(i)}] = true
		}
		var all map[remote.Ref]fetchResult
		go func() { all = source{opt: Options{Remote: c}}.fetchAll(t.Context(), wanted) }()
		synctest.Wait()
		if c.atOnce != maxConcurrent {
			t.Errorf("%d at once, want %d", c.atOnce, maxConcurrent)
		}
		close(c.answer)
		synctest.Wait()
		if len(all) != len(wanted) || len(c.asked) != len(wanted) {
			t.Errorf("%d of %d, %d asked for", len(all), len(wanted), len(c.asked))
		}
	})
}
