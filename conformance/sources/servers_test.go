// Package sources fetches from real servers: the registry that most others are
// made of, a chart repository as Helm writes one, and git's own server. What
// comes is compared with what Helm and git themselves get there.
package sources

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/distribution/distribution/v3/configuration"
	_ "github.com/distribution/distribution/v3/registry/auth/htpasswd"
	_ "github.com/distribution/distribution/v3/registry/auth/token"
	"github.com/distribution/distribution/v3/registry/handlers"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/inmemory"
	"github.com/go-jose/go-jose/v4"
	"github.com/sirupsen/logrus"
	"golang.org/x/crypto/bcrypt"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	helmrepo "helm.sh/helm/v4/pkg/repo/v1"

	"github.com/ladder-cmp/ladder/internal/fetch"
	"github.com/ladder-cmp/ladder/internal/remote"
)

// TestMain keeps the servers' logs and Helm's away from what the tests say.
func TestMain(m *testing.M) {
	logrus.SetOutput(io.Discard)
	slog.SetDefault(slog.New(slog.DiscardHandler))
	os.Exit(m.Run())
}

// What opens the servers.
const user, password = "user", "hunter2"

// server is one that listens on loopback, with TLS.
type server struct {
	*httptest.Server
	host     string // and port
	caFile   string
	down     atomic.Bool
	requests atomic.Int32
}

func start(t *testing.T, handler http.Handler) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		if s.down.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	s.host = s.Listener.Addr().String()
	s.caFile = filepath.Join(t.TempDir(), "ca.crt")
	write(t, s.caFile, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})))
	return s
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

