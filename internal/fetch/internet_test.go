package fetch

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/remote"
)

// internet is a few hosts, all with a certificate of one authority. A name that
// none of them has leads to nowhere.
type internet struct {
	t         *testing.T
	hosts     map[string]string // what listens for a host and port
	authority *x509.Certificate
	key       *ecdsa.PrivateKey
	caFile    string

	mu   sync.Mutex
	seen []*http.Request
}

func newInternet(t *testing.T) *internet {
	t.Helper()
	n := &internet{t: t, hosts: map[string]string{}}
	n.key = newKey(t)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, IsCA: true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &n.key.PublicKey, n.key)
	if err != nil {
		t.Fatal(err)
	}
	if n.authority, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	n.caFile = filepath.Join(t.TempDir(), "ca.crt")
	write(t, n.caFile, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	return n
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// issue makes a certificate of the authority for a name, and its key, in PEM.
func (n *internet) issue(name string) (cert, key string) {
	own := newKey(n.t)
	template := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		DNSNames:  []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, n.authority, &own.PublicKey, n.key)
	if err != nil {
		n.t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(own)
	if err != nil {
		n.t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
}

// host starts a server at a name, and notes what it is asked.
func (n *internet) host(name string, handler http.HandlerFunc) *httptest.Server {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.mu.Lock()
		n.seen = append(n.seen, r.Clone(context.Background()))
		n.mu.Unlock()
		handler(w, r)
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	cert, key := n.issue(name)
	pair, err := tls.X509KeyPair([]byte(cert), []byte(key))
	if err != nil {
		n.t.Fatal(err)
	}
	authorities := x509.NewCertPool()
	authorities.AddCert(n.authority)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.VerifyClientCertIfGiven, ClientCAs: authorities,
		CurvePreferences: []tls.CurveID{tls.X25519}} // the default makes a handshake cost twice as much
	server.StartTLS()
	n.t.Cleanup(server.Close)
	n.hosts[name+":443"] = server.Listener.Addr().String()
	return server
}

// plainHost starts a server without TLS at a name.
func (n *internet) plainHost(name string, handler http.HandlerFunc) {
	server := httptest.NewServer(handler)
	n.t.Cleanup(server.Close)
	n.hosts[name+":80"] = server.Listener.Addr().String()
}

// asked are the requests so far, as "host path", from a host on.
func (n *internet) asked(host string) []*http.Request {
	n.mu.Lock()
	defer n.mu.Unlock()
	var those []*http.Request
	for _, r := range n.seen {
		if r.Host == host {
			those = append(those, r)
		}
	}
	return those
}

// fetcher fetches in this internet. It waits for nothing.
func (n *internet) fetcher(config Config) *Fetcher {
	n.t.Helper()
	if config.CAFile == "" {
		config.CAFile = n.caFile
	}
	if config.Limits.Backoff == 0 {
		config.Limits.Backoff = 1
	}
	if os.Getenv(everyProcess) != "" {
		n.apart(&config)
	}
	f, err := New(config)
	if err != nil {
		n.t.Fatal(err)
	}
	f.connect = connectTo(n.hosts)
	f.resolve = func(context.Context, string) ([]netip.Addr, error) { return nil, errors.New("no resolver") }
	return f
}

// apart has a Fetcher fetch in processes.
func (n *internet) apart(config *Config) {
	if config.Cache.Dir == "" {
		config.Cache.Dir = n.t.TempDir()
	}
	config.Process = func() *exec.Cmd {
		hosts, err := json.Marshal(n.hosts)
		if err != nil {
			n.t.Error(err)
		}
		cmd := exec.Command(os.Args[0])
		cmd.Env = []string{processHosts + "=" + string(hosts)}
		return cmd
	}
}

const (
	// everyProcess has all tests fetch in processes, to see that it is the same.
	everyProcess = "LADDER_FETCH_PROCESS"
	// processHosts says to this program that it is such a process, and where hosts are.
	processHosts = "LADDER_FETCH_HOSTS"
	// processTries has such a process try what it must not, with the files of a directory.
	processTries = "LADDER_FETCH_TRIES"
)

func TestMain(m *testing.M) {
	text, process := os.LookupEnv(processHosts)
	if !process {
		os.Exit(m.Run())
	}
	hosts := map[string]string{}
	err := json.Unmarshal([]byte(text), &hosts)
	if err == nil {
		connectAs = connectTo(hosts)
		if dir := os.Getenv(processTries); dir != "" {
			connectAs = connectToAttempts(dir)
		}
		err = Work(os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// connectTo reaches these hosts, and those of this machine.
func connectTo(hosts map[string]string) func(context.Context, *net.Dialer, string, string) (net.Conn, error) {
	return func(ctx context.Context, dialer *net.Dialer, network, address string) (net.Conn, error) {
		if to, found := hosts[address]; found {
			return (&net.Dialer{}).DialContext(ctx, network, to)
		}
		if host, _, _ := net.SplitHostPort(address); host == "localhost" || net.ParseIP(host) != nil {
			return dialer.DialContext(ctx, network, address)
		}
		return nil, &net.DNSError{Err: "no such host", Name: address, IsNotFound: true}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// chartArchive is a packed chart of one file.
func chartArchive(t *testing.T, name, version string) []byte {
	t.Helper()
	var out bytes.Buffer
	outer := gzip.NewWriter(&out)
	inner := tar.NewWriter(outer)
	text := fmt.Sprintf("apiVersion: v2\nname: %s\nversion: %s\n", name, version)
	if err := inner.WriteHeader(&tar.Header{Name: name + "/Chart.yaml", Mode: 0o644, Size: int64(len(text))}); err != nil {
		t.Fatal(err)
	}
	if _, err := inner.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(inner.Close(), outer.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// release is an entry of an index.
type release struct {
	version, url, digest string
}

func indexOf(name string, releases ...release) string {
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: v1\nentries:\n  %s:\n", name)
	for _, r := range releases {
		fmt.Fprintf(&b, "  - {apiVersion: v2, name: %s, version: %q, urls: [%q], digest: %q}\n",
			name, r.version, r.url, strings.TrimPrefix(r.digest, "sha256:"))
	}
	return b.String()
}

// serving answers with what stands at a path.
func serving(all map[string]string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		text, found := all[r.URL.Path]
		if !found {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(text))
	}
}

// outcomeOf returns the outcome of a fetch, and the whole text.
func outcomeOf(t *testing.T, err error) (string, string) {
	t.Helper()
	var f finding.Finding
	if !errors.As(err, &f) {
		t.Fatalf("no finding: %v", err)
	}
	if f.Remedy == "" || strings.Contains(f.Error(), "\n") {
		t.Errorf("no remedy, or more than a line: %q", f.Error())
	}
	return f.About, f.Error()
}

func get(t *testing.T, f remote.Fetcher, ref remote.Ref) remote.Content {
	t.Helper()
	content, err := f.Fetch(t.Context(), ref)
	if err != nil {
		t.Fatalf("%s: %v", ref, err)
	}
	if content.Digest != remote.Digest(content.Data) {
		t.Errorf("%s: digest %s is not that of the data", ref, content.Digest)
	}
	return content
}

var namesAddress = regexp.MustCompile(`\S+://\S+|\S+\.(?:com|net|org|example)\b|\d+\.\d+\.\d+\.\d+|localhost`)

// checkRemedy makes sure that a remedy names no address but those that the operator configured.
func checkRemedy(t *testing.T, f remote.Fetcher, found finding.Finding) {
	t.Helper()
	if strings.HasPrefix(found.Remedy, "correct the credentials for ") || strings.HasPrefix(found.Remedy, "check the credentials for ") ||
		strings.HasPrefix(found.Remedy, "write oci://HOST/PATH") {
		return // the operator mounted them
	}
	own, is := f.(*Fetcher)
	for _, address := range namesAddress.FindAllString(found.Remedy, -1) {
		if !is || !slices.ContainsFunc(own.config.Allow, func(entry string) bool { return strings.Contains(entry, address) }) {
			t.Errorf("the remedy names %s, which the operator did not: %s", address, found.Error())
		}
	}
}

func refuse(t *testing.T, f remote.Fetcher, ref remote.Ref, wantOutcome, wantText string) {
	t.Helper()
	content, err := f.Fetch(t.Context(), ref)
	if err == nil {
		t.Errorf("%s is fetched: %.80q", ref, content.Data)
		return
	}
	for _, found := range finding.Of(err) {
		checkRemedy(t, f, found)
	}
	if got, text := outcomeOf(t, err); got != wantOutcome || !strings.Contains(text, wantText) {
		t.Errorf("%s: %s: %s\nwant %s with %q", ref, got, text, wantOutcome, wantText)
	}
}
