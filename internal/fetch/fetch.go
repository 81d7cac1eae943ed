// Package fetch fetches the sources that package remote names over the network:
// charts of chart repositories and OCI registries, files, and git repositories.
//
// Only sources that the operator allows are fetched. Content is cached on disk
// under its digest, and replicas can share the cache. No external programs are run:
// neither git nor helm, nor the credential helpers of a Docker configuration.
package fetch

import (
	"cmp"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/net/http/httpproxy"
	"golang.org/x/sync/singleflight"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/remote"
)

// Fetcher fetches over the network. It is safe for concurrent use.
//
// A git repository includes its submodules if their https URLs are allowed, too;
// "?submodules=false" at the end of the Ref's URL excludes them. Its archive
// contains paths relative to the root of the repository, and symlinks with targets
// inside it.
//
// The version of a chart in a registry may end with the digest of its manifest:
// 1.2.3@sha256:….
type Fetcher struct {
	config      Config
	limits      Limits
	ttl         time.Duration
	allow       allowList
	private     privateList
	credentials []Credentials // the first with a match is used
	scope       string        // of records in the store; see For
	backend     backend
	log         *slog.Logger
	store       *store
	metrics     *metrics
	queue       *queue
	window      time.Duration // for measuring the transfer rate
	paths       int           // of a repository, at most
	authorities *x509.CertPool
	proxy       func(*url.URL) (*url.URL, error)
	*sharedState

	now     func() time.Time
	resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	connect func(ctx context.Context, dialer *net.Dialer, network, address string) (net.Conn, error)
}

// sharedState is the state shared by a Fetcher and those returned by its For.
type sharedState struct {
	indexes    *lru.Cache[string, timedIndex]
	flights    singleflight.Group
	proxies    sync.Map // host and port of each proxy used
	downloaded atomic.Int64
	incomplete sync.Once // for logging gaps in the sandbox

	mu         sync.Mutex
	transports map[identity]*http.Transport
	callers    map[string]*callers
}

// idle is the timeout for opening connections, and for unused ones.
const idle = 30 * time.Second

// New returns a Fetcher. The error joins a finding for each invalid part of the
// Config. It does not use the network. The proxies are those of the environment:
// HTTPS_PROXY, HTTP_PROXY and NO_PROXY.
func New(config Config) (*Fetcher, error) {
	f := &Fetcher{config: config, now: time.Now, sharedState: &sharedState{indexes: newIndexes(),
		transports: map[identity]*http.Transport{}, callers: map[string]*callers{}},
		proxy: httpproxy.FromEnvironment().ProxyFunc(),
		log:   cmp.Or(config.Log, slog.New(slog.DiscardHandler)),
		ttl:   cmp.Or(config.TTL, DefaultTTL),
		connect: func(ctx context.Context, dialer *net.Dialer, network, address string) (net.Conn, error) {
			return dialer.DialContext(ctx, network, address)
		},
		limits: Limits{
			Bytes:      cmp.Or(config.Limits.Bytes, DefaultBytes),
			Unpacked:   cmp.Or(config.Limits.Unpacked, UnpackedRatio*cmp.Or(config.Limits.Bytes, DefaultBytes)),
			Time:       cmp.Or(config.Limits.Time, DefaultTime),
			Concurrent: cmp.Or(config.Limits.Concurrent, DefaultConcurrent),
			Rate:       cmp.Or(config.Limits.Rate, DefaultRate),
			Memory:     cmp.Or(config.Limits.Memory, DefaultMemory),
			Retries:    cmp.Or(config.Limits.Retries, DefaultRetries),
			Backoff:    cmp.Or(config.Limits.Backoff, DefaultBackoff),
		},
	}
	var err error
	TrustPublicRoots()
	if f.authorities, err = x509.SystemCertPool(); err != nil {
		f.authorities = x509.NewCertPool()
	}
	if f.allow, err = config.check(f.authorities); err != nil {
		return nil, err
	}
	f.private, _ = parsePrivate(config.AllowPrivate)
	f.queue, f.backend, f.window, f.paths = newQueue(f.limits.Concurrent), local{f}, paceWindow, maxPaths
	f.credentials = []Credentials{config.Credentials}
	f.resolve = func(ctx context.Context, host string) ([]netip.Addr, error) {
		return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	}
	f.metrics = newMetrics(func() int64 { return f.store.size() }, func() int { return f.queue.length() }, config.Metrics)
	f.store = openStore(config.Cache, f.log, f.metrics)
	return f, nil
}