// guarded lets in who knows the password.
func guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if u, p, _ := r.BasicAuth(); u != user || p != password {
			w.Header().Set("WWW-Authenticate", `Basic realm="charts"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// packedCharts are charts in a directory, packed by Helm.
func packedCharts(t *testing.T, name string, versions ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, v := range versions {
		packChart(t, dir, name, v, "the first")
	}
	return dir
}

func packChart(t *testing.T, dir, name, version, description string) {
	t.Helper()
	c := &chart.Chart{Metadata: &chart.Metadata{APIVersion: "v2", Name: name, Version: version, Description: description}}
	if _, err := chartutil.Save(c, dir); err != nil {
		t.Fatal(err)
	}
}

// chartRepository serves a directory of packed charts with the index that
// "helm repo index" writes.
func chartRepository(t *testing.T, dir string) *server {
	t.Helper()
	s := start(t, guarded(http.StripPrefix("/charts", http.FileServer(http.Dir(dir)))))
	indexCharts(t, dir, "")
	return s
}

// indexCharts writes the index anew; below base, its addresses are absolute.
func indexCharts(t *testing.T, dir, base string) {
	t.Helper()
	index, err := helmrepo.IndexDirectory(dir, base)
	if err != nil {
		t.Fatal(err)
	}
	index.SortEntries()
	if err := index.WriteFile(filepath.Join(dir, "index.yaml"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// registry is the registry of the Distribution project, which keeps everything in
// memory. It is opened by a password, or by tokens of a server of their own.
func registry(t *testing.T, tokens bool) (reg, issuer *server) {
	t.Helper()
	config := &configuration.Configuration{}
	config.Log.AccessLog.Disabled = true
	config.Storage = configuration.Storage{"inmemory": configuration.Parameters{}}
	if tokens {
		var keys string
		issuer, keys = tokenServer(t)
		config.Auth = configuration.Auth{"token": configuration.Parameters{"realm": issuer.URL + "/token", "issuer": "issuer",
			"service": "registry", "jwks": keys, "signingalgorithms": []any{"ES256"}}}
	} else {
		hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "htpasswd")
		write(t, file, user+":"+string(hash)+"\n")
		config.Auth = configuration.Auth{"htpasswd": configuration.Parameters{"realm": "registry", "path": file}}
	}
	return start(t, handlers.NewApp(t.Context(), config)), issuer
}

// tokenServer issues the tokens of a registry to who knows the password. It says
// where the public key of them is.
func tokenServer(t *testing.T) (*server, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	public, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "one", Algorithm: "ES256", Use: "sig"}}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "jwks.json")
	write(t, file, string(public))
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: key, KeyID: "one"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return start(t, guarded(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		access := []any{}
		for _, scopes := range r.URL.Query()["scope"] {
			for _, scope := range strings.Fields(scopes) {
				parts := strings.Split(scope, ":")
				access = append(access, map[string]any{"type": parts[0], "name": parts[1], "actions": strings.Split(parts[2], ",")})
			}
		}
		now := time.Now()
		claims, err := json.Marshal(map[string]any{"iss": "issuer", "sub": user, "aud": "registry", "exp": now.Add(time.Hour).Unix(),
			"nbf": now.Add(-time.Minute).Unix(), "iat": now.Unix(), "jti": "id", "access": access})
		if err != nil {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		signed, err := signer.Sign(claims)
		if err != nil {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		token, _ := signed.CompactSerialize()
		_ = json.NewEncoder(w).Encode(map[string]string{"token": token})
	}))), file
}

// gitServer serves the bare repositories of a directory as git does.
func gitServer(t *testing.T, dir string) *server {
	t.Helper()
	out, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	backend := &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(out)), "git-http-backend"),
		Env: []string{"GIT_PROJECT_ROOT=" + dir, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
			"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"},
		Stderr: io.Discard,
	}
	return start(t, guarded(backend))
}

// git runs git in a directory, with nothing of the machine's configuration.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_AUTHOR_NAME=a",
		"GIT_AUTHOR_EMAIL=a@example.com",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com", "GIT_AUTHOR_DATE=2026-01-01T00:00:00Z",
		"GIT_COMMITTER_DATE=2026-01-01T00:00:00Z",
		"GIT_ALLOW_PROTOCOL=file")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// trusting is a configuration that allows everything at some servers, and has what
// opens them.
func trusting(t *testing.T, servers ...*server) fetch.Config {
	t.Helper()
	config := fetch.Config{AllowPrivate: []string{"127.0.0.0/8", "::1"}, Limits: fetch.Limits{Retries: -1}}
	config.Credentials.Dir = t.TempDir()
	for _, s := range servers {
		config.Allow = append(config.Allow, "https://"+s.host, "oci://"+s.host)
		dir := filepath.Join(config.Credentials.Dir, strings.Replace(s.host, ":", "_", 1))
		write(t, filepath.Join(dir, "username"), user)
		write(t, filepath.Join(dir, "password"), password)
		ca, err := os.ReadFile(s.caFile)
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, "ca.crt"), string(ca))
	}
	return config
}

func fetcher(t *testing.T, config fetch.Config) *fetch.Fetcher {
	t.Helper()
	f, err := fetch.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func get(t *testing.T, f remote.Fetcher, ref remote.Ref) remote.Content {
	t.Helper()
	content, err := f.Fetch(t.Context(), ref)
	if err != nil {
		t.Fatalf("%s: %v", ref, err)
	}
	if content.Digest != remote.Digest(content.Data) {
		t.Errorf("%s: the digest is not that of the data", ref)
	}
	return content
}

func refuse(t *testing.T, f remote.Fetcher, ref remote.Ref, want string) {
	t.Helper()
	_, err := f.Fetch(t.Context(), ref)
	if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), password) {
		t.Errorf("%s: %v, want %q", ref, err, want)
	}
}

// trusted is a client that trusts servers, for Helm's own pushes and pulls.
func trusted(servers ...*server) *http.Client {
	pool := x509.NewCertPool()
	for _, s := range servers {
		pool.AddCert(s.Certificate())
	}
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
}

func dockerConfig(host string) string {
	return fmt.Sprintf(`{"auths": {%q: {"auth": %q}}}`, host, base64.StdEncoding.EncodeToString([]byte(user+":"+password)))
}
