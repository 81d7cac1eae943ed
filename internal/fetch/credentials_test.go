package fetch

import (
	"encoding/base64"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ladder-cmp/ladder/internal/remote"
)

// TestCredentials has each file that credentials can be in, and what a server
// gets of it.
func TestCredentials(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for path, text := range map[string]string{
		"dir/files.example.com/username":  "host",
		"dir/files.example.com/password":  "p1\n",
		"dir/org/url":                     "https://files.example.com/org",
		"dir/org/username":                "org",
		"dir/org/password":                "p2",
		"dir/files.example.com_444/token": "t3",
		"dir/..data/url":                  "https://files.example.com/org/deep",
		"dir/..data/token":                "wrong",
		"dir/readme":                      "no directory",
		"helm/repositories.yaml": `repositories:
- {name: a, url: "https://helm.example.com/charts/", username: helm, password: p4}
- {name: b, url: "https://helm.example.com/charts/deep", username: deep, password: p5}
- {name: c, url: "https://files.example.com/org/deep/er", username: later, password: no}
`,
	} {
		write(t, filepath.Join(dir, path), text)
	}
	n := newInternet(t)
	echo := func(w http.ResponseWriter, r *http.Request) {
		scheme, text, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		if plain, err := base64.StdEncoding.DecodeString(text); err == nil && scheme == "Basic" {
			text = string(plain)
		}
		_, _ = io.WriteString(w, scheme+" "+text)
	}
	for _, host := range []string{"files.example.com", "helm.example.com", "none.example.com"} {
		server := n.host(host, echo)
		n.hosts[host+":444"] = server.Listener.Addr().String()
	}
	f := n.fetcher(Config{Allow: []string{"https://*", "https://*:444"},
		Credentials: Credentials{Dir: dir + "/dir", HelmRepositories: dir + "/helm/repositories.yaml"}})
	for address, want := range map[string]string{
		"https://files.example.com/a":             "Basic host:p1",
		"https://files.example.com/organ":         "Basic host:p1",
		"https://files.example.com/org/a":         "Basic org:p2",
		"https://files.example.com/org/deep/er/a": "Basic org:p2",
		"https://files.example.com:444/org/a":     "Bearer t3",
		"https://helm.example.com/charts/x":       "Basic helm:p4",
		"https://helm.example.com/charts/deep/x":  "Basic deep:p5",
		"https://helm.example.com/x":              " ",
		"https://none.example.com/x":              " ",
	} {
		if got := get(t, f, fileRef(address)); string(got.Data) != want {
			t.Errorf("%s gets %q, want %q", address, got.Data, want)
		}
	}
	// They are read anew, as mounted Secrets change.
	write(t, dir+"/dir/files.example.com/password", "p6")
	if got := get(t, f, fileRef("https://files.example.com/b")); string(got.Data) != "Basic host:p6" {
		t.Errorf("%q", got.Data)
	}
}

// TestCertificates has a server that wants a client's certificate, which no other
// host gets to see.
func TestCertificates(t *testing.T) {
	t.Parallel()
	n := newInternet(t)
	peer := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, "https://other.example.com/", http.StatusFound)
			return
		}
		if len(r.TLS.PeerCertificates) > 0 {
			_, _ = io.WriteString(w, r.TLS.PeerCertificates[0].Subject.CommonName)
		}
	}
	n.host("files.example.com", peer)
	n.host("other.example.com", peer)
	cert, key := n.issue("somebody")
	authority, err := os.ReadFile(n.caFile)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"tls.crt": cert, "tls.key": key, "ca.crt": string(authority)} {
		write(t, filepath.Join(dir, "dir/files.example.com", name), text)
		write(t, filepath.Join(dir, "helm", name), text)
	}
	write(t, dir+"/repositories.yaml", "repositories: [{name: a, url: 'https://files.example.com', certFile: "+dir+"/helm/tls.crt, keyFile: "+
		dir+"/helm/tls.key, caFile: "+dir+"/helm/ca.crt}]")
	write(t, dir+"/all.pem", cert+key+string(authority))
	write(t, dir+"/one-file.yaml", "repositories: [{name: a, url: 'https://files.example.com', certFile: "+dir+"/all.pem, keyFile: "+dir+
		"/all.pem, caFile: "+dir+"/all.pem}]")
	none := filepath.Join(t.TempDir(), "ca.crt")
	self := newInternet(t) // another authority
	write(t, none, readText(t, self.caFile))
	for _, c := range []Credentials{{Dir: dir + "/dir"}, {HelmRepositories: dir + "/repositories.yaml"},
		{HelmRepositories: dir + "/one-file.yaml"}} {
		f := n.fetcher(Config{Allow: []string{"https://*"}, CAFile: none, Credentials: c})
		if got := get(t, f, fileRef("https://files.example.com/a")); string(got.Data) != "somebody" {
			t.Errorf("the server sees %q", got.Data)
		}
		if got := get(t, f, fileRef("https://files.example.com/away")); string(got.Data) != "" {
			t.Errorf("the other server sees %q", got.Data)
		}
	}
	f := n.fetcher(Config{Allow: []string{"https://*"}, CAFile: none})
	refuse(t, f, fileRef("https://files.example.com/a"), "untrusted", "is signed by an unknown authority; "+
		"fix: add the authority's certificate as ca.crt to the host's credentials (--remote-credentials), or for all hosts (--remote-ca)")
	write(t, dir+"/dir/files.example.com/insecure", "true")
	if err := os.Remove(dir + "/dir/files.example.com/ca.crt"); err != nil {
		t.Fatal(err)
	}
	f = n.fetcher(Config{Allow: []string{"https://*"}, CAFile: none, Credentials: Credentials{Dir: dir + "/dir"}})
	get(t, f, fileRef("https://files.example.com/a"))
	refuse(t, f, fileRef("https://files.example.com/away"), "untrusted", "other.example.com is signed by an unknown authority")
	write(t, dir+"/dir/files.example.com/tls.key", "no key")
	refuse(t, f, fileRef("https://files.example.com/a"), "denied", "certificate and key do not match")
}

