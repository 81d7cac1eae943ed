package sidecar_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/ladder-cmp/ladder/sidecar"
	"github.com/ladder-cmp/ladder/sidecar/sidecartest"
	"github.com/ladder-cmp/ladder/sidecar/task"
)

// fetchKeys is a task that prints what the keys in its environment stand for.
func fetchKeys(ctx context.Context, in task.Input) (task.Output, error) {
	if in.Fetch == nil {
		return task.Output{}, errors.New("there is no source")
	}
	var out task.Output
	var faults []error
	for key := range strings.SplitSeq(in.Env["KEYS"], ",") {
		f, err := in.Fetch(ctx, key)
		faults = append(faults, err)
		out.Manifests = append(out.Manifests, string(f.About)+" "+string(f.Data))
	}
	return out, errors.Join(faults...)
}

// shelf is a source whose things are there, but for those that wait for a gate.
type shelf struct {
	mu    sync.Mutex
	gates map[string]chan struct{}
	got   map[string]int // how often
	asked chan string    // told of those that wait; may be nil
	as    string         // what the things are at the time
}

func (s *shelf) Get(ctx context.Context, _ sidecar.Requester, key string) (task.Found, error) {
	s.mu.Lock()
	if s.got == nil {
		s.got = map[string]int{}
	}
	s.got[key]++
	gate := s.gates[key]
	s.mu.Unlock()
	if gate != nil {
		if s.asked != nil {
			s.asked <- key
		}
		select {
		case <-gate:
		case <-ctx.Done():
			return task.Found{}, ctx.Err()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return task.Found{Digest: s.as, About: []byte("about " + key), Data: []byte(key + s.as)}, nil
}

func (s *shelf) Digest(_ context.Context, _ sidecar.Requester, key string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.as
}

func (s *shelf) Name(key string) string { return "the thing " + key }

// TestFetchingHoldsNoPlace: while one rendering waits for a slow network, another
// one has its place, though there is but one.
func TestFetchingHoldsNoPlace(t *testing.T) {
	t.Parallel()
	slow := &shelf{gates: map[string]chan struct{}{"slow": make(chan struct{}), "slower": make(chan struct{})}, asked: make(chan string, 9)}
	h := start(t, func(c *sidecar.Config) {
		c.Source, c.Parallel = slow, 1
		c.Tasks = startWorkers(t, nil)
	})
	type response struct {
		out []string
		err error
	}
	first := make(chan response, 1)
	go func() {
		out, err := h.GenerateManifest(t.Context(), sidecartest.Request{Archive: pack(map[string]string{"a/x": ""}), Dir: "a",
			Env: map[string]string{"DO": "fetch", "KEYS": "slow,slower,quick"}})
		first <- response{out, err}
	}()
	// One rendering asks for all that it needs.
	if got := <-slow.asked + " " + <-slow.asked; got != "slow slower" {
		t.Errorf("asked for %s", got)
	}
	for i := range 3 {
		dir := fmt.Sprint("other", i)
		out, err := h.GenerateManifest(t.Context(),
			sidecartest.Request{Archive: pack(map[string]string{dir + "/manifest.yaml": "kind: A"}), Dir: dir})
		if err != nil || strings.Join(out, "") != "kind: A" {
			t.Fatalf("%s: %q, %v", dir, out, err)
		}
	}
	close(slow.gates["slow"])
	close(slow.gates["slower"])
	a := <-first
	if got := strings.Join(a.out, "|"); a.err != nil || got != "about slow slow|about slower slower|about quick quick" {
		t.Errorf("%q, %v", got, a.err)
	}
	for key, n := range slow.got {
		if n != 1 {
			t.Errorf("%s was fetched %d times for one request", key, n)
		}
	}
}

// TestRememberedThings: a response is given again as long as what it was made of is
// the same, here and elsewhere.
func TestRememberedThings(t *testing.T) {
	t.Parallel()
	var works atomic.Int64
	from := &shelf{as: "1"}
	h := start(t, func(c *sidecar.Config) {
		c.Source, c.Cache = from, 1<<20
		c.Tasks = sidecartest.Tasks{Generate: func(ctx context.Context, in task.Input) (task.Output, error) {
			works.Add(1)
			return fetchKeys(ctx, in)
		}}
	})
	ask := func(wantWorks int64, want string) {
		t.Helper()
		out, err := h.GenerateManifest(t.Context(),
			sidecartest.Request{Archive: pack(map[string]string{"a/x": ""}), Dir: "a", Env: map[string]string{"KEYS": "chart"}})
		if err != nil || strings.Join(out, "") != want || works.Load() != wantWorks {
			t.Errorf("%q, %v, worked %d times; want %q, %d", out, err, works.Load(), want, wantWorks)
		}
	}
	ask(1, "about chart chart1")
	ask(1, "about chart chart1")
	from.mu.Lock()
	from.as = "2"
	from.mu.Unlock()
	ask(2, "about chart chart2")
	ask(2, "about chart chart2")
	if from.got["chart"] != 2 {
		t.Errorf("the chart was fetched %d times, want 2", from.got["chart"])
	}
}

// TestSlowFetch: the time of the request counts, and that of a rendering does not.
func TestSlowFetch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		never := &shelf{gates: map[string]chan struct{}{"chart": make(chan struct{})}}
		c := bubble(t,
			sidecar.Config{Source: never, Parallel: 1, Timeout: 2 * time.Minute, Render: time.Second, Tasks: sidecartest.Tasks{Generate: fetchKeys}})
		began := time.Now()
		_, err := c.GenerateManifest(t.Context(),
			sidecartest.Request{Archive: pack(map[string]string{"a/x": ""}), Dir: "a", Env: map[string]string{"KEYS": "chart"}})
		wants(t, err, codes.DeadlineExceeded, "a: timed out while the plugin was fetching the thing chart: the request had taken 2m0s of 2m0s; "+
			"fix: vendor it, so that nothing is fetched, or raise --timeout")
		if took := time.Since(began); took != 2*time.Minute {
			t.Errorf("it took %s", took)
		}
		c.Close()
	})
}

