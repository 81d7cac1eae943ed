package fetch

import (
	"errors"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpproxy"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/remote"
	"github.com/ladder-cmp/ladder/internal/sandbox"
)

// What a server and a process that fetches for it say, in lines of JSON. A fetchOrder is
// the first line, to the process.
type fetchOrder struct {
	Ref          remote.Ref
	Anew         bool
	Allow        []string
	AllowPrivate []string
	PlainHTTP    []string
	Verify       Policy
	CAFile       string
	Limits       Limits
	Proxy        *httpproxy.Config
	Credential   secret
	Index        bool // there is an index of earlier
	Until        time.Time
}

// childMessage is a line of the process. One of the fields is set; a reply follows but for the
// last.
type childMessage struct {
	Recorded *recordedMessage `json:",omitempty"`
	Address  string           `json:",omitempty"` // which a credential is for
	Done     *doneMessage     `json:",omitempty"`
}

type recordedMessage struct {
	Ref        remote.Ref
	SourceSays string
}

// doneMessage is what came of it. The data is in the file.
type doneMessage struct {
	Version    string
	Kept       bool  // the cache has it, as the reply said
	Index      bool  // there is a new index in its file
	Downloaded int64 // bytes
	Gaps       []sandbox.Gap
	Failure    *failureMessage
}

type failureMessage struct {
	Outcome         outcome
	Message, Remedy string
	After           time.Duration
}

// serverMessage is a line of the server.
type serverMessage struct {
	Credential secret
	Version    string
	Digest     string
	There      bool
	Failure    *failureMessage
}

// secret is a credential across a pipe.
type secret struct {
	Username, Password, Token, Access string
	CA, Cert, Key                     string
	Insecure                          bool
	Source, Helper, Below             string
}

func (c credential) sealed() secret {
	return secret{c.username, c.password, c.token, c.access, c.identity.ca, c.identity.cert, c.identity.key, c.identity.insecure, c.source, c.helper, c.below}
}

func (s secret) opened() credential {
	return credential{username: s.Username, password: s.Password, token: s.Token, access: s.Access, source: s.Source, helper: s.Helper, below: s.Below,
		identity: identity{ca: s.CA, cert: s.Cert, key: s.Key, insecure: s.Insecure}}
}

// maxMessage is the longest line of a process, in bytes, maxMessages how many there are.
const (
	maxMessage  = 64 << 10
	maxMessages = 1000
)

// The files of a process, behind its standard ones.
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

// failure reads a failure that came across a pipe.
func (w *failureMessage) failure() error {
	if w == nil {
		return nil
	}
	if !slices.Contains(outcomes, w.Outcome) || w.Outcome == fetched || w.Outcome == stale {
		return errors.New("unknown kind of failure")
	}
	cut := func(text string) string {
		return finding.Harmless(strings.ToValidUTF8(text[:min(len(text), 4<<10)], ""))
	}
	return &failure{outcome: w.Outcome, message: cut(w.Message), remedy: cut(w.Remedy), after: max(0, min(w.After, longestAfter))}
}
