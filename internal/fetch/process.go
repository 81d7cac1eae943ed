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
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"
	"golang.org/x/net/http/httpproxy"

	"github.com/ladder-cmp/ladder/internal/confine"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/remote"
)

// A server fetches each source in a separate process, since untrusted content can
// make its parser use all memory and time. The process has the network, one
// credential, and two files to write to. It exchanges lines of JSON with the
// server, which parses nothing else from it.

// fetchInProcess fetches a Ref in a process.
func (f *Fetcher) fetchInProcess(ctx context.Context, ref remote.Ref, at *url.URL, ignoreCache bool) (fetchedContent, error) {
	cred, err := f.credential(at)
	if err != nil {
		return fetchedContent{}, err
	}
	files, err := f.spools()
	if err != nil {
		f.store.logWriteError(err)
		return fetchedContent{}, failed(unreachable, "check its free space and permissions",
			"the directory of fetched content (--remote-cache) cannot be written: %s", short(err.Error()))
	}
	defer files.close()
	t := &childFetch{f: f, ref: ref, at: at, ignoreCache: ignoreCache}
	address := ""
	if ref.Kind == remote.Chart && at.Scheme != "oci" {
		address = f.scope + at.String()
		if d, found := f.cachedIndex(address); found && files.take(f.store, d.digest) {
			t.index = true
		}
	}
	until, _ := ctx.Deadline()
	done, err := t.run(ctx, files, fetchOrder{Ref: ref, IgnoreCache: ignoreCache, Allow: f.config.Allow,
		AllowPrivate: f.config.AllowPrivate, PlainHTTP: f.config.PlainHTTP,
		CAFile: f.config.CAFile, Limits: f.limits, Proxy: httpproxy.FromEnvironment(), Credential: cred, Index: t.index, Until: until})
	if err != nil {
		return fetchedContent{}, err
	}
	if done.Index && address != "" {
		f.adoptIndex(address, files.index)
	}
	return t.collect(done, files)
}

// spools are the files of a process.
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

// take passes cached content to the process.
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
			_ = os.Remove(file.Name()) // if the cache adopted it, the name is unused
		}
	}
	if s.known != nil {
		s.known.Close()
	}
}

// adoptIndex caches the index that a process wrote.
func (f *Fetcher) adoptIndex(address string, file *os.File) {
	digest, err := digestOf(file)
	if err == nil {
		err = f.store.adopt(file.Name(), digest)
	}
	if err != nil {
		f.store.logWriteError(err)
		return
	}
	f.indexes.Add(address, timedIndex{digest: digest, at: f.now()})
}

// childFetch is the server's side of a fetch process.
type childFetch struct {
	f           *Fetcher
	ref         remote.Ref
	at          *url.URL
	ignoreCache bool
	index       bool
	exact       *remote.Ref // requested by the process
	known       remote.Content
	there       bool
}

// run starts the process and answers it until it is done or has to be killed.
func (t *childFetch) run(ctx context.Context, files *spools, order fetchOrder) (*doneMessage, error) {
	fail := func(err error) error {
		t.f.log.Error("no process could be started to fetch", "error", err)
		return failed(unreachable, "check the memory and process limits of the container", "no process could be started to fetch it")
	}
	cmd := t.f.config.Process()
	cmd.ExtraFiles = []*os.File{files.data, files.index, files.known}
	var last confine.HeadWriter
	cmd.Stderr, cmd.WaitDelay = &last, time.Second
	to, err := cmd.StdinPipe()
	if err != nil {
		return nil, fail(err)
	}
	from, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fail(err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fail(err)
	}
	t.f.metrics.running.Inc()
	w := confine.Watch(ctx, cmd.Process, t.f.limits.Memory, nil)
	done, err := t.talk(to, from, order)
	_, took := w.Stop()
	_ = cmd.Process.Kill() // whatever it is doing
	_ = cmd.Wait()         // its message says why it ended
	t.f.metrics.running.Dec()
	var why *failure
	switch {
	case errors.As(err, &why):
		return nil, why
	case err == nil:
		return done, nil
	case took > 0:
		t.f.metrics.killed(memoryLimit)
		return nil, failed(tooLarge, "raise --remote-memory if this size is expected",
			"processing the response of %s took %d MiB of memory; the limit is %d MiB", t.at.Host, took>>20, t.f.limits.Memory>>20)
	case ctx.Err() != nil:
		t.f.metrics.killed(timeLimit)
		return nil, failed(slow, moreTime, "%s took longer than %s", t.at.Host, t.f.limits.Time)
	}
	t.f.metrics.killed(crash)
	t.f.log.Error("a process that fetches has ended", "host", t.at.Host, "last", short(last.FirstLine()), "error", err)
	return nil, failed(broken, "contact its administrator; raise --remote-memory if this size is expected",
		"the process that reads the response of %s ended; its limits are %d MiB and %s", t.at.Host, t.f.limits.Memory>>20, t.f.limits.Time)
}

