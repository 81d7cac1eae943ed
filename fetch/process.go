package fetch

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/Masterminds/semver/v3"
	"golang.org/x/net/http/httpproxy"

	"github.com/ladder-cmp/ladder/finding"
	"github.com/ladder-cmp/ladder/internal/confine"
	"github.com/ladder-cmp/ladder/internal/sandbox"
	"github.com/ladder-cmp/ladder/remote"
)

// A server fetches each thing in a process of its own: what others wrote can be made to
// take all memory and all time of who reads it. The process has the network, what opens
// the one address, and two files to write to. It and the server talk in lines of JSON;
// the server reads nothing else of what came.

// order is the first line, to the process.
type order struct {
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

// word is a line of the process. One of the fields is set; a reply follows but for the
// last.
type word struct {
	Recorded *recordedWord `json:",omitempty"`
	Address  string        `json:",omitempty"` // which a credential is for
	Done     *doneWord     `json:",omitempty"`
}

type recordedWord struct {
	Ref        remote.Ref
	SourceSays string
}

// doneWord is what came of it. The data is in the file.
type doneWord struct {
	Version    string
	Kept       bool  // the cache has it, as the reply said
	Index      bool  // there is a new index in its file
	Downloaded int64 // bytes
	Gaps       []sandbox.Gap
	Failure    *failureWord
}

type failureWord struct {
	Outcome         outcome
	Message, Remedy string
	After           time.Duration
}

// answerWord is a line of the server.
type answerWord struct {
	Credential secret
	Version    string
	Digest     string
	There      bool
	Failure    *failureWord
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

// mostWord is the longest line of a process, in bytes, mostWords how many there are.
const (
	mostWord  = 64 << 10
	mostWords = 1000
)

// The files of a process, behind its standard ones.
const (
	dataFile = 3 + iota
	newIndexFile
	indexFile
)

// send has a process fetch ref.
func (f *Fetcher) send(ctx context.Context, ref remote.Ref, at *url.URL, anew bool) (haul, error) {
	opens, err := f.credential(at)
	if err != nil {
		return haul{}, err
	}
	files, err := f.spools()
	if err != nil {
		f.store.complain(err)
		return haul{}, failed(unreachable, "look at the space and the rights in it", "the directory of what is fetched (--remote-cache) cannot be written: %s", short(err.Error()))
	}
	defer files.close()
	t := &trip{f: f, ref: ref, at: at, anew: anew}
	address := ""
	if ref.Kind == remote.Chart && at.Scheme != "oci" {
		address = f.scope + at.String()
		if d, found := f.indexes.get(address, f.now(), f.fresh); found && files.take(f.store, d.digest) {
			t.index = true
		}
	}
	until, _ := ctx.Deadline()
	done, err := t.run(ctx, files, order{Ref: ref, Anew: anew, Allow: f.config.Allow, AllowPrivate: f.config.AllowPrivate, PlainHTTP: f.config.PlainHTTP, Verify: f.config.Verify,
		CAFile: f.config.CAFile, Limits: f.limits, Proxy: httpproxy.FromEnvironment(), Credential: opens.sealed(), Index: t.index, Until: until})
	if err != nil {
		return haul{}, err
	}
	if done.Index && address != "" {
		f.adoptIndex(address, files.index)
	}
	return t.brought(done, files)
}

// spools are the files of one process.
type spools struct{ data, index, known *os.File }

func (f *Fetcher) spools() (s *spools, err error) {
	s = &spools{}
	if s.data, err = f.store.spool(); err == nil {
		s.index, err = f.store.spool()
	}
	if err == nil {
		s.known, err = os.Open(os.DevNull)
	}
	if err != nil {
		s.close()
	}
	return s, err
}

// take gives the process what the cache has under a digest.
func (s *spools) take(from *store, digest string) bool {
	file, err := from.open(digest)
	if err != nil {
		return false
	}
	s.known.Close()
	s.known = file
	return true
}

func (s *spools) close() {
	for _, file := range []*os.File{s.data, s.index} {
		if file != nil {
			file.Close()
			_ = os.Remove(file.Name()) // it is another one's by now if the cache took it
		}
	}
	if s.known != nil {
		s.known.Close()
	}
}

// adoptIndex keeps the index that a process wrote.
func (f *Fetcher) adoptIndex(address string, file *os.File) {
	digest, err := digestOf(file)
	if err == nil {
		err = f.store.adopt(file.Name(), digest)
	}
	if err != nil {
		f.store.complain(err)
		return
	}
	f.indexes.put(address, dated{digest: digest, at: f.now()})
}

// trip is a fetch by a process, seen from the server.
type trip struct {
	f     *Fetcher
	ref   remote.Ref
	at    *url.URL
	anew  bool
	index bool
	exact *remote.Ref // that the process asked about
	known remote.Content
	there bool
}

// run starts the process and answers it until it is done, or has to be ended.
func (t *trip) run(ctx context.Context, files *spools, what order) (*doneWord, error) {
	broke := func(err error) error {
		t.f.log.Error("no process could be started to fetch", "error", err)
		return failed(unreachable, "look at the memory and process limits of the container", "no process could be started to fetch it")
	}
	cmd := t.f.config.Process()
	cmd.ExtraFiles = []*os.File{files.data, files.index, files.known}
	var last complaint
	cmd.Stderr, cmd.WaitDelay = &last, time.Second
	to, err := cmd.StdinPipe()
	if err != nil {
		return nil, broke(err)
	}
	from, err := cmd.StdoutPipe()
	if err != nil {
		return nil, broke(err)
	}
	if err := cmd.Start(); err != nil {
		return nil, broke(err)
	}
	t.f.metrics.running.Inc()
	w := watch(ctx, cmd, t.f.limits.Memory)
	done, err := t.talk(to, from, what)
	took := w.end()
	t.f.metrics.running.Dec()
	var why *failure
	switch {
	case errors.As(err, &why):
		return nil, why
	case err == nil:
		return done, nil
	case took > 0:
		t.f.metrics.killed(forMemory)
		return nil, failed(tooLarge, "raise --remote-memory if it is meant to be so large", "what %s sends took %d MiB of memory to read, and may take %d", t.at.Host, took>>20, t.f.limits.Memory>>20)
	case ctx.Err() != nil:
		t.f.metrics.killed(forTime)
		return nil, failed(slow, moreTime, "%s took longer than %s", t.at.Host, t.f.limits.Time)
	}
	t.f.metrics.killed(crash)
	t.f.log.Error("a process that fetches has ended", "host", t.at.Host, "last", last.firstLine(), "error", err)
	return nil, failed(broken, "ask those who run it; raise --remote-memory if it is meant to be so large", "what %s sends has ended the process that reads it, which has %d MiB and %s", t.at.Host, t.f.limits.Memory>>20, t.f.limits.Time)
}

// talk answers the process.
func (t *trip) talk(to io.Writer, from io.Reader, what order) (*doneWord, error) {
	write := json.NewEncoder(to)
	if err := write.Encode(what); err != nil {
		return nil, err
	}
	lines := bufio.NewReaderSize(from, mostWord)
	for range mostWords {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			return nil, err
		}
		var said word
		if err := json.Unmarshal(line, &said); err != nil {
			return nil, err
		}
		if said.Done != nil {
			t.f.confined(said.Done.Gaps)
			return said.Done, said.Done.Failure.failure()
		}
		answer, err := t.answer(said)
		if err == nil {
			err = write.Encode(answer)
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("it asks more than %d times", mostWords)
}

// confined says once what the sandbox of the processes lacks: they are all in the same
// container.
func (f *Fetcher) confined(gaps []sandbox.Gap) {
	if len(gaps) == 0 {
		return
	}
	f.incomplete.Do(func() {
		missing := make([]string, min(len(gaps), 10))
		for i := range missing {
			missing[i] = gaps[i].String()
		}
		f.log.Warn("the sandbox of the processes that fetch is incomplete", "missing", short(strings.Join(missing, "; ")))
	})
}

// answer answers a question, as far as it is about what the process is to fetch.
func (t *trip) answer(said word) (answerWord, error) {
	f := t.f
	if said.Recorded == nil {
		at, fault := parseAddress(said.Address)
		if fault != "" || !f.allow.allows(at) {
			return answerWord{}, nil
		}
		opens, err := f.credential(at)
		return answerWord{Credential: opens.sealed(), Failure: wordOf(err)}, nil
	}
	ref := said.Recorded.Ref
	if ref.Kind != t.ref.Kind || ref.URL != t.ref.URL || ref.Chart != t.ref.Chart || !lasting(ref) {
		return answerWord{}, errors.New("it asks for something else")
	}
	known, there, err := local{f}.recorded(ref, said.Recorded.SourceSays, t.anew)
	t.exact, t.known, t.there = &ref, known, there
	return answerWord{Version: known.Version, Digest: known.Digest, There: there, Failure: wordOf(err)}, nil
}

// brought takes what a process that is done has written.
func (t *trip) brought(done *doneWord, files *spools) (haul, error) {
	t.f.metrics.bytes.WithLabelValues(string(t.ref.Kind)).Add(float64(max(done.Downloaded, 0)))
	if done.Kept && t.there {
		return haul{Content: t.known, exact: t.exact, kept: true}, nil
	}
	if !t.versioned(done.Version) {
		return haul{}, failed(broken, "ask those who run it", "what %s has is of no version that can be one", t.at.Host)
	}
	digest, err := digestOf(files.data)
	if err != nil {
		return haul{}, failed(unreachable, "look at the space and the rights in it", "the directory of what is fetched (--remote-cache) cannot be read: %s", short(err.Error()))
	}
	got := haul{Content: remote.Content{Version: done.Version, Digest: digest}, file: files.data.Name()}
	if t.exact != nil {
		got.exact, got.was = t.exact, t.known.Digest
	}
	files.data.Close()
	files.data = nil // it is the caller's
	return got, nil
}

// versioned says whether a version can be one of what is fetched.
func (t *trip) versioned(version string) bool {
	switch t.ref.Kind {
	case remote.Repository:
		return isCommit(version)
	case remote.Chart:
		_, err := semver.NewVersion(version)
		return len(version) < 256 && (err == nil || finding.Harmless(version) == version)
	}
	return version == ""
}

func wordOf(err error) *failureWord {
	if err == nil {
		return nil
	}
	var f *failure
	if !errors.As(err, &f) {
		f = failed(broken, "look at the log", "%s", short(err.Error()))
	}
	return &failureWord{f.outcome, f.message, f.remedy, f.after}
}

// failure reads a failure that came across a pipe.
func (w *failureWord) failure() error {
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

// watcher ends a process that takes too much or too long.
type watcher struct {
	cmd     *exec.Cmd
	stop    chan struct{}
	stopped chan struct{}
	took    int64 // of memory, when it was ended for that
}

func watch(ctx context.Context, cmd *exec.Cmd, memory int64) *watcher {
	w := &watcher{cmd: cmd, stop: make(chan struct{}), stopped: make(chan struct{})}
	go func() {
		defer close(w.stopped)
		ticks := time.NewTicker(confine.Pace)
		defer ticks.Stop()
		for {
			select {
			case <-w.stop:
				return
			case <-ctx.Done():
				_ = cmd.Process.Kill()
				return
			case <-ticks.C:
				if took := confine.MemoryOf(cmd.Process.Pid); took > memory {
					w.took = took
					_ = cmd.Process.Kill()
					return
				}
			}
		}
	}()
	return w
}

// end ends the process, whatever it is at, and says for how much memory it was ended
// before.
func (w *watcher) end() int64 {
	close(w.stop)
	<-w.stopped
	_ = w.cmd.Process.Kill()
	_ = w.cmd.Wait() // how it ended is of no interest; what it said is
	return w.took
}

// complaint keeps the beginning of what a process says when it ends.
type complaint struct {
	mu   sync.Mutex
	text []byte
}

func (c *complaint) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.text = append(c.text, p[:min(len(p), 4<<10-len(c.text))]...)
	return len(p), nil
}

func (c *complaint) firstLine() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	line, _, _ := strings.Cut(strings.TrimSpace(string(c.text)), "\n")
	return short(line)
}
