// Package fetch gets over the network what package remote names: charts of
// chart repositories and OCI registries, files, and git repositories.
//
// Nothing is fetched that the operator does not allow. What was fetched is kept
// in a cache on disk under its digest, which replicas can share. No process is
// ever started: neither git or helm, nor the helpers that a Docker configuration
// may name.
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

	"golang.org/x/net/http/httpproxy"
	"golang.org/x/sync/singleflight"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/remote"
	"github.com/ladder-cmp/ladder/internal/roots"
)

// Fetcher fetches over the network. It can be used by several goroutines.
//
// A repository of git comes with its submodules, as far as they are at https
// addresses that are allowed too; "?submodules=false" at the end of the Ref's URL
// leaves them out. Its archive has the paths from the root of the repository, and
// links that lead to somewhere in it.
//
// The version of a chart in a registry may end in the digest of its manifest:
// 1.2.3@sha256:….
type Fetcher struct {
	config      Config
	limits      Limits
	fresh       time.Duration
	allow       allowList
	private     privateList
	credentials []Credentials // the first that knows an address counts
	scope       string        // of records in the store; see For
	home        home
	log         *slog.Logger
	store       *store
	metrics     *metrics
	queue       *queue
	window      time.Duration // over which the rate of a transfer is taken
	authorities *x509.CertPool
	proxy       func(*url.URL) (*url.URL, error)
	*underWay

	now     func() time.Time
	resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	connect func(ctx context.Context, dialer *net.Dialer, network, address string) (net.Conn, error)
}

// underWay is what a Fetcher and those that it is For have in common.
type underWay struct {
	indexes    indexes
	flights    singleflight.Group
	proxies    sync.Map // host and port of each that was chosen
	downloaded atomic.Int64
	incomplete sync.Once // the sandbox of the processes, in the log

	mu         sync.Mutex
	transports map[identity]*http.Transport
	crowds     map[string]*crowd
}

// idle is how long a connection may take to come about, and is kept unused.
const idle = 30 * time.Second

