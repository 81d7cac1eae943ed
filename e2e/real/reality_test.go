package real_test

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ladder-cmp/ladder/e2e/argocd"
	"github.com/ladder-cmp/ladder/e2e/node"
)

const (
	// patience is how long nothing may change before a sync is said to hang.
	patience = 2 * time.Minute
	// retries is what Argo CD does by itself in automated syncs.
	retries = 5
	// limit is how long a case may take in all, with the start of its cluster.
	limit = 10 * time.Minute
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
	attempts int
	restarts int
	waves    int
}

// raced reports whether all that went wrong is that a webhook did not answer in the
// moment after its Deployment became available, before kube-proxy led to its Pods. It can
// happen in any order in which a custom resource comes next, and no order helps.
func (o outcome) raced() bool {
	return len(o.Errors) > 0 && !slices.ContainsFunc(o.Errors, func(text string) bool {
		return !strings.Contains(text, "failed calling webhook") || !strings.Contains(text, "connection refused")
	})
}

// judge says whether a case ended as it must.
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
	case out.Result != want.Result:
		t.Errorf("the sync: %s; want %s", out.Result, want.Result)
	case out.Result == argocd.Synced && want.Attempts == 1 && out.attempts > 1 && !out.raced():
		t.Errorf("it took %d attempts; want one", out.attempts)
	case out.Result == argocd.Synced && out.attempts < want.Attempts:
		t.Errorf("it took %d attempts; want at least %d, or the case shows nothing", out.attempts, want.Attempts)
	}
}

// compare holds Ladder's order against the others: it may not be worse than any.
func compare(t *testing.T, ended map[way]outcome) {
	t.Helper()
	ours, ok := ended[ladder]
	if !ok {
		return // another way was asked for
	}
	for w, other := range ended {
		if other.Result == argocd.Synced && (ours.Result != argocd.Synced || ours.attempts > other.attempts && !ours.raced()) {
			t.Errorf("Ladder's order: %s after %d attempts; %s: %s after %d", ours.Result, ours.attempts, w, other.Result, other.attempts)
		}
	}
}

// deploy deploys a case in a new cluster, after what it needs to be there.
func deploy(t *testing.T, c component, w way) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	l := openLab(ctx, t, c.name+"-"+string(w), node.Options{LoadBalancers: c.LoadBalancers, Content: filepath.Join(shop.dir, "content")})
	for _, name := range c.Before {
		if out := l.sync(ctx, t, shop.cases[name], ladder); out.Result != argocd.Synced {
			t.Fatalf("%s has to be there before: %s\n%s", name, out.Result, l.explain(ctx, out))
		}
	}
	out := l.sync(ctx, t, c, w)
	if out.Result != argocd.Synced || out.attempts > 1 {
		t.Logf("%s after %d attempts\n%s", out.Result, out.attempts, l.explain(ctx, out))
	}
	return out
}

// sync deploys a case as a user does, and follows it to its end.
func (l *lab) sync(ctx context.Context, t *testing.T, c component, w way) outcome {
	t.Helper()
	files, err := c.files(ctx)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := c.write(files)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := c.rendered(ctx, dir, w)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.serve(ctx, append(plain.images(), c.Images...)); err != nil {
		t.Fatal(err)
	}
	app, err := l.application(ctx, c, w, files, plain)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.argo.Deploy(ctx, app); err != nil {
		t.Fatal(err)
	}
	mark, err := l.node.Mark()
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
	out := outcome{Outcome: followed, settled: time.Since(since), attempts: 1, waves: plain.waves()}
	if op := followed.Status.OperationState; op != nil {
		out.attempts += op.RetryCount
	}
	if out.restarts, err = l.restarts(ctx); err != nil {
		t.Fatal(err)
	}
	if w == ladder {
		habits, err := l.habits(mark, plain)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.propose(ctx, dir, habits); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// application commits a case and returns the Application that deploys it: by the
// plugin, or as manifests in which an expert has written the waves.
func (l *lab) application(ctx context.Context, c component, w way, files map[string]string, plain manifests) (argocd.Application, error) {
	repo, err := l.argo.NewRepository(ctx, c.name)
	if err != nil {
		return argocd.Application{}, err
	}
	source := argocd.Source{RepoURL: repo.URL(), Path: ".", Plugin: w != expert}
	switch w {
	case without:
		source.Parameters = map[string]string{"waves": "off"}
	case expert:
		if files, err = plain.files(); err != nil {
			return argocd.Application{}, err
		}
	}
	if _, err := repo.Commit(ctx, files); err != nil {
		return argocd.Application{}, err
	}
	return argocd.Application{
		Name: c.name, Namespace: c.Namespace, Sources: []argocd.Source{source},
		SyncOptions: []string{"CreateNamespace=true", "ServerSideApply=true"}, Retry: retries, Patient: true,
	}, nil
}
