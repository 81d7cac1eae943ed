package kustomize

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/ladder-cmp/ladder/internal/remote"
	"github.com/ladder-cmp/ladder/render/input"
)

// counting counts what is fetched, and has data for everything or nothing.
type counting struct {
	asked map[remote.Ref]int
	data  []byte
}

func (c *counting) Fetch(_ context.Context, ref remote.Ref) (remote.Content, error) {
	c.asked[ref]++
	if c.data != nil {
		return remote.Content{Data: c.data}, nil
	}
	return remote.Content{}, errors.New("it is not there")
}

// TestFailuresAreAttempts has a kustomization that names more things than may be
// fetched, none of which is there, and each of them twice.
func TestFailuresAreAttempts(t *testing.T) {
	c := &counting{asked: map[remote.Ref]int{}}
	a, _ := source{Source: input.Source{FS: fstest.MapFS{}}, opt: Options{Remote: &remote.Recorder{From: c}}}.assemble(t.Context())
	for range 2 {
		for i := range maxFetched {
			if _, err := a.fileAt(fmt.Sprintf("https://files.example.com/%d", i)); err == nil || err.Error() != "it is not there" {
				t.Fatal(err)
			}
		}
	}
	if _, err := a.fileAt("https://files.example.com/more"); err == nil ||
		!strings.Contains(err.Error(), "name more than 200 remote sources") {
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
	c := &counting{asked: map[remote.Ref]int{}, data: []byte("no archive")}
	a, _ := source{Source: input.Source{FS: fstest.MapFS{}}, opt: Options{Remote: &remote.Recorder{From: c}}}.assemble(t.Context())
	g, ok := readGitAddress("https://github.com/org/repo?ref=v1")
	if !ok {
		t.Fatal("it is not a URL")
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
