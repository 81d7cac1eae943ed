package lru_test

import (
	"slices"
	"testing"

	"github.com/ladder-cmp/ladder/internal/lru"
)

func TestCache(t *testing.T) {
	c := lru.New[string, int](10)
	is := func(size int64, keys ...string) {
		t.Helper()
		if got := c.Keys(); !slices.Equal(got, keys) {
			t.Errorf("keys %q, want %q", got, keys)
		}
		if s, n := c.Size(); s != size || n != len(keys) {
			t.Errorf("%d bytes in %d entries, want %d in %d", s, n, size, len(keys))
		}
	}
	is(0)
	c.Add("a", 1, 4)
	c.Add("b", 2, 3)
	c.Add("c", 3, 3)
	is(10, "a", "b", "c")
	if v, found := c.Get("a"); !found || v != 1 {
		t.Errorf("a is %d, %v", v, found)
	}
	if v, found := c.Get("d"); found || v != 0 {
		t.Errorf("d is %d, but was never added", v)
	}
	if evicted := c.Add("d", 4, 5); !slices.Equal(evicted, []string{"b", "c"}) {
		t.Errorf("evicted %q", evicted)
	}
	is(9, "a", "d")
	if evicted := c.Add("a", 5, 1); evicted != nil {
		t.Errorf("evicted %q, though a is smaller now", evicted)
	}
	if v, _ := c.Get("a"); v != 5 {
		t.Errorf("a is still %d", v)
	}
	is(6, "d", "a")
	if evicted := c.Add("large", 6, 11); evicted != nil || c.Fits(11) || !c.Fits(10) {
		t.Errorf("an entry that never fits evicted %q", evicted)
	}
	is(6, "d", "a")
	c.Remove("d")
	c.Remove("d")
	is(1, "a")
	c.Clear()
	is(0)
}