// Fetch fetches a Ref. The Data of the Content is shared between callers and must
// not be modified. Errors are findings, except for those of ctx.
func (f *Fetcher) Fetch(ctx context.Context, ref remote.Ref) (remote.Content, error) {
	return request{f: f}.Fetch(ctx, ref)
}

// Ensure fetches a Ref into the cache. If a process fetches it, the Data stays in
// the cache, and Open opens it: a server must not keep the content of many tenants
// in memory.
func (f *Fetcher) Ensure(ctx context.Context, ref remote.Ref) (remote.Content, error) {
	return f.share(ctx, ref, "", false)
}

// Uncached returns a remote.Fetcher that ignores the cache, even for exact versions,
// which may have been republished, with any digest in the index. The result
// replaces the cached content.
func (f *Fetcher) Uncached() remote.Fetcher { return request{f: f, ignoreCache: true} }

// Pinned returns a remote.Fetcher that verifies recorded digests, such as those
// of a lock file: recorded returns the digest that the Data of a Ref must have, or
// "". Other content is an error. The source is contacted despite the cache, unless
// Offline is set. A range or branch that has moved has another digest, too: use the
// resolved version or commit.
func (f *Fetcher) Pinned(recorded func(remote.Ref) string) remote.Fetcher {
	return request{f: f, recorded: recorded}
}

// request is a Fetcher with options for one Ref: its expected digest, and whether
// the cache is ignored.
type request struct {
	f           *Fetcher
	recorded    func(remote.Ref) string
	ignoreCache bool
}

func (x request) Fetch(ctx context.Context, ref remote.Ref) (remote.Content, error) {
	want := ""
	if x.recorded != nil {
		want = x.recorded(ref)
	}
	content, err := x.f.share(ctx, ref, want, x.ignoreCache || want != "")
	if err != nil || x.f.config.Process == nil {
		return content, err
	}
	data, found := x.f.store.blob(content.Digest)
	if !found {
		return remote.Content{}, failed(unreachable, "try again, or enlarge the cache", "it was evicted from the cache already").finding(ref)
	}
	content.Data = data
	return content, nil
}

// share fetches a Ref once for all concurrent callers. A fetch that has started
// continues when they leave, since its result is cached for others; a queued one is
// canceled with the last caller.
func (f *Fetcher) share(ctx context.Context, ref remote.Ref, want string, ignoreCache bool) (remote.Content, error) {
	if err := ctx.Err(); err != nil {
		return remote.Content{}, err
	}
	key, err := json.Marshal([]any{f.scope, ref, want, ignoreCache})
	if err != nil {
		return remote.Content{}, err
	}
	wanted, leave := f.join(ctx, string(key))
	defer leave()
	for {
		first := false
		flight := f.flights.DoChan(string(key), func() (any, error) {
			first = true
			return f.obtain(wanted, ref, want, ignoreCache)
		})
		select {
		case <-ctx.Done():
			return remote.Content{}, ctx.Err()
		case result := <-flight:
			if errors.Is(result.Err, errUnwanted) {
				continue // the previous callers left as this one joined
			}
			return f.result(ref, result, first)
		}
	}
}

// result returns the result of a shared fetch to one of its callers.
func (f *Fetcher) result(ref remote.Ref, result singleflight.Result, first bool) (remote.Content, error) {
	if !first {
		f.metrics.events.WithLabelValues(string(shared)).Inc()
	}
	var why *failure
	switch {
	case result.Err == nil:
		content := result.Val.(remote.Content)
		f.count(ref, content.Warning)
		return content, nil
	case errors.As(result.Err, &why):
		f.metrics.requests.WithLabelValues(string(ref.Kind), string(why.outcome)).Inc()
		return remote.Content{}, why.finding(ref)
	}
	return remote.Content{}, result.Err
}

// errUnwanted means that all callers left before the fetch started.
var errUnwanted = errors.New("all callers of the fetch have left")

// callers are the concurrent callers for one Ref.
type callers struct {
	count int
	ctx   context.Context // ends with the last caller
	end   context.CancelFunc
}

// join adds a caller. The caller must call leave when it is done; wanted ends when
// there are no callers.
func (f *Fetcher) join(ctx context.Context, key string) (wanted context.Context, leave func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.callers[key]
	if c == nil {
		c = &callers{}
		c.ctx, c.end = context.WithCancel(context.WithoutCancel(ctx))
		f.callers[key] = c
	}
	c.count++
	return c.ctx, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if c.count--; c.count == 0 {
			c.end()
			delete(f.callers, key)
		}
	}
}

func (f *Fetcher) count(ref remote.Ref, warning string) {
	o := fetched
	if warning != "" {
		o = stale
	}
	f.metrics.requests.WithLabelValues(string(ref.Kind), string(o)).Inc()
}

