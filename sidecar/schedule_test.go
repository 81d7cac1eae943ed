package sidecar_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"

	"github.com/ladder-cmp/ladder/sidecar"
	"github.com/ladder-cmp/ladder/sidecar/sidecartest"
	"github.com/ladder-cmp/ladder/sidecar/task"
)

// application is what Argo CD says of the one that a request is for.
type application struct{ project, repository, name string }

func (a application) env() map[string]string {
	return map[string]string{"ARGOCD_APP_PROJECT_NAME": a.project, "ARGOCD_APP_SOURCE_REPO_URL": a.repository, "ARGOCD_APP_NAME": a.name}
}

// crowd is a server and what its clients were told, in the order in which they
// were. Applications called endless-… render without end, slow-… for five
// seconds, and others in 100 ms.
type crowd struct {
	*sidecartest.Client
	t *testing.T

	mu       sync.Mutex
	answered []string
	faults   map[string]error
}

func newCrowd(t *testing.T, cfg sidecar.Config) *crowd {
	cfg.Tasks = sidecartest.Tasks{Generate: func(ctx context.Context, in task.Input) (task.Output, error) {
		takes := 100 * time.Millisecond
		switch name := in.Env["ARGOCD_APP_NAME"]; {
		case len(name) > 8 && name[:8] == "endless-":
			takes = time.Hour
		case len(name) > 5 && name[:5] == "slow-":
			takes = 5 * time.Second
		}
		select {
		case <-time.After(takes):
			return task.Output{Manifests: []string{"ok"}}, nil
		case <-ctx.Done():
			return task.Output{}, ctx.Err()
		}
	}}
	return &crowd{Client: bubble(t, cfg), t: t, faults: map[string]error{}}
}

// ask asks as the repo-server does, with its deadline.
func (c *crowd) ask(ctx context.Context, a application) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	_, err := c.GenerateManifest(ctx, sidecartest.Request{Archive: good(), Dir: "app", Env: a.env()})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answered = append(c.answered, a.name)
	c.faults[a.name] = err
	return err
}

// keepAsking asks again as soon as it is answered, each time for another
// Application, which nobody has rendered before, until ctx ends.
func (c *crowd) keepAsking(ctx context.Context, a application) {
	for i := 0; ctx.Err() == nil; i++ {
		next := a
		next.name = fmt.Sprintf("endless-%s-%d", a.name, i)
		c.ask(ctx, next)
	}
}

// before lists who was answered before an Application was.
func (c *crowd) before(name string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.answered[:slices.Index(c.answered, name)])
}

// TestNobodyWaitsForTheEndless asks for an Application after others, of other
// projects, whose rendering has no end and which nobody has seen before: it is
// answered before any of them is, however the others call themselves, in a server
// that has just started and in one that has been busy for long.
func TestNobodyWaitsForTheEndless(t *testing.T) {
	t.Parallel()
	attacks := map[string]func(i int) application{
		"one project":                    func(i int) application { return application{"evil", "https://git/evil", fmt.Sprint(i)} },
		"one project, many repositories": func(i int) application { return application{"evil", fmt.Sprint("https://git/", i), fmt.Sprint(i)} },
		"many projects": func(i int) application {
			return application{fmt.Sprint("evil", i), fmt.Sprint("https://git/", i), fmt.Sprint(i)}
		},
		"the same repository": func(i int) application { return application{"evil", "https://git/shop", fmt.Sprint(i)} },
	}
	for name, attacker := range attacks {
		for _, crowded := range []struct{ parallel, endless int }{{1, 4}, {2, 8}, {2, 60}} {
			t.Run(fmt.Sprintf("%s/%d of %d", name, crowded.endless, crowded.parallel), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := newCrowd(t, sidecar.Config{Parallel: crowded.parallel, Render: 20 * time.Second})
					ctx, stop := context.WithCancel(t.Context())
					defer stop()
					for i := range crowded.endless {
						go c.keepAsking(ctx, attacker(i))
					}
					synctest.Wait()
					if crowded.endless <= 8 { // else so many unknown ones come first, in turn
						start := time.Now() // of the bubble's clock
						if err := c.ask(t.Context(), application{"good", "https://git/shop", "shop"}); err != nil {
							t.Error(err)
						}
						if took := time.Since(start); took > 2*time.Second {
							t.Errorf("it took %s", took)
						}
						if first := c.before("shop"); len(first) > 0 {
							t.Errorf("%q were waited for", first)
						}
					}
					for i := range 20 {
						time.Sleep(7 * time.Second)
						good := application{"good", "https://git/shop", fmt.Sprint("shop", i)}
						c.mu.Lock()
						c.answered = nil
						c.mu.Unlock()
						if err := c.ask(t.Context(), good); err != nil {
							t.Error(err)
						}
						if first := c.before(good.name); len(first) > 2 {
							t.Errorf("after some time %q were waited for", first)
						}
					}
				})
			})
		}
	}
}

// TestSlowOnesAreAnswered renders what is slow and not endless while a project
// asks for endless ones: it is answered, and without --render-timeout being
// raised.
func TestSlowOnesAreAnswered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, sidecar.Config{Parallel: 2, Render: 20 * time.Second})
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		for i := range 60 {
			go c.keepAsking(ctx, application{"evil", fmt.Sprint("https://git/", i), fmt.Sprint(i)})
		}
		time.Sleep(time.Minute)
		var all sync.WaitGroup
		for i := range 4 {
			all.Go(func() { c.ask(t.Context(), application{"good", "https://git/shop", fmt.Sprint("slow-", i)}) })
		}
		all.Wait()
		for i := range 4 {
			if err := c.faults[fmt.Sprint("slow-", i)]; err != nil {
				t.Error(err)
			}
		}
	})
}