// TestNoSource: without a source tasks know that there is none.
func TestNoSource(t *testing.T) {
	t.Parallel()
	h := start(t, func(c *sidecar.Config) { c.Tasks = startWorkers(t, nil) })
	_, err := h.GenerateManifest(t.Context(),
		sidecartest.Request{Archive: pack(map[string]string{"a/x": ""}), Dir: "a", Env: map[string]string{"DO": "fetch", "KEYS": "chart"}})
	wants(t, err, codes.InvalidArgument, "there is no source")
}

// library is a source whose things are in files, each of size bytes. It counts how many
// are open.
type library struct {
	size int64

	mu         sync.Mutex
	open, most int
	who        []sidecar.Requester
}

func (l *library) Get(_ context.Context, who sidecar.Requester, key string) (task.Found, error) {
	l.mu.Lock()
	l.who = append(l.who, who)
	l.mu.Unlock()
	return task.Found{Digest: key, About: []byte(key), Size: l.size, Open: func() (task.File, error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.open++
		l.most = max(l.most, l.open)
		return &volume{l}, nil
	}}, nil
}

func (l *library) Digest(_ context.Context, _ sidecar.Requester, key string) string { return key }
func (l *library) Name(key string) string                                           { return key }

// volume is a file of the byte of its own place.
type volume struct{ of *library }

func (v *volume) ReadAt(p []byte, from int64) (int, error) {
	for i := range p {
		p[i] = byte('a' + (from+int64(i))%26)
	}
	return len(p), nil
}

func (v *volume) Close() error {
	v.of.mu.Lock()
	defer v.of.mu.Unlock()
	v.of.open--
	return nil
}

// TestThingsInFiles: a worker gets all of a thing that is in a file, in parts, and the
// file is closed when the request is over.
func TestThingsInFiles(t *testing.T) {
	t.Parallel()
	from := &library{size: 3<<20 + 17}
	h := start(t, func(c *sidecar.Config) { c.Source, c.Tasks = from, startWorkers(t, nil) })
	out, err := h.GenerateManifest(t.Context(), sidecartest.Request{Archive: pack(map[string]string{"a/x": ""}), Dir: "a",
		Env: map[string]string{"DO": "fetch", "KEYS": "k", "ARGOCD_APP_NAME": "shop", "ARGOCD_APP_PROJECT_NAME": "team"}})
	if err != nil || len(out) != 1 {
		t.Fatal(len(out), err)
	}
	text := out[0]
	if want := 2 + int(from.size); len(text) != want {
		t.Errorf("%d bytes, want %d", len(text), want)
	}
	for i := 2; i < len(text); i += 99_991 {
		if text[i] != byte('a'+(i-2)%26) {
			t.Fatalf("byte %d is %q", i, text[i])
		}
	}
	from.mu.Lock()
	defer from.mu.Unlock()
	if from.open != 0 || from.most != 1 {
		t.Errorf("%d files are open, and %d were", from.open, from.most)
	}
	if from.who[0] != (sidecar.Requester{Application: "shop", Project: "team"}) {
		t.Errorf("%+v", from.who)
	}
}

// TestManyLargeThings: twenty Applications with four files of 60 MiB each. The server
// holds none of them, and no more of their files than it may; all are answered.
func TestManyLargeThings(t *testing.T) {
	t.Parallel()
	from := &library{size: 60 << 20}
	var held atomic.Int64
	h := start(t, func(c *sidecar.Config) {
		c.Source, c.Fetched = from, 512<<20
		c.Tasks = sidecartest.Tasks{Generate: func(ctx context.Context, in task.Input) (task.Output, error) {
			for _, key := range []string{"1", "2", "3", "4"} {
				f, err := in.Fetch(ctx, in.Env["ARGOCD_APP_NAME"]+key)
				held.Add(int64(len(f.Data)))
				if err != nil {
					return task.Output{}, err
				}
			}
			<-time.After(50 * time.Millisecond) // the others come meanwhile
			return task.Output{Manifests: []string{"kind: A"}}, nil
		}}
	})
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			dir := fmt.Sprint("app", i)
			_, err := h.GenerateManifest(t.Context(),
				sidecartest.Request{Archive: pack(map[string]string{dir + "/x": ""}), Dir: dir, Env: map[string]string{"ARGOCD_APP_NAME": dir}})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	from.mu.Lock()
	defer from.mu.Unlock()
	if from.open != 0 || from.most > 8 || from.most < 4 {
		t.Errorf("%d files of 60 MiB are open, and %d were; 512 MiB are allowed", from.open, from.most)
	}
	if held.Load() != 0 {
		t.Errorf("%d bytes are held", held.Load())
	}
}

// TestTooLargeThings: what one request gets is bounded by what comes, and not only
// before it is asked for.
func TestTooLargeThings(t *testing.T) {
	t.Parallel()
	from := &library{size: 300 << 20}
	h := start(t, func(c *sidecar.Config) { c.Source, c.Tasks = from, startWorkers(t, nil) })
	_, err := h.GenerateManifest(t.Context(),
		sidecartest.Request{Archive: pack(map[string]string{"a/x": ""}), Dir: "a", Env: map[string]string{"DO": "fetch", "KEYS": "k"}})
	wants(t, err, codes.InvalidArgument, "one rendering fetches at most 1000 remote sources, and at most 256 MiB")
}
