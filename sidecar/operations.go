package sidecar

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

// operations is what operators look at, on one TCP port: /metrics, /healthz,
// /readyz, and the gRPC health service for probes that speak gRPC.
type operations struct {
	ready  atomic.Bool
	lost   atomic.Bool // the socket
	server *http.Server
}

func newOperations(metrics prometheus.Gatherer, healthy *health.Server, profiles bool) *operations {
	o := &operations{}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !o.ready.Load() {
			http.Error(w, "the server takes no requests: it is about to begin or to end", http.StatusServiceUnavailable)
			return
		}
		if o.lost.Load() {
			http.Error(w, "the repo-server does not reach the server: its socket is gone and cannot be made again; the log says why", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	if profiles {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
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
	o.server = &http.Server{Handler: both, Protocols: protocols, ReadHeaderTimeout: 10 * time.Second}
	return o
}

// serve answers until close.
func (o *operations) serve(lis net.Listener) error {
	if err := o.server.Serve(lis); !errors.Is(err, http.ErrServerClosed) {
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
