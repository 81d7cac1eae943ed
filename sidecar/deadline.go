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

// timeoutCause is the cause of a context that ended because a time limit was exceeded.
type timeoutCause struct {
	limit timeLimit
	// duration is the length of the limit, and since its start.
	duration time.Duration
	since    time.Time
	// bytes is the received size of the repository, for stallTime.
	bytes int64
}

func (o *timeoutCause) Error() string {
	return "the time limit of " + string(o.limit) + " was exceeded"
}

// limitTime ends a request shortly before its deadline, so that the reason still
// reaches the client even on a busy machine, or after the limit; 0 means no limit.
func limitTime(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	now := time.Now()
	deadline, limited := ctx.Deadline()
	end := deadline.Add(-max(timeToRespond, min(deadline.Sub(now)/partToRespond, maxTimeToRespond)))
	if own := now.Add(limit); limit > 0 && (!limited || own.Before(end)) {
		return context.WithDeadlineCause(ctx, own, &timeoutCause{limit: requestTime, duration: limit, since: now})
	}
	if !limited {
		return context.WithCancel(ctx)
	}
	return context.WithDeadlineCause(ctx, end, &timeoutCause{limit: clientDeadline, duration: deadline.Sub(now), since: now})
}

// timeLimit names a time limit in the terms of whoever can change it.
type timeLimit string

const (
	requestTime    timeLimit = "--timeout"
	renderTime     timeLimit = "--render-timeout"
	stallTime      timeLimit = "stall"
	clientDeadline timeLimit = "controller.repo.server.timeout.seconds"
)

// activity is what the plugin is doing for a request.
type activity string

const (
	receivingRepository      activity = "receiving the repository"
	waitingForMemory         activity = "waiting for memory that other repositories use"
	waitingForSameRepository activity = "waiting for the same repository to arrive"
	waitingForOthers         activity = "waiting for other renderings"
	waitingForSameComponent  activity = "waiting for the same component to be rendered"
	waitingForResponses      activity = "waiting for memory that other responses use"
	sendingResponse          activity = "sending the response"
	rendering                activity = "rendering"
	fetchingContent          activity = "fetching " // followed by names
)

// busy maps activities that depend on other requests to a remedy other than more
// time.
var busy = map[activity]string{
	waitingForOthers:    "give the sidecar more CPU and --parallel",
	waitingForResponses: "raise --answer-memory with the container's memory limit",
	waitingForMemory:    "raise --repository-memory with the container's memory limit",
}

// timeoutError says why a request for a directory timed out: what the plugin was
// doing, and which limit was exceeded.
func timeoutError(ctx context.Context, dir string, doing activity) error {
	about := ""
	if dir != "" {
		about = dir + ": "
	}
	var over *timeoutCause
	known := errors.As(context.Cause(ctx), &over)
	if !known {
		if errors.Is(ctx.Err(), context.Canceled) {
			return status.Errorf(codes.Canceled, "%sthe repo-server canceled the request while the plugin was %s", about, doing)
		}
		over = &timeoutCause{limit: clientDeadline}
	}
	took, limit := round(time.Since(over.since)), round(over.duration)
	switch over.limit {
	case stallTime:
		return status.Errorf(codes.DeadlineExceeded,
			"%sthe repo-server sent %d bytes of the repository, and then nothing for %s while others waited for the memory that it uses; "+
				"the limit is %s; fix: check its CPU and its log", about, over.bytes, took, limit)
	case renderTime:
		return status.Errorf(codes.DeadlineExceeded,
			"%srendering was stopped after %s; the limit is %s; fix: raise --render-timeout, or remove the endless loop from its templates", about,
			took, limit)
	}
	reason := "timed out while the plugin was"
	if over.limit == clientDeadline {
		reason = "the repo-server's deadline passed while the plugin was"
	}
	remedy := fmt.Sprintf("raise %s, or make the component smaller", over.limit)
	if strings.HasPrefix(string(doing), string(fetchingContent)) {
		remedy = fmt.Sprintf("vendor it, so that nothing is fetched, or raise %s", over.limit)
	}
	if more, others := busy[doing]; others {
		about += "the plugin is busy: "
		remedy = fmt.Sprintf("%s, or raise %s", more, over.limit)
	}
	spent := ""
	if known {
		spent = fmt.Sprintf(": the request had taken %s of %s", took, limit)
	}
	return status.Errorf(codes.DeadlineExceeded, "%s%s %s%s; fix: %s", about, reason, doing, spent, remedy)
}

// round rounds a duration for messages.
func round(d time.Duration) time.Duration {
	if d < time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(100 * time.Millisecond)
}
