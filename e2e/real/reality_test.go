package real_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ladder-cmp/ladder/e2e/argocd"
	"github.com/ladder-cmp/ladder/e2e/node"
)

const (
	// hangTimeout is how long nothing may change before a sync counts as hanging.
	hangTimeout = 3 * time.Minute
	// shortHangTimeout is the same for an order that is expected not to sync.
	shortHangTimeout = time.Minute
	// retries is what Argo CD does by itself in automated syncs.
	retries = 5
	// limit is how long a case may take in all, with the start of its cluster.
	limit = 15 * time.Minute
)

// TestReality deploys each case in each of its ways, in a cluster of its own. Several cases
// run at once, and the ways of a case one after the other.
func TestReality(t *testing.T) {
	t.Parallel()
	for _, c := range longestFirst() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ended := map[way]outcome{}
			for _, w := range c.ways() {
				var again bool
				t.Run(string(w), func(t *testing.T) {
					shop.join(t)
					out := deploy(t, c, w)
					if again = c.lucky(w, out); again {
						t.Log("it synced although it should not, beside other cases: it runs again, alone")
						return
					}
					ended[w] = out
					c.checkOutcome(t, w, out)
				})
				if !again {
					continue
				}
				t.Run(string(w)+"-alone", func(t *testing.T) {
					shop.alone(t)
					ended[w] = deploy(t, c, w)
					c.checkOutcome(t, w, ended[w])
				})
			}
			for w, out := range ended {
				results.add(row{c.name, w, out})
			}
			compare(t, ended)
		})
	}
}

// longestFirst are the cases in an order in which few of them run alone at the end: charts
// of others take longest, then what is deployed after them.
func longestFirst() []component {
	rank := func(c component) int {
		switch {
		case len(c.Copy) > 0:
			return 0
		case len(c.Before) > 0:
			return 1
		}
		return 2
	}
	return slices.SortedFunc(maps.Values(shop.cases), func(x, y component) int {
		return cmp.Or(rank(x)-rank(y), strings.Compare(x.name, y.name))
	})
}

// outcome is how a case ended in one order.
type outcome struct {
	argocd.Outcome
	settled  time.Duration // until everything was in sync and healthy
	restarts int
	waves    int
	raced    bool // it failed only because Argo CD was early
}

// checkOutcome checks whether a case ended as expected.
func (c component) checkOutcome(t *testing.T, w way, out outcome) {
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
	case out.Result == argocd.Synced && want.Attempts == 1 && out.Attempts() > 1 && !out.raced:
		t.Errorf("it took %d attempts; want one", out.Attempts())
	case out.Result == argocd.Synced && out.Attempts() < want.Attempts:
		t.Errorf("it took %d attempts; want at least %d, or the case shows nothing", out.Attempts(), want.Attempts)
	}
}

// lucky reports whether an order synced with fewer attempts than it needs on a machine that
// does nothing else: where several cases run at once, Argo CD may be slow enough for a
// program to be ready in any order. Ladder's own order has no second try.
func (c component) lucky(w way, out outcome) bool {
	want := c.Expect[w]
	if w == ladder || cap(shop.contents) == 1 || out.Result != argocd.Synced {
		return false
	}
	return want.Result == notAtOnce && out.Attempts() == 1 || want.Result == argocd.Synced && out.Attempts() < want.Attempts
}

// compare checks that Ladder's order is not worse than any of the others.
func compare(t *testing.T, ended map[way]outcome) {
	t.Helper()
	ours, ok := ended[ladder]
	if !ok {
		return // another way was asked for
	}
	for w, other := range ended {
		if other.Result == argocd.Synced && (ours.Result != argocd.Synced || ours.Attempts() > other.Attempts() && !ours.raced) {
			t.Errorf("Ladder's order: %s after %d attempts; %s: %s after %d", ours.Result, ours.Attempts(), w, other.Result, other.Attempts())
		}
	}
}

// deploy deploys a case in a new cluster, after what it needs to be there.
func deploy(t *testing.T, c component, w way) outcome {
	t.Helper()
	lab := labDir(t, c.name+"-"+string(w))
	needed := []prepared{}
	for _, name := range append(slices.Clone(c.Before), c.name) {
		order := ladder
		if name == c.name {
			order = w
		}
		p, err := shop.prepare(t.Context(), lab, shop.cases[name], order)
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
	l := openLab(ctx, t, lab, node.Options{LoadBalancers: c.LoadBalancers, Workers: c.Workers}, settings)
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
	begin, err := l.node.Mark()
	if err != nil {
		t.Fatal(err)
	}
	out := l.sync(ctx, t, needed[last])
	if w == ladder {
		l.observe(ctx, t, needed[last], begin)
	}
	if out.Result != argocd.Synced || out.Attempts() > 1 {
		t.Logf("%s after %d attempts %s\n%s", out.Result, out.Attempts(), out.Certain, l.explain(ctx, out))
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

func (w *workshop) prepare(ctx context.Context, lab string, c component, order way) (p prepared, err error) {
	files, err := c.files(ctx)
	if err != nil {
		return p, err
	}
	return w.prepareFiles(ctx, lab, c, order, files)
}

func (w *workshop) prepareFiles(ctx context.Context, lab string, c component, order way, files map[string]string) (p prepared, err error) {
	p = prepared{component: c, way: order, files: files, images: map[string]v1.Image{}}
	if p.dir, err = c.write(lab, p.files); err != nil {
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
	app, err := l.create(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	since := time.Now()
	if err := l.argo.Sync(ctx, app); err != nil {
		t.Fatal(err)
	}
	followed, err := l.argo.Follow(ctx, app.Name, since, l.watch(ctx, c))
	if err != nil {
		t.Fatal(err)
	}
	out := outcome{Outcome: followed, settled: time.Since(since), waves: c.plain.waves()}
	if out.restarts, err = l.restarts(ctx); err != nil {
		t.Fatal(err)
	}
	if out.raced, err = l.raced(ctx, followed, app.Namespace); err != nil {
		t.Fatal(err)
	}
	return out
}

// watch is how a sync of a case is followed: one that is expected to fail is not followed
// longer than its result needs.
func (l *lab) watch(ctx context.Context, c prepared) argocd.Watch {
	w := argocd.Watch{HangTimeout: hangTimeout, Moving: l.moving(ctx)}
	if *allRetries {
		return w
	}
	w.Certain = true
	if want := c.Expect[c.way].Result; want != "" && want != argocd.Synced {
		w.HangTimeout = shortHangTimeout
	}
	return w
}

// moving returns how the Pods of the cluster are, which it looks up every few seconds.
func (l *lab) moving(ctx context.Context) func() string {
	var pods string
	var read time.Time
	return func() string {
		if time.Since(read) < 5*time.Second {
			return pods
		}
		list, err := l.client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
		if err != nil {
			return pods // Argo CD's status says what is wrong with the API server
		}
		read = time.Now()
		var b strings.Builder
		for _, pod := range list.Items {
			fmt.Fprintln(&b, pod.Namespace, pod.Name, pod.Status.Phase)
			for _, s := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
				fmt.Fprintln(&b, s.Name, s.Ready, s.RestartCount)
			}
		}
		pods = b.String()
		return pods
	}
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
	case without, compact:
		source.Parameters = map[string]string{"waves": c.way.waves()}
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
		SyncOptions: []string{"CreateNamespace=true", "ServerSideApply=true"}, Retry: retries, KeepBackoff: true,
		CompareOptions: c.CompareOptions,
	}, nil
}
