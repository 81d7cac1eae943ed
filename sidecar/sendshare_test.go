package sidecar

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ladder-cmp/ladder/sidecar/task"
)

// TestLargeAnswersTakeTurns: the large responses of one project leave room for those of others,
// and a project waits for its own.
func TestLargeAnswersTakeTurns(t *testing.T) {
	const mib = 1 << 20
	text := strings.Repeat("x", 90*mib) // of all of them: only sizes count
	type answer struct {
		project string
		size    int64 // of its manifests
		at      time.Duration
	}
	for name, tt := range map[string]struct {
		limit   int64
		answers []answer // each takes ten seconds
		want    string
	}{
		"many of one project, and a good one": {256 * mib,
			[]answer{{"evil", 85 * mib, 0}, {"evil", 85 * mib, 0}, {"evil", 85 * mib, 0}, {"good", 20 * mib, time.Second}},
			"evil0 0s, good3 1s, evil1 10s, evil2 20s"},
		"those of one project share half": {256 * mib,
			[]answer{{"a", 30 * mib, 0}, {"a", 30 * mib, 0}, {"a", 30 * mib, 0}, {"b", 60 * mib, time.Second}},
			"a0 0s, a1 0s, b3 1s, a2 10s"},
		"two projects take turns": {200 * mib, []answer{{"a", 90 * mib, 0}, {"a", 90 * mib, 0}, {"a", 90 * mib, 0}, {"b", 90 * mib, time.Second}},
			"a0 0s, b3 10s, a1 20s, a2 30s"},
		"larger than the limit": {100 * mib, []answer{{"a", 90 * mib, 0}, {"b", 90 * mib, 0}, {"c", mib, time.Second}},
			"a0 0s, b1 10s, c2 20s"},
		"no project": {100 * mib, []answer{{"", 30 * mib, 0}, {"", 20 * mib, 0}, {"", 10 * mib, 0}}, "0 0s, 1 0s, 2 10s"},
		"no limit":   {0, []answer{{"a", 90 * mib, 0}, {"a", 90 * mib, 0}, {"a", 90 * mib, 0}}, "a0 0s, a1 0s, a2 0s"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSender(tt.limit)
				start := time.Now()
				var mu sync.Mutex
				var got []string
				var all sync.WaitGroup
				for i, a := range tt.answers {
					time.Sleep(a.at - time.Since(start))
					all.Go(func() {
						req := &request{tenant: tenant{a.project}}
						err := s.reserve(t.Context(), req, task.Response{Output: task.Output{Manifests: []string{text[:a.size]}}})
						if err != nil {
							t.Error(err)
							return
						}
						mu.Lock()
						got = append(got, fmt.Sprintf("%s%d %v", a.project, i, time.Since(start)))
						mu.Unlock()
						time.Sleep(10 * time.Second)
						s.release(req)
					})
					synctest.Wait()
				}
				all.Wait()
				if all := strings.Join(got, ", "); all != tt.want {
					t.Errorf("got %s, want %s", all, tt.want)
				}
				if s.bytes() != 0 || s.countWaiting() != 0 || len(s.projects) != 0 {
					t.Errorf("%+v remains", s)
				}
			})
		})
	}
}

// TestLeavingWhileWaiting: who leaves while it waits, or as it gets its memory, holds nothing.
func TestLeavingWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSender(1 << 20)
		large := task.Response{Output: task.Output{Manifests: []string{strings.Repeat("x", 1<<20)}}}
		first := &request{tenant: tenant{"a"}}
		if err := s.reserve(t.Context(), first, large); err != nil {
			t.Fatal(err)
		}
		ctx, leave := context.WithCancel(t.Context())
		left := make(chan error, 1)
		go func() { left <- s.reserve(ctx, &request{tenant: tenant{"b"}}, large) }()
		synctest.Wait()
		s.release(first) // it has its memory
		leave()
		if err := <-left; err == nil && s.bytes() != 1<<20 || err != nil && s.bytes() != 0 {
			t.Errorf("%v with %d bytes", err, s.bytes())
		}
	})
}