// obtain returns a Ref from the cache or the network. ignoreCache ignores the cache;
// offline, only the cache is used, and it must match want, if set.
func (f *Fetcher) obtain(ctx context.Context, ref remote.Ref, want string, ignoreCache bool) (remote.Content, error) {
	at, why := f.address(ref)
	if why != nil {
		return remote.Content{}, why
	}
	cached, isCached := f.cachedRecord(ref)
	if want != "" {
		cached = record{Version: cached.Version, Digest: want, At: cached.At}
		if cached.Version == "" && isImmutable(ref) {
			cached.Version = ref.Version
		}
		isCached = cached.Version != "" || ref.Kind == remote.File
	}
	age := f.now().Sub(cached.At)
	usable := f.config.Offline || !ignoreCache && (isImmutable(ref) || age < f.ttl && age > -f.ttl)
	if isCached && usable {
		if data, found := f.cachedData(cached.Digest); found {
			f.metrics.events.WithLabelValues(string(hit)).Inc()
			return remote.Content{Version: cached.Version, Digest: cached.Digest, Data: data}, nil
		}
	}
	if f.config.Offline {
		return remote.Content{}, failed(notCached, "fetch it once with the network, or vendor it",
			"is not in the cache, and the network is disabled")
	}
	if isCached && !usable {
		f.metrics.events.WithLabelValues(string(expired)).Inc()
	} else {
		f.metrics.events.WithLabelValues(string(miss)).Inc()
	}
	if want == "" && isImmutable(ref) && !ignoreCache {
		want = cached.Digest // evicted from the cache; the content must be the same again
	}
	content, err := f.download(ctx, ref, at, ignoreCache)
	if err == nil && want != "" && content.Digest != want {
		err = f.changed(ref, want, content.Digest)
	}
	if err == nil {
		f.put(ref, content)
		return content, nil
	}
	if !errors.As(err, &why) {
		return remote.Content{}, err
	}
	if isCached && f.config.OnFailure == UseCached && replaceable[why.outcome] {
		if data, found := f.cachedData(cached.Digest); found {
			return remote.Content{Version: cached.Version, Digest: cached.Digest, Data: data,
				Warning: finding.WithoutCredentials(fmt.Sprintf("the copy of %s is used: %s",
					cached.At.UTC().Format(time.RFC3339), why.message))}, nil
		}
	}
	return remote.Content{}, why
}

// changed reports content that differs from the recorded digest.
func (f *Fetcher) changed(ref remote.Ref, was, is string) *failure {
	remedy := "ask its publisher why it changed, and record the new digest if the change is intended"
	if known, found := f.store.lookup(f.scope, ref); found && known.Digest == was {
		remedy += " (the cache has the old one in " + f.store.refPath(f.scope, ref) + ")"
	}
	return failed(changed, remedy, "its content has changed: its digest was %s and is %s", was, is)
}

// isImmutable reports whether the content of a Ref cannot change.
func isImmutable(ref remote.Ref) bool {
	switch ref.Kind {
	case remote.Chart:
		_, manifest := splitDigest(ref.Version)
		return manifest != "" || exactVersion(ref.Version)
	case remote.Repository:
		return isCommit(ref.Version)
	}
	return false
}

// schemes maps kinds to their URL schemes.
var schemes = map[remote.Kind][]string{
	remote.Chart:      {"https", "http", "oci"},
	remote.File:       {"https", "http"},
	remote.Repository: {"https", "http"},
}

// address returns the URL of a Ref if it is valid and allowed.
func (f *Fetcher) address(ref remote.Ref) (*url.URL, *failure) {
	known, found := schemes[ref.Kind]
	if !found {
		return nil, failed(badRef, "name a chart, a file or a repository", "unknown source kind %q", ref.Kind)
	}
	at, fault := parseAddress(ref.URL)
	if fault == "" && !slices.Contains(known, at.Scheme) {
		fault = "is neither " + strings.Join(slices.DeleteFunc(slices.Clone(known), func(s string) bool { return s == "http" }),
			" nor ") + ", and others are not fetched"
	}
	switch {
	case fault == hasUser:
		return nil, failed(badRef, "take them out of the address and mount them as files", "its address %s, which others can read", fault)
	case fault != "":
		return nil, failed(badRef, "correct the address", "its address %s", fault)
	case ref.Kind == remote.Chart && (ref.Chart == "" || !fs.ValidPath(ref.Chart) || strings.ContainsAny(ref.Chart, ":@\\?#% ")):
		return nil, failed(badRef, "write the name of a chart", "%q is not a valid name of a chart", ref.Chart)
	}
	if at.Scheme == "oci" {
		at = at.JoinPath(ref.Chart)
	}
	if !f.allow.allows(at) {
		if why := f.private.forbiddenHostReason(hostOf(at)); why != "" {
			return nil, failed(notAllowed, "use a source with a public address", "%s is %s", at.Host, why)
		}
		if len(f.allow) == 0 {
			return nil, failed(notAllowed, toAllow, "is not fetched, because the allow-list is empty")
		}
		return nil, failed(notAllowed, toAllow, "is not on the allow-list")
	}
	return at, nil
}

