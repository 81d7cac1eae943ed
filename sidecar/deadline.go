package sidecar

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// overdue is why a context has ended: a time was over.
type overdue struct {
	limit timeLimit
	// allows is how long the time was, since when it began.
	allows time.Duration
	since  time.Time
	// bytes are what had arrived of the repository, for stallTime.
	bytes int64
}

func (o *overdue) Error() string { return string(o.limit) + " is over" }

// limitTime ends a request a little before its deadline, so that the reason for
// missing it still arrives, or when it has taken most; 0 is no bound.
func limitTime(ctx context.Context, most time.Duration) (context.Context, context.CancelFunc) {
	now := time.Now()
	theirs, limited := ctx.Deadline()
	end := theirs.Add(-timeToAnswer)
	if own := now.Add(most); most > 0 && (!limited || own.Before(end)) {
		return context.WithDeadlineCause(ctx, own, &overdue{limit: requestTime, allows: most, since: now})
	}
	if !limited {
		return context.WithCancel(ctx)
	}
	return context.WithDeadlineCause(ctx, end, &overdue{limit: theirTime, allows: theirs.Sub(now), since: now})
}

// timeLimit is what sets a time, in the words of who can change it.
type timeLimit string

const (
	requestTime timeLimit = "--timeout"
	renderTime  timeLimit = "--render-timeout"
	stallTime   timeLimit = "--stall-timeout"
	theirTime   timeLimit = "controller.repo.server.timeout.seconds"
)

// activity is what the plugin does for a request.
type activity string

const (
	receivingIt       activity = "receiving the repository"
	waitingForMemory  activity = "waiting for the memory that other repositories take"
	waitingForTwin    activity = "waiting for the same repository to arrive"
	waitingForOthers  activity = "waiting for other renderings"
	waitingForSame    activity = "waiting for the same component to be rendered"
	waitingForAnswers activity = "waiting for the memory that other answers take"
	sendingIt         activity = "sending the answer"
	rendering         activity = "rendering"
	fetchingIt        activity = "fetching " // with what
)

// busy are the activities that only others prolong, with what helps besides more
// time.
var busy = map[activity]string{
	waitingForOthers:  "give the sidecar more CPU and --parallel",
	waitingForAnswers: "raise --answer-memory with the container's memory limit",
	waitingForMemory:  "raise --repository-memory with the container's memory limit",
}

// timeoutError says why a request for a directory ends before its answer is there:
// what the plugin was doing, and which time was over.
func timeoutError(ctx context.Context, dir string, doing activity) error {
	about := ""
	if dir != "" {
		about = dir + ": "
	}
	var over *overdue
	known := errors.As(context.Cause(ctx), &over)
	if !known {
		if errors.Is(ctx.Err(), context.Canceled) {
			return status.Errorf(codes.Canceled, "%sthe repo-server gave up the request while the plugin was %s", about, doing)
		}
		over = &overdue{limit: theirTime}
	}
	took, allows := lasting(time.Since(over.since)), lasting(over.allows)
	switch over.limit {
	case stallTime:
		return status.Errorf(codes.DeadlineExceeded, "%sthe repo-server sent %d bytes of the repository, and then nothing for %s while others waited for the memory that it takes, and may then pause for %s (--stall-timeout); fix: look at its CPU and its log", about, over.bytes, took, allows)
	case renderTime:
		return status.Errorf(codes.DeadlineExceeded, "%srendering took %s when it was stopped, and may take %s; fix: raise --render-timeout, or end what runs without end in its templates", about, took, allows)
	}
	whose := "the time was over while the plugin was"
	if over.limit == theirTime {
		whose = "the repo-server's deadline passed while the plugin was"
	}
	remedy := fmt.Sprintf("raise %s, or make the component smaller", over.limit)
	if strings.HasPrefix(string(doing), string(fetchingIt)) {
		remedy = fmt.Sprintf("vendor it, so that nothing is fetched, or raise %s", over.limit)
	}
	if more, others := busy[doing]; others {
		about += "the plugin is busy: "
		remedy = fmt.Sprintf("%s, or raise %s", more, over.limit)
	}
	spent := ""
	if known {
		spent = fmt.Sprintf(": the request had taken %s of %s", took, allows)
	}
	return status.Errorf(codes.DeadlineExceeded, "%s%s %s%s; fix: %s", about, whose, doing, spent, remedy)
}

// lasting is a time for people.
func lasting(d time.Duration) time.Duration {
	if d < time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(100 * time.Millisecond)
}
