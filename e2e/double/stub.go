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
	open   map[*serviceConn]struct{}
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
	s := &stub{authority: own, accepts: make(chan net.Conn), closed: make(chan struct{}), open: map[*serviceConn]struct{}{}}
	s.server = &http.Server{
		Handler:  s,
		ErrorLog: log.New(io.Discard, "", 0), // the API server hangs up as it likes
	}
	go s.server.Serve(tls.NewListener(s, &tls.Config{GetCertificate: s.certificate}))
	return s, nil
}

// learn tells the stub of the present world. Connections to what has gone end, as those
// of a Pod do: the API server keeps them, and would ask on one of them.
func (s *stub) learn(w *world, routes map[string]route) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.world, s.routes = w, routes
	for c := range s.open {
		if s.reason(c.address) != "" {
			delete(s.open, c)
			c.Conn.Close()
		}
	}
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
	stub    *stub
}

// Close ends the connection, which the stub then no longer has to end.
func (c *serviceConn) Close() error {
	c.stub.mu.Lock()
	delete(c.stub.open, c)
	c.stub.mu.Unlock()
	return c.Conn.Close()
}

// dial connects to a ClusterIP.
func (s *stub) dial(ctx context.Context, address string) (net.Conn, error) {
	near, c, err := s.connect(address)
	if err != nil {
		return nil, err
	}
	select {
	case s.accepts <- c:
		return near, nil
	case <-s.closed:
		c.Close()
		return nil, net.ErrClosed
	case <-ctx.Done():
		c.Close()
		return nil, ctx.Err()
	}
}

// connect makes both ends of a connection to a ClusterIP that answers.
func (s *stub) connect(address string) (near net.Conn, c *serviceConn, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if why := s.reason(address); why != "" {
		return nil, nil, fmt.Errorf("connection refused: %s", why)
	}
	near, far := net.Pipe()
	c = &serviceConn{Conn: far, address: address, stub: s}
	s.open[c] = struct{}{}
	return near, c, nil
}

// reason returns why an address does not respond. The caller holds mu.
func (s *stub) reason(address string) string {
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
	var review struct {
		APIVersion, Kind string
		Request          struct {
			UID               string
			DesiredAPIVersion string
			Objects           []map[string]any
		}
	}
	if err := json.NewDecoder(body).Decode(&review); err != nil {
		return nil, fmt.Errorf("reading a review: %w", err)
	}
	response := map[string]any{"uid": review.Request.UID}
	switch review.Kind {
	case "AdmissionReview":
		response["allowed"] = true
	case "ConversionReview":
		for _, o := range review.Request.Objects {
			(&unstructured.Unstructured{Object: o}).SetAPIVersion(review.Request.DesiredAPIVersion)
		}
		response["convertedObjects"] = review.Request.Objects
		response["result"] = map[string]any{"status": "Success"}
	default:
		return nil, fmt.Errorf("a review of kind %q is not known", review.Kind)
	}
	return map[string]any{"apiVersion": review.APIVersion, "kind": review.Kind, "response": response}, nil
}
