package sidecar

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ladder-cmp/ladder/sidecar/wire"
)

// quiet is a stream on which a message takes some time.
type quiet time.Duration

func (q quiet) Recv() (*wire.AppStreamRequest, error) {
	time.Sleep(time.Duration(q))
	return nil, errors.New("over")
}

// TestPaced counts the time that a message takes, and not the time in which
// nobody reads.
func TestPaced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stalled := 0
		inTheWay := true
		waits := func(q quiet) {
			watchStalls(q, time.Minute, func() bool { return inTheWay }, func(since time.Time) {
				if time.Since(since) != time.Minute {
					t.Errorf("it was waited for %s", time.Since(since))
				}
				stalled++
			}).Recv()
			time.Sleep(time.Hour)
			synctest.Wait()
		}
		if waits(quiet(59 * time.Second)); stalled != 0 {
			t.Error("the time after a message counts")
		}
		if waits(quiet(61 * time.Second)); stalled != 1 {
			t.Error("the time of a message does not count")
		}
		inTheWay = false
		if waits(quiet(59 * time.Minute)); stalled != 1 {
			t.Error("it counts though nobody minds")
		}
	})
}
