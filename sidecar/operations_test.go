package sidecar

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

// operate serves operations on a listener until the test is over.
func operate(t *testing.T, lis net.Listener, profiles bool) {
	t.Helper()
	registry := prometheus.NewRegistry()
	many := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "many"}, []string{"n"})
	for i := range 1000 {
		many.WithLabelValues(fmt.Sprint(i))
	}
	registry.MustRegister(many)
	o := newOperations(registry, health.NewServer(), profiles)
	served := make(chan error, 1)
	go func() { served <- o.serve(lis) }()
	t.Cleanup(func() {
		o.close()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}

// pipes is a network in memory, whose connections have deadlines.
type pipes struct {
	dialed chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{dialed: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) dial() net.Conn {
	ours, theirs := net.Pipe()
	p.dialed <- theirs
	return ours
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.dialed:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.closed) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// TestSlowOperators holds connections to the operations port in each way in which
// one can be held, and is hung up on.
func TestSlowOperators(t *testing.T) {
	for name, hold := range map[string]func(net.Conn){
		"no request":            func(net.Conn) {},
		"half a request":        func(c net.Conn) { c.Write([]byte("GET /metrics HTTP/1.1\r\nHost: a\r\nX-A: ")) },
		"a header now and then": func(c net.Conn) { drip(c, "GET /metrics HTTP/1.1\r\nHost: a\r\n", "X-A: b\r\n") },
		"half a body":           func(c net.Conn) { drip(c, "GET /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n", "x") },
		"one request": func(c net.Conn) {
			c.Write([]byte("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"))
			bufio.NewReader(c).ReadString('k')
		},
		"no reading":        func(c net.Conn) { c.Write([]byte("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n")) },
		"an HTTP/2 preface": func(c net.Conn) { go c.Write([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				network := newPipes()
				operate(t, network, false)
				c := network.dial()
				defer c.Close()
				hold(c)
				time.Sleep(2 * time.Minute)
				c.SetReadDeadline(time.Now().Add(time.Second))
				if _, err := io.Copy(io.Discard, c); err != nil && !errors.Is(err, io.ErrClosedPipe) {
					t.Errorf("it is still there: %v", err)
				}
			})
		})
	}
}

// drip writes so slowly that something always comes in time.
func drip(c net.Conn, first, then string) {
	c.Write([]byte(first))
	go func() {
		for {
			time.Sleep(time.Second)
			if _, err := c.Write([]byte(then)); err != nil {
				return
			}
		}
	}()
	go io.Copy(io.Discard, io.LimitReader(c, 1))
}

// TestSlowloris opens many connections and keeps them with half a request each.
// Most are closed, and probes are answered meanwhile.
func TestSlowloris(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := newPipes()
		operate(t, network, false)
		const many = 300
		closed := make(chan bool, many)
		for range many {
			c := network.dial()
			defer c.Close()
			go func() {
				c.Write([]byte("GET /metrics HTTP/1.1\r\nX-A: "))
				_, err := c.Read(make([]byte, 1))
				closed <- err != nil
			}()
		}
		for range 20 {
			// As the kubelet does, each time with a new connection.
			client := http.Client{Transport: &http.Transport{DisableKeepAlives: true,
				DialContext: func(context.Context, string, string) (net.Conn, error) { return network.dial(), nil }}}
			res, err := client.Get("http://operations/healthz")
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			if res.StatusCode != http.StatusOK {
				t.Errorf("a probe: %s", res.Status)
			}
		}
		time.Sleep(8 * time.Second) // before the time of half a request is over
		synctest.Wait()
		if got := len(closed); got < many-maxOperationsConns {
			t.Errorf("only %d of %d connections were closed", got, many)
		}
	})
}

// TestWatchers keeps gRPC health streams open.
func TestWatchers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		network := newPipes()
		operate(t, network, false)
		conn, err := grpc.NewClient("passthrough:test", grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) { return network.dial(), nil }))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		watch, err := healthpb.NewHealthClient(conn).Watch(t.Context(), &healthpb.HealthCheckRequest{})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		for err == nil {
			_, err = watch.Recv()
		}
		if took := time.Since(start); took > 2*time.Minute || status.Code(err) == codes.Unimplemented {
			t.Errorf("after %s: %v", took, err)
		}
	})
}

// TestProfilesAreLocal asks for profiles from another machine.
func TestProfilesAreLocal(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]int{"127.0.0.1:1": 200, "[::1]:1": 200, "[::ffff:127.0.0.1]:1": 200, "10.1.2.3:1": 404,
		"[2001:db8::1]:1": 404, "pipe": 404} {
		o := newOperations(prometheus.NewRegistry(), health.NewServer(), true)
		r, err := http.NewRequest(http.MethodGet, "/debug/pprof/", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.RemoteAddr = address
		w := &recorded{header: http.Header{}, code: 200}
		o.server.Handler.ServeHTTP(w, r)
		if w.code != want {
			t.Errorf("%s: %d, want %d", address, w.code, want)
		}
		if isLocal := strings.Contains(w.String(), "goroutine"); isLocal != (want == 200) {
			t.Errorf("%s gets %q", address, w.String())
		}
	}
}

// recorded is a response.
type recorded struct {
	header http.Header
	code   int
	strings.Builder
}

func (r *recorded) Header() http.Header  { return r.header }
func (r *recorded) WriteHeader(code int) { r.code = code }
