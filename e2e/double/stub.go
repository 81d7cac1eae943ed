package double

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// stub is the server behind every Service, as far as the API server calls them:
// webhooks that admit all, conversions that change nothing but the version,
// aggregated APIs without resources. A Service answers while it has endpoints.
type stub struct {
	authority *authority
	server    *http.Server
	accepts   chan net.Conn
	closed    chan struct{}
	once      sync.Once

	mu     sync.RWMutex
	world  *world
	routes map[string]route // by ClusterIP
}

// route is where the connections to a ClusterIP lead.
type route struct {
	service Ref
	why     string // why nobody answers, empty if somebody does
}

func newStub() (*stub, error) {
	own, err := newAuthority()
	if err != nil {
		return nil, err
	}
	s := &stub{authority: own, accepts: make(chan net.Conn), closed: make(chan struct{})}
	s.server = &http.Server{
		Handler:  s,
		ErrorLog: log.New(io.Discard, "", 0), // the API server hangs up as it likes
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, addressKey{}, c.(*tls.Conn).NetConn().(*serviceConn).address)
		},
	}
	go s.server.Serve(tls.NewListener(s, &tls.Config{GetCertificate: s.certificate}))
	return s, nil
}

// learn tells the stub of the present world.
func (s *stub) learn(w *world, routes map[string]route) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.world, s.routes = w, routes
}

// close ends the stub.
func (s *stub) close() {
	s.server.Close()
	s.Close()
}

// serviceConn is a connection to a ClusterIP.
type serviceConn struct {
	net.Conn
	address string
}

type addressKey struct{}

// dial connects to a ClusterIP.
func (s *stub) dial(ctx context.Context, address string) (net.Conn, error) {
	if why := s.reason(address); why != "" {
		return nil, fmt.Errorf("connection refused: %s", why)
	}
	near, far := net.Pipe()
	select {
	case s.accepts <- &serviceConn{far, address}:
		return near, nil
	case <-s.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// reason says why nobody answers at an address.
func (s *stub) reason(address string) string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	host, _, _ := net.SplitHostPort(address)
	to, known := s.routes[host]
	if !known {
		return "no Service has the address " + host
	}
	return to.why
}

// Accept, Close and Addr make the stub the listener of its own server.
func (s *stub) Accept() (net.Conn, error) {
	select {
	case c := <-s.accepts:
		return c, nil
	case <-s.closed:
		return nil, net.ErrClosed
	}
}

func (s *stub) Close() error {
	s.once.Do(func() { close(s.closed) })
	return nil
}

func (s *stub) Addr() net.Addr { return &net.UnixAddr{Name: UserAgent, Net: "pipe"} }

func (s *stub) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	host, _, _ := net.SplitHostPort(hello.Conn.(*serviceConn).address)
	s.mu.RLock()
	w, to := s.world, s.routes[host]
	s.mu.RUnlock()
	p := w.pairOf(to.service, s.authority)
	return &p.certificate, nil
}

func (s *stub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// The connection may be older than the end of what was behind it.
	if s.reason(r.Context().Value(addressKey{}).(string)) != "" {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "application/json")
	if r.Method == http.MethodPost {
		answer, err := review(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		json.NewEncoder(w).Encode(answer)
		return
	}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if len(parts) != 3 || parts[0] != "apis" {
		http.NotFound(w, r)
		return
	}
	json.NewEncoder(w).Encode(map[string]any{
		"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": parts[1] + "/" + parts[2], "resources": []any{},
	})
}

// review answers what the API server asks a webhook.
func review(body io.Reader) (map[string]any, error) {
	var asked struct {
		APIVersion, Kind string
		Request          struct {
			UID               string
			DesiredAPIVersion string
			Objects           []map[string]any
		}
	}
	if err := json.NewDecoder(body).Decode(&asked); err != nil {
		return nil, fmt.Errorf("reading a review: %w", err)
	}
	response := map[string]any{"uid": asked.Request.UID}
	switch asked.Kind {
	case "AdmissionReview":
		response["allowed"] = true
	case "ConversionReview":
		for _, o := range asked.Request.Objects {
			(&unstructured.Unstructured{Object: o}).SetAPIVersion(asked.Request.DesiredAPIVersion)
		}
		response["convertedObjects"] = asked.Request.Objects
		response["result"] = map[string]any{"status": "Success"}
	default:
		return nil, fmt.Errorf("a review of kind %q is not known", asked.Kind)
	}
	return map[string]any{"apiVersion": asked.APIVersion, "kind": asked.Kind, "response": response}, nil
}
