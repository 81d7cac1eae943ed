package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
	"sigs.k8s.io/yaml"
)

// credential is the credential for a URL. Its fields are those of a message to a process.
type credential struct {
	Username, Password string
	Token              string // a bearer token; for a registry, one to obtain tokens
	Access             string // a registry token that is sent as it is
	Identity           identity
	Source             string // its file or directory, for messages
	Helper             string // the credential helper in a Docker configuration
	Below              string // the URL prefix that it applies to
}

// covers reports whether the credential applies to a URL.
func (c credential) covers(u *url.URL) bool { return nearness(c.Below, u) >= 0 }

// identity is the TLS part of a credential. It is comparable and is used as a map
// key.
type identity struct {
	CA, Cert, Key string // PEM
	Insecure      bool   // the server's certificate is not verified
}

func (c credential) known() bool {
	return c.Username != "" || c.Password != "" || c.Token != "" || c.Access != ""
}

// sign adds the credential to a request.
func (c credential) sign(req *http.Request) {
	switch {
	case c.Token != "":
		req.Header.Set("Authorization", "Bearer "+c.Token)
	case c.Username != "" || c.Password != "":
		req.SetBasicAuth(c.Username, c.Password)
	}
}

// registry returns the credential in the form of the registry's client.
func (c credential) registry() auth.Credential {
	return auth.Credential{Username: c.Username, Password: c.Password, RefreshToken: c.Token, AccessToken: c.Access}
}

// find returns the credential for a URL from the files; zero if there is none.
func (c Credentials) find(u *url.URL) (credential, error) {
	var helper credential // provided by a credential helper, which is not run
	for _, look := range []func(*url.URL) (credential, bool, error){c.inDir, c.inHelmRepositories,
		func(u *url.URL) (credential, bool, error) { return inDocker(c.HelmRegistry, u) },
		func(u *url.URL) (credential, bool, error) { return inDocker(c.DockerConfig, u) }} {
		found, ok, err := look(u)
		switch {
		case err != nil:
			return credential{}, err
		case ok && found.Helper == "":
			return found, nil
		case ok && helper.Helper == "":
			helper = found
		}
	}
	return helper, nil
}

// inDir finds the directory with the most specific URL for u.
func (c Credentials) inDir(u *url.URL) (credential, bool, error) {
	if c.Dir == "" {
		return credential{}, false, nil
	}
	entries, err := os.ReadDir(c.Dir)
	if err != nil {
		return credential{}, false, unreadable(c.Dir, err)
	}
	best, below, nearest := "", "", -1
	for _, e := range entries {
		dir := filepath.Join(c.Dir, e.Name())
		// The kubelet uses names with two leading dots to swap the files of a
		// Secret.
		if info, err := os.Stat(dir); err != nil || !info.IsDir() || strings.HasPrefix(e.Name(), "..") {
			continue
		}
		text, ok, err := readSecret(dir, "url")
		if err != nil {
			return credential{}, false, err
		}
		if !ok {
			// A mount path in a Pod cannot contain a colon.
			text = strings.Replace(e.Name(), "_", ":", 1)
		}
		if near := nearness(text, u); near > nearest {
			best, below, nearest = dir, text, near
		}
	}
	if nearest < 0 {
		return credential{}, false, nil
	}
	found, err := readDir(best)
	found.Below = withScheme(below, u)
	return found, err == nil, err
}

// keys are the file names of a Secret: those of Kubernetes' Secret types, and those
// of Argo CD's repository Secrets.
var keys = map[string][]string{
	"username": {"username"},
	"password": {"password"},
	"token":    {"token", "bearerToken"},
	"ca":       {"ca.crt"},
	"cert":     {"tls.crt", "tlsClientCertData"},
	"key":      {"tls.key", "tlsClientCertKey"},
	"insecure": {"insecure"},
}

func readDir(dir string) (credential, error) {
	got := map[string]string{}
	for what, names := range keys {
		text, _, err := readSecret(dir, names...)
		if err != nil {
			return credential{}, err
		}
		got[what] = text
	}
	if insecure := got["insecure"]; insecure != "" && insecure != "true" && insecure != "false" {
		return credential{}, unreadable(filepath.Join(dir, "insecure"), errors.New("it is neither true nor false"))
	}
	return credential{Username: got["username"], Password: got["password"], Token: got["token"], Source: dir,
		Identity: identity{CA: got["ca"], Cert: got["cert"], Key: got["key"], Insecure: got["insecure"] == "true"}}, nil
}

// readSecret reads the first existing file of a directory.
func readSecret(dir string, names ...string) (string, bool, error) {
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(dir, name))
		switch {
		case err == nil:
			return strings.TrimSpace(string(data)), true, nil
		case !errors.Is(err, fs.ErrNotExist):
			return "", false, unreadable(filepath.Join(dir, name), err)
		}
	}
	return "", false, nil
}

// nearness returns the number of path segments of an address if u is at or below
// it; otherwise -1. An address may have no scheme.
func nearness(address string, u *url.URL) int {
	above, err := url.Parse(withScheme(address, u))
	if err != nil || above.Host == "" {
		return -1
	}
	p := pattern{scheme: above.Scheme, host: hostOf(above), port: portOf(above), segments: segmentsOf(above)}
	if strings.Contains(address, "*") || !p.matches(u) {
		return -1
	}
	return len(p.segments)
}

