package real_test

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/ladder-cmp/ladder/e2e/argocd"
	"github.com/ladder-cmp/ladder/e2e/node"
)

const (
	// patience is how long nothing may change before a sync counts as hanging. Argo CD's
	// longest pause between attempts is 160 seconds.
	patience = 3 * time.Minute
	// retries is what Argo CD does by itself in automated syncs.
	retries = 5
	// limit is how long a case may take in all, with the start of its cluster.
	limit = 15 * time.Minute
)

// TestReality deploys each case in each of its ways, in a cluster of its own.
func TestReality(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(shop.cases)) {
		c := shop.cases[name]
		t.Run(name, func(t *testing.T) {
			ended := map[way]outcome{}
			for _, w := range c.ways() {
				t.Run(string(w), func(t *testing.T) {
					out := deploy(t, c, w)
					ended[w] = out
					results.add(row{c.name, w, out})
					c.judge(t, w, out)
				})
			}
			compare(t, ended)
		})
	}
}

// outcome is how a case ended in one order.
type outcome struct {
	argocd.Outcome
	settled  time.Duration // until everything was in sync and healthy
	restarts int
	waves    int
}

// judge checks whether a case ended as expected.
func (c component) judge(t *testing.T, w way, out outcome) {
	t.Helper()
	want := c.Expect[w]
	if want.Result == "" {
		want.Result = argocd.Synced
	}
	if want.Attempts == 0 {
		want.Attempts = 1
	}
	switch {
	case want.Result == notAtOnce:
		if out.Result == argocd.Synced && out.Attempts() == 1 {
			t.Error("it synced at the first attempt, so that the case shows nothing")
		}
	case out.Result != want.Result:
		t.Errorf("the sync: %s; want %s", out.Result, want.Result)
	case out.Result == argocd.Synced && want.Attempts == 1 && out.Attempts() > 1 && !out.Raced():
		t.Errorf("it took %d attempts; want one", out.Attempts())
	case out.Result == argocd.Synced && out.Attempts() < want.Attempts:
		t.Errorf("it took %d attempts; want at least %d, or the case shows nothing", out.Attempts(), want.Attempts)
	}
}

// compare checks that Ladder's order is not worse than any of the others.
func compare(t *testing.T, ended map[way]outcome) {
	t.Helper()
	ours, ok := ended[ladder]
	if !ok {
		return // another way was asked for
	}
	for w, other := range ended {
		if other.Result == argocd.Synced && (ours.Result != argocd.Synced || ours.Attempts() > other.Attempts() && !ours.Raced()) {
			t.Errorf("Ladder's order: %s after %d attempts; %s: %s after %d", ours.Result, ours.Attempts(), w, other.Result, other.Attempts())
		}
	}
}