func readText(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestFilesOfCredentials has files that cannot be read, and helpers.
func TestFilesOfCredentials(t *testing.T) {
	dir := t.TempDir()
	// Were a helper run, it would be this one, which leaves a mark.
	mark := filepath.Join(dir, "was-run")
	write(t, dir+"/bin/docker-credential-evil", "#!/bin/sh\ntouch "+mark+"\necho '{\"Username\":\"a\",\"Secret\":\"b\"}'\n")
	if err := os.Chmod(dir+"/bin/docker-credential-evil", 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+"/bin:"+os.Getenv("PATH"))
	n := newInternet(t)
	n.host("registry.example.com", func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user == "docker" && password == "p1" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
		w.WriteHeader(http.StatusUnauthorized)
	})
	ref := remote.Ref{Kind: remote.Chart, URL: "oci://registry.example.com/charts", Chart: "app", Version: "1.0.0"}
	for name, c := range map[string]struct{ config, outcome, text string }{
		"none": {`{}`, "denied", "refuses access (401); fix: mount a name and a password, or a token, for registry.example.com"},
		"auth": {`{"auths": {"registry.example.com": {"auth": "ZG9ja2VyOnAx"}}}`, "missing", "returned status 404: not found"},
		"names": {`{"auths": {"https://registry.example.com/v1/": {"username": "docker", "password": "p1"}}}`,
			"missing", "returned status 404: not found"},
		"wrong": {`{"auths": {"registry.example.com": {"username": "docker", "password": "hunter2"}}}`,
			"denied", "check the credentials for registry.example.com in " + dir + "/config.json"},
		"store": {`{"auths": {"registry.example.com": {}}, "credsStore": "evil"}`,
			"denied", "leaves its credentials to the helper evil, which is not run"},
		"helper":  {`{"credHelpers": {"registry.example.com": "evil"}}`, "denied", "no process is ever run for them"},
		"no json": {`{"auths": hunter2`, "denied", "config.json cannot be read: not the JSON"},
		"no base64": {`{"auths": {"registry.example.com": {"auth": "hunter2%"}}}`,
			"denied", "its credentials of registry.example.com cannot be read"},
	} {
		write(t, dir+"/config.json", c.config)
		for _, files := range []Credentials{{DockerConfig: dir + "/config.json"}, {HelmRegistry: dir + "/config.json"}} {
			f := n.fetcher(Config{Allow: []string{"oci://registry.example.com"}, Credentials: files})
			_, err := f.Fetch(t.Context(), ref)
			if got, text := outcomeOf(t, err); got != c.outcome || !strings.Contains(text, c.text) || strings.Contains(text, "hunter2") {
				t.Errorf("%s: %s: %s", name, got, text)
			}
		}
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("the helper was run")
	}
	for _, files := range []Credentials{{Dir: "/nonexistent"}, {HelmRepositories: "/nonexistent"}, {HelmRegistry: "/nonexistent"},
		{DockerConfig: "/nonexistent"}} {
		f := n.fetcher(Config{Allow: []string{"oci://registry.example.com"}, Credentials: files})
		refuse(t, f, ref, "denied",
			"the credentials in /nonexistent cannot be read: no such file or directory; fix: correct the file, or remove it from the configuration")
	}
}