// withScheme adds the scheme of u to an address without one.
func withScheme(address string, u *url.URL) string {
	if strings.Contains(address, "://") {
		return address
	}
	return u.Scheme + "://" + address
}

// helmRepositories is Helm's repositories.yaml (helm.sh/helm/v4/pkg/repo/v1, File).
type helmRepositories struct {
	Repositories []helmRepository `json:"repositories"`
}

type helmRepository struct {
	URL                   string `json:"url"`
	Username              string `json:"username"`
	Password              string `json:"password"`
	CertFile              string `json:"certFile"`
	KeyFile               string `json:"keyFile"`
	CAFile                string `json:"caFile"`
	InsecureSkipTLSVerify bool   `json:"insecure_skip_tls_verify"`
}

// inHelmRepositories finds the entry of Helm's repositories.yaml with the most
// specific URL for u.
func (c Credentials) inHelmRepositories(u *url.URL) (credential, bool, error) {
	if c.HelmRepositories == "" {
		return credential{}, false, nil
	}
	text, err := os.ReadFile(c.HelmRepositories)
	if err != nil {
		return credential{}, false, unreadable(c.HelmRepositories, err)
	}
	var file helmRepositories
	if err := yaml.Unmarshal(text, &file); err != nil {
		return credential{}, false, unreadable(c.HelmRepositories, err)
	}
	var entry *helmRepository
	nearest := -1
	for i := range file.Repositories {
		e := &file.Repositories[i]
		if near := nearness(e.URL, u); near > nearest {
			entry, nearest = e, near
		}
	}
	if entry == nil {
		return credential{}, false, nil
	}
	found := credential{Username: entry.Username, Password: entry.Password, Source: c.HelmRepositories, Below: entry.URL,
		Identity: identity{Insecure: entry.InsecureSkipTLSVerify}}
	for _, of := range []struct {
		path string
		to   *string
	}{{entry.CAFile, &found.Identity.CA}, {entry.CertFile, &found.Identity.Cert},
		{entry.KeyFile, &found.Identity.Key}} { // one file may contain several
		if of.path == "" {
			continue
		}
		data, err := os.ReadFile(of.path)
		if err != nil {
			return credential{}, false, unreadable(of.path, err)
		}
		*of.to = string(data)
	}
	return found, true, nil
}

// inDocker finds the host of u in a Docker configuration. Helpers are not run: a
// host with a helper has no credential, and the result names the helper.
func inDocker(path string, u *url.URL) (credential, bool, error) {
	if path == "" || u.Scheme != "oci" {
		return credential{}, false, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return credential{}, false, unreadable(path, err)
	}
	var helpers struct {
		Store  string            `json:"credsStore"`
		ByHost map[string]string `json:"credHelpers"`
	}
	if err := json.Unmarshal(data, &helpers); err != nil {
		return credential{}, false, unreadable(path, errors.New("not the JSON of a Docker configuration"))
	}
	store, err := credentials.NewFileStore(path)
	if err != nil {
		return credential{}, false, unreadable(path, errors.New("not a Docker configuration file"))
	}
	below := u.Scheme + "://" + u.Host
	host := u.Host
	if alias, found := aliases[u.Hostname()]; found {
		host = alias
	}
	for _, address := range []string{credentials.ServerAddressFromHostname(host), host} {
		got, err := store.Get(context.Background(), address)
		if err != nil {
			return credential{}, false, unreadable(path, errors.New("its credentials of "+u.Host+" cannot be read"))
		}
		if got != auth.EmptyCredential {
			return credential{Username: got.Username, Password: got.Password, Token: got.RefreshToken, Access: got.AccessToken,
				Source: path, Below: below}, true, nil
		}
		if helper := helpers.ByHost[address]; helper != "" {
			return credential{Source: path, Helper: helper, Below: below}, true, nil
		}
	}
	if helpers.Store != "" {
		return credential{Source: path, Helper: helpers.Store, Below: below}, true, nil
	}
	return credential{}, false, nil
}

// unreadable reports an unreadable credential file. A missing file is also an
// error, since it was configured.
func unreadable(path string, err error) *failure {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return failed(denied, "correct the file, or remove it from the configuration", "the credentials in %s cannot be read: %s",
		path, short(err.Error()))
}

// tls returns the TLS client configuration of an identity. Its client certificate
// is only used for its own host.
func (i identity) tls(system *x509.CertPool, own bool) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: system, InsecureSkipVerify: i.Insecure}
	if i.CA != "" {
		pool := system.Clone()
		if !pool.AppendCertsFromPEM([]byte(i.CA)) {
			return nil, errors.New("the CA certificate (ca.crt, caFile) is not PEM")
		}
		config.RootCAs = pool
	}
	if own && (i.Cert != "" || i.Key != "") {
		pair, err := tls.X509KeyPair([]byte(i.Cert), []byte(i.Key))
		if err != nil {
			return nil, fmt.Errorf("the client's certificate and key do not match: %s", short(err.Error()))
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}