// New returns a Fetcher. The error holds a finding for each part of the Config
// that is wrong. It does not use the network. The proxies are those of the
// environment: HTTPS_PROXY, HTTP_PROXY and NO_PROXY.
func New(config Config) (*Fetcher, error) {
	f := &Fetcher{config: config, now: time.Now, underWay: &underWay{transports: map[identity]*http.Transport{}, crowds: map[string]*crowd{}},
		proxy: httpproxy.FromEnvironment().ProxyFunc(),
		log:   cmp.Or(config.Log, slog.New(slog.DiscardHandler)),
		fresh: cmp.Or(config.Fresh, DefaultFresh),
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
	roots.Trust()
	if f.authorities, err = x509.SystemCertPool(); err != nil {
		f.authorities = x509.NewCertPool()
	}
	if f.allow, err = config.check(f.authorities); err != nil {
		return nil, err
	}
	f.private, _ = parsePrivate(config.AllowPrivate)
	f.queue, f.home, f.window = newQueue(f.limits.Concurrent), local{f}, paceWindow
	f.credentials = []Credentials{config.Credentials}
	f.resolve = func(ctx context.Context, host string) ([]netip.Addr, error) {
		return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	}
	f.metrics = newMetrics(func() int64 { return f.store.size() }, func() int { return f.queue.length() }, config.Metrics)
	f.store = openStore(config.Cache, f.log, f.metrics)
	return f, nil
}

// Fetch gets what ref names. The Data of the Content is shared between callers
// and must not be changed. Errors are findings, but for those of ctx.
func (f *Fetcher) Fetch(ctx context.Context, ref remote.Ref) (remote.Content, error) {
	return asking{f: f}.Fetch(ctx, ref)
}

// Ensure gets what ref names into the cache, as Fetch does, and leaves its Data there
// if it is fetched by a process: Open opens it. Who holds what many tenants fetch must
// not hold it in memory.
func (f *Fetcher) Ensure(ctx context.Context, ref remote.Ref) (remote.Content, error) {
	return f.share(ctx, ref, "", false)
}

// Anew returns a remote.Fetcher that asks the source for all that may have changed
// there, also what the cache has of an exact version, which somebody may have
// published again, whatever the digest in the index. What comes takes the place of what the cache had.
func (f *Fetcher) Anew() remote.Fetcher { return asking{f: f, anew: true} }

// Expecting returns a remote.Fetcher that knows what Refs came to earlier, such as
// a lock file records it: recorded gives the digest that the Data of a Ref must
// have, or "". What has another is an error. The source is asked, whatever the cache
// has, unless Offline says not to. A range or a branch that has moved on has another
// digest, too: ask for the version or commit that it came to.
func (f *Fetcher) Expecting(recorded func(remote.Ref) string) remote.Fetcher {
	return asking{f: f, recorded: recorded}
}

// asking is a Fetcher with what is known of a Ref, or not to be relied on.
type asking struct {
	f        *Fetcher
	recorded func(remote.Ref) string
	anew     bool
}

func (x asking) Fetch(ctx context.Context, ref remote.Ref) (remote.Content, error) {
	want := ""
	if x.recorded != nil {
		want = x.recorded(ref)
	}
	content, err := x.f.share(ctx, ref, want, x.anew || want != "")
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

// share gets ref once for all who want it at the same time. What uses the network
// already goes on when they leave, since others may come and the cache will have it;
// what waits for its turn is given up with the last of them.
func (f *Fetcher) share(ctx context.Context, ref remote.Ref, want string, anew bool) (remote.Content, error) {
	if err := ctx.Err(); err != nil {
		return remote.Content{}, err
	}
	key, err := json.Marshal([]any{f.scope, ref, want, anew})
	if err != nil {
		return remote.Content{}, err
	}
	wanted, leave := f.join(ctx, string(key))
	defer leave()
	for {
		first := false
		flight := f.flights.DoChan(string(key), func() (any, error) {
			first = true
			return f.obtain(wanted, ref, want, anew)
		})
		select {
		case <-ctx.Done():
			return remote.Content{}, ctx.Err()
		case landed := <-flight:
			if errors.Is(landed.Err, errUnwanted) {
				continue // those who wanted it left as we came
			}
			return f.landed(ref, landed, first)
		}
	}
}

// landed is what became of a fetch for one of those who want it.
func (f *Fetcher) landed(ref remote.Ref, landed singleflight.Result, first bool) (remote.Content, error) {
	if !first {
		f.metrics.events.WithLabelValues(string(shared)).Inc()
	}
	var why *failure
	switch {
	case landed.Err == nil:
		content := landed.Val.(remote.Content)
		f.count(ref, content.Warning)
		return content, nil
	case errors.As(landed.Err, &why):
		f.metrics.requests.WithLabelValues(string(ref.Kind), string(why.outcome)).Inc()
		return remote.Content{}, why.finding(ref)
	}
	return remote.Content{}, landed.Err
}

// errUnwanted says that all who wanted something left before its turn came.
var errUnwanted = errors.New("no request waits for it any more")

// crowd is those who want the same at the same time.
type crowd struct {
	count int
	ctx   context.Context // ends with the last of them
	end   context.CancelFunc
}

// join makes one more want something. leave is to be called when it has it or wants
// it no longer; wanted ends when nobody does.
func (f *Fetcher) join(ctx context.Context, key string) (wanted context.Context, leave func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.crowds[key]
	if c == nil {
		c = &crowd{}
		c.ctx, c.end = context.WithCancel(context.WithoutCancel(ctx))
		f.crowds[key] = c
	}
	c.count++
	return c.ctx, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if c.count--; c.count == 0 {
			c.end()
			delete(f.crowds, key)
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

// obtain gets ref from the cache, or over the network. anew says that the cache is
// not to be asked; offline there is nothing else, and then want, if any, says what of
// it will do.
func (f *Fetcher) obtain(ctx context.Context, ref remote.Ref, want string, anew bool) (remote.Content, error) {
	at, why := f.address(ref)
	if why != nil {
		return remote.Content{}, why
	}
	known, remembered := f.recall(ref)
	if want != "" {
		seen := known.Digest == want
		known = record{Version: known.Version, Digest: want, At: known.At}
		if known.Version == "" && lasting(ref) {
			known.Version = ref.Version
		}
		remembered = known.Version != "" || ref.Kind == remote.File
		if ref.Kind == remote.Chart && len(f.config.Verify) > 0 {
			remembered = remembered && seen // a lock says what it is, and not who signed it
		}
	}
	age := f.now().Sub(known.At)
	good := f.config.Offline || !anew && (lasting(ref) || age < f.fresh && age > -f.fresh)
	if remembered && good {
		if data, found := f.have(known.Digest); found {
			f.metrics.events.WithLabelValues(string(hit)).Inc()
			return remote.Content{Version: known.Version, Digest: known.Digest, Data: data}, nil
		}
	}
	if f.config.Offline {
		return remote.Content{}, failed(notCached, "fetch it once with the network, or vendor it", "is not in the cache, and the network is disabled")
	}
	if remembered && !good {
		f.metrics.events.WithLabelValues(string(expired)).Inc()
	} else {
		f.metrics.events.WithLabelValues(string(miss)).Inc()
	}
	if want == "" && lasting(ref) && !anew {
		want = known.Digest // it went from the cache, and must come again as it was
	}
	content, err := f.download(ctx, ref, at, anew)
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
	if remembered && f.config.OnFailure == UseCached && replaceable[why.outcome] {
		if data, found := f.have(known.Digest); found {
			return remote.Content{Version: known.Version, Digest: known.Digest, Data: data,
				Warning: finding.WithoutCredentials(fmt.Sprintf("the copy of %s is used: %s", known.At.UTC().Format(time.RFC3339), why.message))}, nil
		}
	}
	return remote.Content{}, why
}

// changed is the failure of what is no longer what it was.
func (f *Fetcher) changed(ref remote.Ref, was, is string) *failure {
	remedy := "contact its publisher why, and record the new digest if it is meant"
	if known, found := f.store.lookup(f.scopeOf(ref), ref); found && known.Digest == was {
		remedy += " (the cache has the old one in " + f.store.refPath(f.scopeOf(ref), ref) + ")"
	}
	return failed(changed, remedy, "its content has changed: its digest was %s and is %s", was, is)
}

// lasting says whether a Ref is always the same.
func lasting(ref remote.Ref) bool {
	switch ref.Kind {
	case remote.Chart:
		_, manifest := pinned(ref.Version)
		return manifest != "" || exactVersion(ref.Version)
	case remote.Repository:
		return isCommit(ref.Version)
	}
	return false
}

// schemes are those of each kind.
var schemes = map[remote.Kind][]string{
	remote.Chart:      {"https", "http", "oci"},
	remote.File:       {"https", "http"},
	remote.Repository: {"https", "http"},
}

// address is where a Ref is, if it can be and may be fetched.
func (f *Fetcher) address(ref remote.Ref) (*url.URL, *failure) {
	known, found := schemes[ref.Kind]
	if !found {
		return nil, failed(badRef, "name a chart, a file or a repository", "unknown source kind %q", ref.Kind)
	}
	at, fault := parseAddress(ref.URL)
	if fault == "" && !slices.Contains(known, at.Scheme) {
		fault = "is neither " + strings.Join(slices.DeleteFunc(slices.Clone(known), func(s string) bool { return s == "http" }), " nor ") + ", and others are not fetched"
	}
	switch {
	case fault == "holds a user or a password":
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
		remedy := "add " + at.Scheme + "://" + at.Host + at.Path + ", or what is above it, to the allow-list (--allow-remote) if you trust it"
		if len(f.allow) == 0 {
			return nil, failed(notAllowed, remedy, "is not fetched, because the allow-list is empty")
		}
		return nil, failed(notAllowed, remedy, "is not on the allow-list")
	}
	return at, nil
}

// download gets ref over the network, when its turn has come. It begins again after what
// may pass.
func (f *Fetcher) download(wanted context.Context, ref remote.Ref, at *url.URL, anew bool) (remote.Content, error) {
	deadline := time.Now().Add(f.limits.Time)
	waiting, cancel := context.WithDeadline(wanted, deadline)
	defer cancel()
	leave, err := f.queue.enter(waiting, hostOf(at), tenantOf(wanted))
	switch {
	case wanted.Err() != nil:
		if err == nil {
			leave()
		}
		return remote.Content{}, errUnwanted
	case err != nil:
		return remote.Content{}, failed(slow, moreTime, "its turn did not come within %s: others use the network, %d at once, and at most %d of one host or for one tenant",
			f.limits.Time, f.limits.Concurrent, f.queue.share)
	}
	defer leave()
	if f.config.Fetching != nil {
		defer f.config.Fetching(ref)()
	}
	defer f.metrics.took(ref.Kind, time.Now())
	ctx, cancel := context.WithDeadline(context.WithoutCancel(wanted), deadline)
	defer cancel()
	for try := 0; ; try++ {
		content, err := f.once(ctx, ref, at, anew)
		var why *failure
		if err == nil || !errors.As(err, &why) || !again[why.outcome] || try >= f.limits.Retries {
			return content, err
		}
		// Some randomness keeps replicas from coming back all at once.
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

// once gets ref over the network, once, and records what it came to.
func (f *Fetcher) once(ctx context.Context, ref remote.Ref, at *url.URL, anew bool) (remote.Content, error) {
	run := f.try
	if f.config.Process != nil {
		run = f.send
	}
	brought, err := run(ctx, ref, at, anew)
	if brought.file != "" {
		defer os.Remove(brought.file) // unless the cache has taken it
	}
	if err != nil {
		return remote.Content{}, err
	}
	return f.settle(ref, brought)
}

// try gets ref over the network in this process.
func (f *Fetcher) try(ctx context.Context, ref remote.Ref, at *url.URL, anew bool) (got fetchedContent, err error) {
	e, err := f.begin(ctx, ref, at)
	if err != nil {
		return fetchedContent{}, err
	}
	e.anew = anew
	// What comes is read by libraries, and one of them may not be ready for it.
	// That is no reason to end for everyone.
	defer func() {
		if fault := recover(); fault != nil {
			err = failed(broken, "check the URL", "the answer of %s cannot be read: %s", e.host(), short(fmt.Sprint(fault)))
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
