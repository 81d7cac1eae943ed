package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"io/fs"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	yaml "go.yaml.in/yaml/v3"
)

// TestInternet runs testdata/internet/*.txtar, whose charts are in the repositories
// that they name: https://charts.jetstack.io is charts.jetstack.io, but for a proxy
// that knows what is there.
func TestInternet(t *testing.T) {
	testscript.RunT(inTurn{t}, testscript.Params{
		Dir:                 "testdata/internet",
		RequireUniqueNames:  true,
		RequireExplicitExec: true,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"run": runs, "exits": exits},
		Setup:               withFleet,
	})
}

// withFleet puts a fleet into the folder held, and once more into the folder
// fleet, without the charts that it holds: these are in the repositories of their
// addresses.
func withFleet(env *testscript.Env) error {
	const whole = "../../testdata/fleets/appofapps"
	held, fleet, internet := filepath.Join(env.WorkDir, "held"), filepath.Join(env.WorkDir, "fleet"), filepath.Join(env.WorkDir, "internet")
	for _, to := range []string{held, fleet} {
		if err := os.CopyFS(to, os.DirFS(whole)); err != nil {
			return err
		}
	}
	err := fs.WalkDir(os.DirFS(fleet), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "kustomization.yaml" {
			return err
		}
		dir := filepath.Dir(p)
		text, err := os.ReadFile(filepath.Join(fleet, p))
		if err != nil {
			return err
		}
		var kustomization struct {
			HelmCharts []struct{ Name, Repo, Version string } `yaml:"helmCharts"`
		}
		if err := yaml.Unmarshal(text, &kustomization); err != nil {
			return err
		}
		for _, chart := range kustomization.HelmCharts {
			repo, err := url.Parse(chart.Repo)
			if err != nil {
				return err
			}
			release := chart.Name + "-" + chart.Version
			to := filepath.Join(internet, repo.Host, repo.Path, release)
			if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
				return err
			}
			if err := os.Rename(filepath.Join(fleet, dir, "charts", release, chart.Name), to); err != nil {
				return err
			}
		}
		return os.RemoveAll(filepath.Join(fleet, dir, "charts"))
	})
	if err != nil {
		return err
	}
	env.Setenv("XDG_CACHE_HOME", filepath.Join(env.WorkDir, ".cache"))
	return withInternet(env, internet)
}

// withInternet lets the program reach hosts through a proxy. What each of them has
// is in the directory of its name: https://HOST/PATH is dir/HOST/PATH, a chart
// repository.
func withInternet(env *testscript.Env, dir string) error {
	authority, err := newAuthority()
	if err != nil {
		return err
	}
	hosts := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, file := "", strings.TrimPrefix(r.URL.Path, "/")
		if i := strings.LastIndexByte(file, '/'); i >= 0 {
			path, file = file[:i], file[i+1:]
		}
		r.URL.Path = "/" + file
		chartRepository(filepath.Join(dir, r.Host, path)).ServeHTTP(w, r)
	}))
	hosts.Config.ErrorLog = log.New(io.Discard, "", 0)
	hosts.TLS = &tls.Config{GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		return authority.issue(hello.ServerName)
	}}
	hosts.StartTLS()
	env.Defer(hosts.Close)
	proxy := httptest.NewServer(tunnel(hosts.Listener.Addr().String()))
	env.Defer(proxy.Close)
	ca := filepath.Join(env.WorkDir, "ca.crt")
	env.Setenv("HTTPS_PROXY", proxy.URL)
	env.Setenv("CA", ca)
	return os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: authority.certificate.Raw}), 0o644)
}

// tunnel is a proxy, which leads to one server whoever is asked for.
func tunnel(to string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			http.Error(w, "CONNECT only", http.StatusMethodNotAllowed)
			return
		}
		server, err := net.Dial("tcp", to)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		client, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			server.Close()
			return
		}
		io.WriteString(client, "HTTP/1.1 200 OK\r\n\r\n")
		go func() {
			defer server.Close()
			io.Copy(server, client)
		}()
		defer client.Close()
		io.Copy(client, server)
	}
}

type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority() (authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return authority{}, err
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, IsCA: true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, about, about, &key.PublicKey, key)
	if err != nil {
		return authority{}, err
	}
	certificate, err := x509.ParseCertificate(der)
	return authority{certificate: certificate, key: key}, err
}

func (a authority) issue(host string) (*tls.Certificate, error) {
	about := &x509.Certificate{SerialNumber: big.NewInt(2), DNSNames: []string{host}, NotBefore: a.certificate.NotBefore,
		NotAfter: a.certificate.NotAfter}
	der, err := x509.CreateCertificate(rand.Reader, about, a.certificate, &a.key.PublicKey, a.key)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: a.key}, err
}
