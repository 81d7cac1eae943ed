package render

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"

	"github.com/ladder-cmp/ladder/internal/remote"
)

// counting counts what is asked for, and has data for everything or nothing.
type counting struct {
	mu     sync.Mutex
	asked  map[remote.Ref]int
	atOnce int
	answer chan struct{} // closed, or to be
	data   []byte
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
	if c.data != nil {
		return remote.Content{Data: c.data}, nil
	}
	return remote.Content{}, errors.New("it is not there")
}

// TestFewDependenciesAtOnce has a chart with more dependencies than are fetched at
// the same time.
func TestFewDependenciesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &counting{asked: map[remote.Ref]int{}, answer: make(chan struct{})}
		wanted := map[remote.Ref]bool{}
		for i := range 5 * mostAtOnce {
			wanted[remote.Ref{Kind: remote.Chart, Chart: fmt.Sprint(i)}] = true
		}
		var all map[remote.Ref]fetching
		go func() { all = source{opt: Options{Remote: c}}.fetchAll(t.Context(), wanted) }()
		synctest.Wait()
		if c.atOnce != mostAtOnce {
			t.Errorf("%d at once, want %d", c.atOnce, mostAtOnce)
		}
		close(c.answer)
		synctest.Wait()
		if len(all) != len(wanted) || len(c.asked) != len(wanted) {
			t.Errorf("%d of %d, %d asked for", len(all), len(wanted), len(c.asked))
		}
	})
}

// TestFailuresAreAttempts has a kustomization that names more things than may be
// fetched, none of which is there, and each of them twice.
func TestFailuresAreAttempts(t *testing.T) {
	c := &counting{asked: map[remote.Ref]int{}, answer: make(chan struct{})}
	close(c.answer)
	a, _ := source{fsys: fstest.MapFS{}, opt: Options{Remote: c}}.assemble(t.Context())
	for range 2 {
		for i := range maxFetched {
			if _, err := a.fileAt(fmt.Sprintf("https://files.example.com/%d", i)); err == nil || err.Error() != "it is not there" {
				t.Fatal(err)
			}
		}
	}
	if _, err := a.fileAt("https://files.example.com/more"); err == nil || !strings.Contains(err.Error(), "name more than 200 things elsewhere") {
		t.Error(err)
	}
	if len(c.asked) != maxFetched {
		t.Errorf("%d are asked for", len(c.asked))
	}
	for ref, times := range c.asked {
		if times != 1 {
			t.Errorf("%s is asked for %d times", ref, times)
		}
	}
}

// TestBadContentOnce has a repository that cannot be read: it is fetched once.
func TestBadContentOnce(t *testing.T) {
	c := &counting{asked: map[remote.Ref]int{}, answer: make(chan struct{}), data: []byte("no archive")}
	close(c.answer)
	a, _ := source{fsys: fstest.MapFS{}, opt: Options{Remote: c}}.assemble(t.Context())
	g, ok := readGitAddress("https://github.com/org/repo?ref=v1")
	if !ok {
		t.Fatal("it is no address")
	}
	for range 2 {
		if _, _, err := a.repository(g); err == nil || !strings.HasPrefix(err.Error(), "repository https://github.com/org/repo") {
			t.Error(err)
		}
	}
	if c.asked[g.ref()] != 1 {
		t.Errorf("it is fetched %d times", c.asked[g.ref()])
	}
}