// errYield ends a fetch whose place another tenant needs.
var errYield = errors.New("the fetch makes room for another tenant")

// download fetches a Ref over the network when there is a free place in the queue. If it must
// make room for another tenant, it waits again.
func (f *Fetcher) download(wanted context.Context, ref remote.Ref, at *url.URL, ignoreCache bool) (remote.Content, error) {
	deadline := time.Now().Add(f.limits.Time)
	waiting, cancel := context.WithDeadline(wanted, deadline)
	defer cancel()
	for {
		ctx, end := context.WithCancelCause(context.WithoutCancel(wanted))
		leave, err := f.queue.enter(waiting, hostOf(at), tenantOf(wanted), func() { end(errYield) })
		switch {
		case wanted.Err() != nil:
			if err == nil {
				leave()
			}
			end(nil)
			return remote.Content{}, errUnwanted
		case err != nil:
			end(nil)
			return remote.Content{}, failed(slow, moreTime,
				"timed out after %s in the queue: at most %d fetches run at a time, at most %d for one host or tenant, "+
					"and %d for one tenant at one host",
				f.limits.Time, f.limits.Concurrent, f.queue.share, f.queue.own)
		}
		content, err := f.downloadNow(ctx, deadline, ref, at, ignoreCache)
		leave()
		yielded := errors.Is(context.Cause(ctx), errYield)
		end(nil)
		if err == nil || !yielded {
			return content, err
		}
	}
}

// downloadNow fetches a Ref over the network. It retries temporary failures.
func (f *Fetcher) downloadNow(ctx context.Context, deadline time.Time, ref remote.Ref, at *url.URL,
	ignoreCache bool) (remote.Content, error) {
	if f.config.Fetching != nil {
		defer f.config.Fetching(ref)()
	}
	defer f.metrics.observeDuration(ref.Kind, time.Now())
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	for try := 0; ; try++ {
		content, err := f.once(ctx, ref, at, ignoreCache)
		var why *failure
		if err == nil || !errors.As(err, &why) || !retryable[why.outcome] || try >= f.limits.Retries {
			return content, err
		}
		// Jitter spreads the retries of replicas.
		wait := f.limits.Backoff << min(try, 16)
		wait += rand.N(wait/2 + 1)
		if why.after > 0 {
			wait = why.after
		}
		if time.Until(deadline) < wait {
			return content, err
		}
		f.metrics.retries.WithLabelValues(string(ref.Kind)).Inc()
		select {
		case <-ctx.Done():
			return content, err
		case <-time.After(wait):
		}
	}
}

// once fetches a Ref over the network without retries, and records the result.
func (f *Fetcher) once(ctx context.Context, ref remote.Ref, at *url.URL, ignoreCache bool) (remote.Content, error) {
	run := f.try
	if f.config.Process != nil {
		run = f.fetchInProcess
	}
	result, err := run(ctx, ref, at, ignoreCache)
	if result.file != "" {
		defer os.Remove(result.file) // unless it was moved to the cache
	}
	if err != nil {
		return remote.Content{}, err
	}
	return f.finish(result)
}

// try fetches a Ref in this process.
func (f *Fetcher) try(ctx context.Context, ref remote.Ref, at *url.URL, ignoreCache bool) (got fetchedContent, err error) {
	e, err := f.begin(ctx, ref, at)
	if err != nil {
		return fetchedContent{}, err
	}
	e.ignoreCache = ignoreCache
	// Libraries parse the content, and one of them may panic, which must not end
	// the process.
	defer func() {
		if fault := recover(); fault != nil {
			err = failed(broken, "check the URL", "cannot read the response of %s: %s", e.host(), short(fmt.Sprint(fault)))
		}
	}()
	switch {
	case ref.Kind == remote.Repository:
		return e.gitRepository()
	case ref.Kind == remote.File:
		data, err := e.get(at.String())
		return fetchedContent{Content: remote.Content{Digest: remote.Digest(data), Data: data}}, err
	case at.Scheme == "oci":
		return e.chartOfRegistry()
	}
	return e.chartOfRepository()
}
