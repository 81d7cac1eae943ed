package fetch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// usesPlainHTTP reports whether to use a host, with its port, without TLS.
func (f *Fetcher) usesPlainHTTP(host string) bool {
	host = strings.ToLower(host)
	for _, p := range f.config.PlainHTTP {
		if p = strings.ToLower(p); p == host || p+":80" == host || p == host+":80" {
			return true
		}
	}
	return false
}

// transport returns the connection pool of an identity, which avoids repeated TLS
// handshakes.
func (f *Fetcher) transport(i identity, own bool) (http.RoundTripper, error) {
	if !own {
		i.Cert, i.Key, i.Insecure = "", "", false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if known := f.transports[i]; known != nil {
		return known, nil
	}
	config, err := i.tls(f.authorities, own)
	if err != nil {
		return nil, err
	}
	// Mounted certificates are renewed regularly. Connections with old ones close
	// when idle.
	if len(f.transports) > 100 {
		f.transports = map[identity]*http.Transport{}
	}
	transport := &http.Transport{
		TLSClientConfig: config,
		Proxy:           f.proxyOf,
		DialContext:     f.dial,
		// A packaged chart must not be decompressed in transit, and the
		// decompressed size may exceed the limit.
		DisableCompression:     true,
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    f.limits.Concurrent,
		IdleConnTimeout:        idle,
		TLSHandshakeTimeout:    idle,
		ResponseHeaderTimeout:  idle,
		MaxResponseHeaderBytes: 1 << 20,
	}
	f.transports[i] = transport
	return transport, nil
}

// proxyOf returns the proxy of a request, and records it as one.
func (f *Fetcher) proxyOf(req *http.Request) (*url.URL, error) {
	proxy, err := f.proxy(req.URL)
	if err != nil {
		return nil, errors.New("the proxy in the environment is not a URL")
	}
	if proxy != nil {
		if err := f.checkName(req.Context(), req.URL.Hostname()); err != nil {
			return nil, err
		}
		port := portOf(proxy)
		if proxy.Scheme == "socks5" && proxy.Port() == "" {
			port = "1080"
		}
		f.proxies.Store(net.JoinHostPort(proxy.Hostname(), port), true)
	}
	return proxy, nil
}

// checkName checks the addresses of a host before it is requested through a proxy,
// as far as they are known here: the proxy resolves names itself, and may be in a
// more private network.
func (f *Fetcher) checkName(ctx context.Context, host string) error {
	if _, err := netip.ParseAddr(host); err == nil {
		return nil // already checked
	}
	ctx, cancel := context.WithTimeout(ctx, lookup)
	defer cancel()
	known, err := f.resolve(ctx, host)
	if err != nil {
		return nil
	}
	for _, to := range known {
		if why := f.private.forbiddenReason(host, to); why != "" {
			return failed(notAllowed, allowPrivateRemedy, "%s leads to %s", host, why)
		}
	}
	return nil
}

// lookup is the timeout for resolving a name that a proxy resolves again.
const lookup = 2 * time.Second

// dial connects to a host unless it resolves to a forbidden address. This is
// checked for each connection, since DNS can change.
func (f *Fetcher) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	dialer := net.Dialer{Timeout: idle}
	if _, proxy := f.proxies.Load(address); !proxy {
		dialer.Control = func(_, resolved string, _ syscall.RawConn) error {
			to, err := netip.ParseAddrPort(resolved)
			if err != nil {
				return fmt.Errorf("%s is not an IP address and port", resolved)
			}
			if why := f.private.forbiddenReason(host, to.Addr()); why != "" {
				return failed(notAllowed, allowPrivateRemedy, "%s leads to %s", host, why)
			}
			return nil
		}
	}
	return f.connect(ctx, &dialer, network, address)
}