// deploy deploys a case in a new cluster, after what it needs to be there.
func deploy(t *testing.T, c component, w way) outcome {
	t.Helper()
	needed := []prepared{}
	for _, name := range append(slices.Clone(c.Before), c.name) {
		order := ladder
		if name == c.name {
			order = w
		}
		p, err := shop.prepare(t.Context(), shop.cases[name], order)
		if err != nil {
			t.Fatal(err)
		}
		needed = append(needed, p)
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	settings, err := c.settings(ctx, needed[len(needed)-1].dir)
	if err != nil {
		t.Fatal(err)
	}
	l := openLab(ctx, t, c.name+"-"+string(w), node.Options{LoadBalancers: c.LoadBalancers, Content: filepath.Join(shop.dir, "content")}, settings)
	for _, p := range needed {
		if err := l.serve(p); err != nil {
			t.Fatal(err)
		}
		if err := l.pull(ctx, p); err != nil {
			t.Fatal(err)
		}
	}
	last := len(needed) - 1
	for _, p := range needed[:last] {
		if out := l.sync(ctx, t, p); out.Result != argocd.Synced {
			t.Fatalf("%s has to be there before: %s\n%s", p.name, out.Result, l.explain(ctx, out))
		}
	}
	out := l.sync(ctx, t, needed[last])
	if out.Result != argocd.Synced || out.Attempts() > 1 {
		t.Logf("%s after %d attempts\n%s", out.Result, out.Attempts(), l.explain(ctx, out))
	}
	return out
}

// prepared is a case in one order before the cluster exists. Preparing takes long the
// first time, because images are built when a case first needs them.
type prepared struct {
	component
	way    way
	dir    string            // where its files lie
	files  map[string]string // by path
	plain  manifests
	images map[string]v1.Image // by repository
}

func (w *workshop) prepare(ctx context.Context, c component, order way) (p prepared, err error) {
	files, err := c.files(ctx)
	if err != nil {
		return p, err
	}
	return w.prepareFiles(ctx, c, order, files)
}

func (w *workshop) prepareFiles(ctx context.Context, c component, order way, files map[string]string) (p prepared, err error) {
	p = prepared{component: c, way: order, files: files, images: map[string]v1.Image{}}
	if p.dir, err = c.write(p.files); err != nil {
		return p, err
	}
	if p.plain, err = c.rendered(ctx, p.dir, order); err != nil {
		return p, err
	}
	for _, repository := range append(p.plain.images(), c.Images...) {
		if p.images[repository], err = w.images.Make(ctx, repository); err != nil {
			return p, err
		}
	}
	return p, nil
}

// sync deploys a case as a user does, and follows it to its end.
func (l *lab) sync(ctx context.Context, t *testing.T, c prepared) outcome {
	t.Helper()
	mark, err := l.node.Mark()
	if err != nil {
		t.Fatal(err)
	}
	app, err := l.create(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	since := time.Now()
	if err := l.argo.Sync(ctx, app); err != nil {
		t.Fatal(err)
	}
	followed, err := l.argo.Follow(ctx, app.Name, since, patience, func() string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	out := outcome{Outcome: followed, settled: time.Since(since), waves: c.plain.waves()}
	if out.restarts, err = l.restarts(ctx); err != nil {
		t.Fatal(err)
	}
	if c.way == ladder {
		habits, err := l.habits(mark, c.plain)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.propose(ctx, c.dir, habits); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// create creates the Application of a case. Nothing is synced.
func (l *lab) create(ctx context.Context, c prepared) (argocd.Application, error) {
	if err := l.serve(c); err != nil {
		return argocd.Application{}, err
	}
	app, err := l.application(ctx, c)
	if err != nil {
		return app, err
	}
	return app, l.argo.Deploy(ctx, app)
}

// serve lets Pods have the images of a case.
func (l *lab) serve(c prepared) error {
	for repository, image := range c.images {
		if err := l.node.Serve(repository, image); err != nil {
			return err
		}
	}
	return nil
}

// application commits a case and returns the Application that deploys it: by the
// plugin, or as manifests in which an expert has written the waves.
func (l *lab) application(ctx context.Context, c prepared) (argocd.Application, error) {
	repo, err := l.argo.NewRepository(ctx, c.name)
	if err != nil {
		return argocd.Application{}, err
	}
	source := argocd.Source{RepoURL: repo.URL(), Path: ".", Plugin: c.way != expert}
	files := c.files
	switch c.way {
	case without:
		source.Parameters = map[string]string{"waves": "off"}
	case expert:
		if files, err = c.plain.files(); err != nil {
			return argocd.Application{}, err
		}
	}
	if _, err := repo.Commit(ctx, files); err != nil {
		return argocd.Application{}, err
	}
	return argocd.Application{
		Name: c.name, Namespace: c.Namespace, Sources: []argocd.Source{source},
		SyncOptions: []string{"CreateNamespace=true", "ServerSideApply=true"}, Retry: retries, Patient: true,
		CompareOptions: c.CompareOptions,
	}, nil
}