// talk exchanges messages with the process.
func (t *childFetch) talk(to io.Writer, from io.Reader, order fetchOrder) (*doneMessage, error) {
	write := json.NewEncoder(to)
	if err := write.Encode(order); err != nil {
		return nil, err
	}
	lines := bufio.NewReaderSize(from, maxMessage)
	for range maxMessages {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			return nil, err
		}
		var message childMessage
		if err := json.Unmarshal(line, &message); err != nil {
			return nil, err
		}
		if message.Done != nil {
			t.f.logGaps(message.Done.Gaps)
			return message.Done, message.Done.Failure.failure()
		}
		reply, err := t.reply(message)
		if err == nil {
			err = write.Encode(reply)
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("the process sent more than %d requests", maxMessages)
}

// logGaps logs gaps in the sandbox of the processes once, since they all run in
// the same container.
func (f *Fetcher) logGaps(gaps []confine.Gap) {
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

// reply answers a question about the source to fetch.
func (t *childFetch) reply(message childMessage) (serverMessage, error) {
	f := t.f
	if message.Recorded == nil {
		at, fault := parseAddress(message.Address)
		if fault != "" || !f.allow.allows(at) {
			return serverMessage{}, nil
		}
		cred, err := f.credential(at)
		return serverMessage{Credential: cred, Failure: failureMessageOf(err)}, nil
	}
	ref := message.Recorded.Ref
	if ref.Kind != t.ref.Kind || ref.URL != t.ref.URL || ref.Chart != t.ref.Chart || !isImmutable(ref) {
		return serverMessage{}, errors.New("the process requested a different Ref")
	}
	known, there, err := local{f}.recorded(ref, message.Recorded.SourceDigest, t.ignoreCache)
	t.exact, t.known, t.there = &ref, known, there
	return serverMessage{Version: known.Version, Digest: known.Digest, There: there, Failure: failureMessageOf(err)}, nil
}

// collect collects the output of a finished process.
func (t *childFetch) collect(done *doneMessage, files *spools) (fetchedContent, error) {
	t.f.metrics.bytes.WithLabelValues(string(t.ref.Kind)).Add(float64(max(done.Downloaded, 0)))
	if done.Kept && t.there {
		return fetchedContent{Content: t.known, exact: t.exact, kept: true}, nil
	}
	if !t.isPlausibleVersion(done.Version) {
		return fetchedContent{}, failed(broken, "contact its administrator", "the response of %s has an invalid version", t.at.Host)
	}
	digest, err := digestOf(files.data)
	if err != nil {
		return fetchedContent{}, failed(unreachable, "check its free space and permissions",
			"the directory of fetched content (--remote-cache) cannot be read: %s", short(err.Error()))
	}
	got := fetchedContent{Content: remote.Content{Version: done.Version, Digest: digest}, file: files.data.Name()}
	if t.exact != nil {
		got.exact, got.recordedDigest = t.exact, t.known.Digest
	}
	files.data.Close()
	files.data = nil // ownership passes to the caller
	return got, nil
}

// isPlausibleVersion reports whether a version is plausible for the source.
func (t *childFetch) isPlausibleVersion(version string) bool {
	switch t.ref.Kind {
	case remote.Repository:
		return isCommit(version)
	case remote.Chart:
		_, err := semver.NewVersion(version)
		return len(version) < 256 && (err == nil || finding.Sanitize(version) == version)
	}
	return version == ""
}
