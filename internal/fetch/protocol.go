package fetch

import (
	"errors"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpproxy"

	"github.com/ladder-cmp/ladder/internal/confine"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/remote"
)

// The messages between a server and its fetch process, in lines of JSON. A
// fetchOrder is the first line, to the process.
type fetchOrder struct {
	Ref          remote.Ref
	IgnoreCache  bool
	Allow        []string
	AllowPrivate []string
	PlainHTTP    []string
	CAFile       string
	Limits       Limits
	Proxy        *httpproxy.Config
	Credential   credential
	Index        bool // there is a cached index
	Until        time.Time
}

// childMessage is a message from the process. One field is set; all but the last
// message get a reply.
type childMessage struct {
	Recorded *recordedMessage `json:",omitempty"`
	Address  string           `json:",omitempty"` // to get its credential
	Done     *doneMessage     `json:",omitempty"`
}

type recordedMessage struct {
	Ref          remote.Ref
	SourceDigest string
}

// doneMessage is the result. The data is in the file.
type doneMessage struct {
	Version    string
	Kept       bool  // the cache already contains it, according to a reply
	Index      bool  // the file contains a new index
	Downloaded int64 // bytes
	Gaps       []confine.Gap
	Failure    *failureMessage
}

type failureMessage struct {
	Outcome         outcome
	Message, Remedy string
	After           time.Duration
}

// serverMessage is a message from the server.
type serverMessage struct {
	Credential credential
	Version    string
	Digest     string
	There      bool
	Failure    *failureMessage
}

// maxMessage is the maximum length of a message from the process in bytes, and
// maxMessages the maximum number of messages.
const (
	maxMessage  = 64 << 10
	maxMessages = 1000
)

// The files of a process, after the standard ones.
const (
	dataFile = 3 + iota
	newIndexFile
	indexFile
)

func failureMessageOf(err error) *failureMessage {
	if err == nil {
		return nil
	}
	var f *failure
	if !errors.As(err, &f) {
		f = failed(broken, "look at the log", "%s", short(err.Error()))
	}
	return &failureMessage{f.outcome, f.message, f.remedy, f.after}
}

// failure converts a failure from a message.
func (w *failureMessage) failure() error {
	if w == nil {
		return nil
	}
	if !slices.Contains(outcomes, w.Outcome) || w.Outcome == fetched || w.Outcome == stale {
		return errors.New("unknown kind of failure")
	}
	cut := func(text string) string {
		return finding.Sanitize(strings.ToValidUTF8(text[:min(len(text), 4<<10)], ""))
	}
	return &failure{outcome: w.Outcome, message: cut(w.Message), remedy: cut(w.Remedy), after: max(0, min(w.After, maxRetryAfter))}
}
