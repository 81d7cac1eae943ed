package sidecar

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ladder-cmp/ladder/sidecar/repository"
)

// arriveSlowly lets repositories of those sizes arrive at the same time, each a
// little further at a time. It returns how many were under way together, and how
// many bytes were held, at most.
func arriveSlowly(t *testing.T, ctx context.Context, r *repositories, sizes []int64) (together int, held int64) {
	t.Helper()
	var mu sync.Mutex
	under := 0
	now := func(change int) {
		mu.Lock()
		defer mu.Unlock()
		under += change
		together, held = max(together, under), max(held, r.size())
	}
	arrive := func(name string, size int64) error {
		_, a, err := r.await(ctx, name, func(activity) {})
		if err != nil {
			return err
		}
		now(1)
		defer now(-1)
		for part := range size / 100 {
			time.Sleep(time.Second)
			if err := a.grow(ctx, (part+1)*100); err != nil {
				r.finish(a, nil)
				return err
			}
			now(0)
		}
		h := r.finish(a, &repository.Tree{Bytes: size})
		go func() {
			time.Sleep(10 * time.Second) // it is rendered
			h.release()
		}()
		return nil
	}
	done := make(chan error)
	for i, size := range sizes {
		go func() { done <- arrive(fmt.Sprint(i), size) }()
	}
	for range sizes {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	time.Sleep(time.Minute)
	return together, held
}

// TestArrivals lets many repositories arrive in too little memory: all of them
// do, small ones together, and no set of half-arrived ones blocks itself.
func TestArrivals(t *testing.T) {
	t.Parallel()
	many := func(n int, size int64) []int64 {
		all := make([]int64, n)
		for i := range all {
			all[i] = size
		}
		return all
	}
	for name, tt := range map[string]struct {
		limit int64
		sizes []int64
		least int // that are under way together
	}{
		"small ones":            {200_000, many(20, 500), 20},
		"the largest":           {200_000, many(10, 100_000), 2},
		"the largest, alone":    {100_000, many(5, 100_000), 1},
		"halves":                {200_000, many(10, 50_000), 3},
		"small and the largest": {200_000, append(many(5, 100_000), many(20, 500)...), 5},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRepositories(tt.limit, 100_000, 0)
				r.step = 1000
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Hour)
				defer cancel()
				together, held := arriveSlowly(t, ctx, r, tt.sizes)
				if together < tt.least {
					t.Errorf("%d were under way together, want %d", together, tt.least)
				}
				if held > tt.limit || r.size() != 0 || r.countWaiting() != 0 || len(r.byChecksum)+len(r.arriving) != 0 {
					t.Errorf("%d bytes were held of %d; in the end %d, and %d wait", held, tt.limit, r.size(), r.countWaiting())
				}
			})
		})
	}
}

// TestArrivalsThatGiveUp ends some while they wait, in the beginning and in the
// middle: what they held is for the others.
func TestArrivalsThatGiveUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRepositories(200_000, 100_000, 0)
		r.step = 1000
		doing := func(activity) {}
		_, one, _ := r.await(t.Context(), "1", doing)
		_, two, _ := r.await(t.Context(), "2", doing)
		_, three, _ := r.await(t.Context(), "3", doing)
		if err := one.grow(t.Context(), 100_000); err != nil {
			t.Fatal(err)
		}
		if err := two.grow(t.Context(), 90_000); err != nil {
			t.Fatal(err)
		}
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		grown := make(chan error)
		go func() { grown <- three.grow(short, 50_000) }()
		synctest.Wait()
		if _, _, err := r.await(short, "4", doing); err == nil {
			t.Error("one began before others that have begun have what they need")
		}
		if err := <-grown; err == nil {
			t.Error("one had more memory than there is")
		}
		twin := make(chan *heldTree)
		go func() {
			h, _, _ := r.await(t.Context(), "2", doing)
			twin <- h
		}()
		synctest.Wait()
		r.finish(three, nil)
		h := r.finish(two, &repository.Tree{Bytes: 90_000})
		if same := <-twin; same != h {
			t.Error("the same repository was not waited for")
		}
		h.release()
		h.release()
		r.finish(one, nil)
		if r.size() != 0 || r.countWaiting() != 0 {
			t.Errorf("%d bytes stay taken, and %d wait", r.size(), r.countWaiting())
		}
	})
}
