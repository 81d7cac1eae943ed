package sidecar

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

// operations serves endpoints for operators on one TCP port: /metrics, /healthz,
// /readyz, and the gRPC health service for gRPC probes.
type operations struct {
	ready  atomic.Bool
	lost   atomic.Bool // whether the socket is missing
	server *http.Server
}

func newOperations(metrics prometheus.Gatherer, healthy *health.Server, profiles bool) *operations {
	o := &operations{}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !o.ready.Load() {
			http.Error(w, "the server accepts no requests: it is starting or stopping", http.StatusServiceUnavailable)
			return
		}
		if o.lost.Load() {
			http.Error(w, "the repo-server does not reach the server: its socket was removed and cannot be recreated; the log says why",
				http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	if profiles {
		mux.HandleFunc("GET /debug/pprof/", local(pprof.Index))
		mux.HandleFunc("GET /debug/pprof/profile", local(pprof.Profile))
		mux.HandleFunc("GET /debug/pprof/symbol", local(pprof.Symbol))
		mux.HandleFunc("GET /debug/pprof/trace", local(pprof.Trace))
	}
	probes := grpc.NewServer()
	healthpb.RegisterHealthServer(probes, healthy)
	both := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 2 && strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") {
			probes.ServeHTTP(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	o.server = &http.Server{Handler: both, Protocols: protocols,
		ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: time.Minute,
		MaxHeaderBytes: 16 << 10, HTTP2: &http.HTTP2Config{MaxConcurrentStreams: 16, SendPingTimeout: 15 * time.Second},
		ErrorLog: log.New(io.Discard, "", 0)} // clients could fill the log with their errors
	return o
}

// local restricts a handler to clients within the Pod, including kubectl
// port-forward: profiles contain file names and code, and use CPU.
func local(handle http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		from, err := netip.ParseAddrPort(r.RemoteAddr)
		if err != nil || !from.Addr().Unmap().IsLoopback() {
			http.NotFound(w, r)
			return
		}
		handle(w, r)
	}
}

// maxOperationsConns limits connections: Prometheus and the kubelet need only a few.
const maxOperationsConns = 64

// boundedListener limits concurrent connections. It closes the oldest for a new
// one: whoever holds connections must not block probes, since the kubelet would
// restart the container.
type boundedListener struct {
	net.Listener
	mu    sync.Mutex
	conns []*boundedConn // oldest first
}

type boundedConn struct {
	net.Conn
	listener *boundedListener
}

func (b *boundedListener) Accept() (net.Conn, error) {
	conn, err := b.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &boundedConn{conn, b}
	b.mu.Lock()
	b.conns = append(b.conns, c)
	var oldest *boundedConn
	if len(b.conns) > maxOperationsConns {
		oldest = b.conns[0]
		b.conns = b.conns[1:]
	}
	b.mu.Unlock()
	if oldest != nil {
		oldest.Conn.Close()
	}
	return c, nil
}

func (c *boundedConn) Close() error {
	c.listener.mu.Lock()
	c.listener.conns = remove(c.listener.conns, c)
	c.listener.mu.Unlock()
	return c.Conn.Close()
}

// serve serves until close.
func (o *operations) serve(lis net.Listener) error {
	if err := o.server.Serve(&boundedListener{Listener: lis}); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve on %s: %w", lis.Addr(), err)
	}
	return nil
}

func (o *operations) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	o.server.Shutdown(ctx)
	o.server.Close()
}
