package why_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// window is a way to look at the cluster: as a user who has the permissions of deploy/why and no
// others, some time later than now. Nothing that hangs changes in between, so that all times being
// earlier is the same, and nobody has to wait.
type window struct {
	server   *httptest.Server
	config   string // kubeconfig file
	requests atomic.Int64
}

var instant = regexp.MustCompile(`"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z"`)

// openWindow opens a window that ends with the test.
func (l *lab) openWindow(t *testing.T, later time.Duration) *window {
	t.Helper()
	target, err := url.Parse(l.node.URL)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(l.node.CA)
	w := &window{config: filepath.Join(l.dir, "window-"+strconv.Itoa(int(later.Seconds())))}
	proxy := &httputil.ReverseProxy{
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}},
		Rewrite: func(r *httputil.ProxyRequest) {
			w.requests.Add(1)
			r.SetURL(target)
			r.Out.Header.Del("Accept-Encoding") // what is compressed shows no times
			r.Out.Header.Set("Authorization", "Bearer "+l.node.Config.BearerToken)
			r.Out.Header.Set("Impersonate-User", "reader")
			r.Out.Header.Set("Impersonate-Group", "ladder-why")
		},
		ModifyResponse: func(r *http.Response) error {
			text, err := io.ReadAll(r.Body)
			if err != nil {
				return err
			}
			text = earlier(text, later)
			r.Body = io.NopCloser(bytes.NewReader(text))
			r.ContentLength = int64(len(text))
			r.Header.Set("Content-Length", strconv.Itoa(len(text)))
			return nil
		},
	}
	w.server = httptest.NewServer(proxy)
	t.Cleanup(w.server.Close)
	if err := clientcmd.WriteToFile(api.Config{
		Clusters:       map[string]*api.Cluster{"why": {Server: w.server.URL}},
		Contexts:       map[string]*api.Context{"why": {Cluster: "why"}},
		CurrentContext: "why",
	}, w.config); err != nil {
		t.Fatal(err)
	}
	return w
}

// earlier makes all times in a text earlier.
func earlier(text []byte, by time.Duration) []byte {
	return instant.ReplaceAllFunc(text, func(quoted []byte) []byte {
		at, err := time.Parse(time.RFC3339Nano, string(quoted[1:len(quoted)-1]))
		if err != nil {
			return quoted
		}
		return at.Add(-by).AppendFormat(nil, `"2006-01-02T15:04:05.999999Z"`)
	})
}

// answer is what cmp why says.
type answer struct {
	text     string
	code     int
	requests int
}

// ask runs cmp why for an Application. One question at a time goes through a window.
func (l *lab) ask(ctx context.Context, w *window, app string, args ...string) (answer, error) {
	w.requests.Store(0)
	cmd := exec.CommandContext(ctx, l.cmp, append([]string{"why", app, "--kubeconfig", w.config}, args...)...)
	cmd.Env = []string{"HOME=" + l.dir, "PATH=" + os.Getenv("PATH")}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return answer{}, fmt.Errorf("cmp why: %w", err)
	}
	return answer{string(out), cmd.ProcessState.ExitCode(), int(w.requests.Load())}, nil
}