// TestProjectsTakeTurns lets one project ask for much, and then two others for
// something: these do not wait for all of the first.
func TestProjectsTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, sidecar.Config{Parallel: 1})
		var all sync.WaitGroup
		for i := range 10 {
			all.Go(func() {
				c.ask(t.Context(), application{"large", fmt.Sprint("https://git/", i%3), fmt.Sprint("large", i)})
			})
			synctest.Wait()
		}
		all.Go(func() { c.ask(t.Context(), application{"small", "https://git/small", "small"}) })
		synctest.Wait()
		all.Go(func() { c.ask(t.Context(), application{"other", "https://git/0", "other"}) })
		all.Wait()
		want := []string{"large0", "small", "other", "large1", "large2", "large3"}
		if got := c.answered[:len(want)]; !slices.Equal(got, want) {
			t.Errorf("answered in the order %q, want %q", got, want)
		}
	})
}

// TestNobodyStepsAsideForNobody renders slow ones for as long as nobody else has
// to wait, and counts those that moved to the background.
func TestNobodyStepsAsideForNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		registry := prometheus.NewRegistry()
		c := newCrowd(t, sidecar.Config{Parallel: 2, Render: 20 * time.Second, Metrics: registry})
		go c.ask(t.Context(), application{"a", "a", "slow-a"})
		go c.ask(t.Context(), application{"b", "b", "slow-b"})
		time.Sleep(2 * time.Second)
		if got := metric(t, registry, "ladder_renderings_aside"); got != 0 {
			t.Errorf("%v moved to the background, and nobody waited", got)
		}
		if err := c.ask(t.Context(), application{"c", "c", "shop"}); err != nil {
			t.Error(err)
		}
		if got := metric(t, registry, "ladder_renderings_aside"); got != 1 {
			t.Errorf("%v moved to the background, want 1", got)
		}
		time.Sleep(10 * time.Second)
		if got := metric(t, registry, "ladder_renderings_aside"); got != 0 {
			t.Errorf("%v are in the background after the end", got)
		}
	})
}

// TestRenderTimeoutOfAll ends what has no end: alone after --render-timeout, and
// beside others when the time of its request is over.
func TestRenderTimeoutOfAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, sidecar.Config{Parallel: 2, Render: time.Second})
		err := c.ask(t.Context(), application{"evil", "evil", "endless-0"})
		wants(t, err, codes.DeadlineExceeded,
			"app: rendering was stopped after 1s; the limit is 1s; fix: raise --render-timeout, or remove the endless loop from its templates")
		if err := c.ask(t.Context(), application{"evil", "evil", "mended"}); err != nil {
			t.Error(err)
		}
	})
}

// TestParallel makes sure that no more renderings run at once than allowed,
// and that one that waits too long is told what it waited for.
func TestParallel(t *testing.T) {
	release := make(chan struct{})
	var mu sync.Mutex
	running, most := 0, 0
	h := start(t, func(c *sidecar.Config) {
		c.Parallel = 2
		c.Tasks = sidecartest.Tasks{Generate: func(context.Context, task.Input) (task.Output, error) {
			mu.Lock()
			running++
			most = max(most, running)
			mu.Unlock()
			<-release
			mu.Lock()
			running--
			mu.Unlock()
			return task.Output{Manifests: []string{"ok"}}, nil
		}}
	})
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			if _, err := h.GenerateManifest(t.Context(), sidecartest.Request{Archive: good(), Dir: fmt.Sprint("app", i)}); err != nil {
				t.Error(err)
			}
		})
	}
	eventually(t, "two work", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return running == 2
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := h.GenerateManifest(ctx, sidecartest.Request{Archive: good(), Dir: "app"})
	if err == nil || !strings.Contains(err.Error(), "waiting for other renderings") {
		t.Errorf("a request that found no place: %v", err)
	}
	wants(t, err, codes.DeadlineExceeded, "or raise controller.repo.server.timeout.seconds")
	close(release)
	wg.Wait()
	if most > 2 {
		t.Errorf("%d renderings at once, want at most 2", most)
	}
}

// TestBusy has the server's own time end while a request waits for a place.
func TestBusy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := bubble(t, sidecar.Config{Parallel: 1, Timeout: time.Minute, Tasks: sidecartest.Tasks{
			Generate: func(context.Context, task.Input) (task.Output, error) {
				time.Sleep(50 * time.Second)
				return task.Output{Manifests: []string{"ok"}}, nil
			}}})
		var others sync.WaitGroup
		for i := range 20 { // more than have a place or move to the background, twice
			others.Go(func() {
				h.GenerateManifest(t.Context(), sidecartest.Request{Archive: good(), Dir: fmt.Sprint("other", i)})
			})
		}
		synctest.Wait()
		_, err := h.GenerateManifest(t.Context(), sidecartest.Request{Archive: good(), Dir: "app"})
		wants(t, err, codes.DeadlineExceeded, "app: the plugin is busy: timed out while the plugin was waiting for other renderings: "+
			"the request had taken 1m0s of 1m0s; fix: give the sidecar more CPU and --parallel, or raise --timeout")
		others.Wait()
	})
}
