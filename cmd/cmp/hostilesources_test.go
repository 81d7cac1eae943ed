//go:build load

package main

import (
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ladder-cmp/ladder/internal/golden"
	"github.com/ladder-cmp/ladder/sidecar/sidecartest"
)

// hostileSources serves indexes of chart repositories below the names of what they do. A
// silent one answers when it is over.
func hostileSources(over <-chan struct{}) http.HandlerFunc {
	huge := strings.Repeat("{a: [b], version: x},", 700_000)
	return func(w http.ResponseWriter, r *http.Request) {
		switch dir := strings.Split(r.URL.Path, "/")[1]; dir {
		case "memory":
			fmt.Fprint(w, "{apiVersion: v1, entries: {app: [", huge, "]}}")
		case "silent":
			<-over
		case "endless":
			for err := error(nil); err == nil; {
				_, err = io.WriteString(w, huge)
			}
		}
	}
}

// fetchingComponents packs a good component, and four of each kind that fetch from hostile
// sources.
func fetchingComponents(t *testing.T, goodURL, evilURL string, kinds iter.Seq[string]) sidecartest.Archive {
	t.Helper()
	files := map[string]string{".git/HEAD": "", "good/kustomization.yaml": "resources: ['" + goodURL + "/a.yaml']"}
	for kind := range kinds {
		for i := range 4 {
			files[fmt.Sprintf("%s-%d/component.yaml", kind, i)] = fmt.Sprintf("chart: {repoURL: '%s/%s/%d', chart: app, version: ^1}",
				evilURL, kind, i)
		}
	}
	dir := t.TempDir()
	write(t, dir, files)
	archive, err := sidecartest.Pack(dir)
	if err != nil {
		t.Fatal(err)
	}
	return archive
}

// TestHostileSources: repositories that take all memory, all time or all bytes of who
// fetches from them, asked for by several Applications of one project. The server stays
// up and small, a good Application of another project is answered meanwhile, and each
// bad one is told what is wrong.
func TestHostileSources(t *testing.T) {
	over := make(chan struct{})
	evil := httptest.NewServer(hostileSources(over))
	defer evil.Close()
	defer close(over)
	good := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "{apiVersion: v1, kind: ConfigMap, metadata: {name: good}}")
	}))
	defer good.Close()
	goodURL := strings.Replace(good.URL, "127.0.0.1", "localhost", 1)
	const memory = golden.MemoryFactor * 192 // MiB
	const seconds = golden.MemoryFactor * 8  // to fetch; taking that much takes time, too
	late := fmt.Sprintf("took longer than %ds", seconds)
	wants := map[string]string{"memory": fmt.Sprintf("MiB of memory; the limit is %d MiB", memory), "silent": late,
		"endless": "sends more than 20000000 bytes"}
	cache := t.TempDir()
	s := startServe(t, "LADDER_SERVE_ALLOW_REMOTE="+evil.URL+","+goodURL, "LADDER_SERVE_ALLOW_PRIVATE=127.0.0.1,localhost",
		"LADDER_SERVE_REMOTE_CACHE="+cache,
		"LADDER_SERVE_REMOTE_PLAIN_HTTP="+strings.TrimPrefix(evil.URL, "http://")+","+strings.TrimPrefix(goodURL, "http://"),
		fmt.Sprintf("LADDER_SERVE_REMOTE_MEMORY=%d", memory<<20), fmt.Sprintf("LADDER_SERVE_REMOTE_TIMEOUT=%ds", seconds),
		"LADDER_SERVE_REMOTE_MAX_BYTES=20000000")
	archive := fetchingComponents(t, goodURL, evil.URL, maps.Keys(wants))
	ask := func(app, project string) (string, error) {
		out, err := s.GenerateManifest(t.Context(),
			sidecartest.Request{Archive: archive, Dir: app, Env: map[string]string{"ARGOCD_APP_NAME": app, "ARGOCD_APP_PROJECT_NAME": project}})
		return strings.Join(out, "\n"), err
	}
	askGood := func(what string) {
		t.Helper()
		if out, err := ask("good", "good"); err != nil || !strings.Contains(out, "name: good") {
			t.Errorf("%s: %v\n%s", what, err, out)
		}
	}
	var all sync.WaitGroup
	for i := range 4 {
		for kind, want := range wants {
			all.Go(func() {
				_, err := ask(fmt.Sprintf("%s-%d", kind, i), "evil")
				// Those whose turn comes late, or not at all, are told that.
				if err == nil || !strings.Contains(err.Error(), want) && !strings.Contains(err.Error(), fmt.Sprintf("timed out after %ds", seconds)) &&
					!strings.Contains(err.Error(), late) {
					t.Errorf("%s-%d: %v", kind, i, err)
				}
			})
		}
	}
	time.Sleep(500 * time.Millisecond) // they have the network
	began := time.Now()
	askGood("the good one")
	if took := time.Since(began); took > seconds*time.Second { // when the silent ones end
		t.Errorf("the good one waits for the others: %s", took)
	}
	all.Wait()
	for kind, want := range wants {
		if _, err := ask(kind+"-0", "evil"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s, alone: %v", kind, err)
		}
	}
	askGood("the good one, later")
	if left, _ := filepath.Glob(filepath.Join(cache, "blobs", ".new*")); len(left) > 0 {
		t.Errorf("%s remain", left)
	}
	if peak := s.peak(t); peak > 400<<20 {
		t.Errorf("the server has taken %d MiB", peak>>20)
	}
}

// peak is the most memory that the server has taken so far, 0 where the system does not
// tell.
func (s *served) peak(t *testing.T) (bytes int64) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if _, err := fmt.Sscanf(line, "VmHWM: %d kB", &bytes); err == nil {
			return bytes << 10
		}
	}
	return 0
}
