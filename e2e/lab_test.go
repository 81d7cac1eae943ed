// Package e2e_test syncs what Ladder renders with a real Argo CD against a real API
// server. docs/e2e.md describes it.
package e2e_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/ladder-cmp/ladder/e2e/argocd"
	"github.com/ladder-cmp/ladder/e2e/cluster"
	"github.com/ladder-cmp/ladder/e2e/double"
)

// lab is what all cases share: one API server and one Argo CD.
type lab struct {
	dir       string
	root      string // of the repository
	bin       argocd.Binaries
	cluster   *cluster.Cluster
	double    *double.Double
	argo      *argocd.ArgoCD
	scheduler scheduler
	// native are the kinds that every cluster with Argo CD serves, and whether
	// their objects are in namespaces.
	native map[schema.GroupKind]bool
}

// resync is shorter than Argo CD's default. Otherwise, a wave of CRDs can take up to
// three minutes if a busy Argo CD learns late that they are established. E2E_RESYNC
// sets it; 0s means Argo CD's default.
func resync() (time.Duration, error) {
	if text := os.Getenv("E2E_RESYNC"); text != "" {
		return time.ParseDuration(text)
	}
	return 15 * time.Second, nil
}

// here is the lab of this run.
var here *lab

func TestMain(m *testing.M) {
	code, err := inLab(m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		code = 1
	}
	os.Exit(code)
}

// inLab opens the lab, runs the tests and prints what they found.
func inLab(tests func() int) (int, error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	l, err := openLab(ctx)
	if err != nil {
		return 1, err
	}
	here = l
	ended := make(chan int, 1)
	go func() { ended <- tests() }()
	code := 1
	select {
	case code = <-ended:
	case <-ctx.Done(): // tests that are interrupted leave what they have found so far
	}
	err = l.close()
	fmt.Printf("\n%s\nlogs: %s\n", results.table(), l.dir)
	return code, err
}

func openLab(ctx context.Context) (_ *lab, err error) {
	root, err := filepath.Abs("..")
	if err != nil {
		return nil, err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	cache = filepath.Join(cache, "ladder-e2e")
	l := &lab{root: root}
	if l.bin, err = argocd.Build(ctx, root, cache); err != nil {
		return nil, err
	}
	servers, err := cluster.Build(ctx, cache)
	if err != nil {
		return nil, err
	}
	if l.dir, err = os.MkdirTemp("", "ladder-e2e-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("%w; logs: %s", err, l.dir)
			_ = l.close() // what went wrong first says more
		}
	}()
	if l.cluster, err = cluster.Start(ctx, l.dir, servers); err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(l.dir, "double.log"))
	if err != nil {
		return nil, err
	}
	if l.double, err = double.Start(ctx, l.cluster.Config, double.Options{
		Seed: 1, Network: l.cluster, DefaultClass: "WaitForFirstConsumer", OLM: true, Log: slog.New(slog.NewTextHandler(log, nil)),
	}); err != nil {
		return nil, err
	}
	settings, err := argocd.ShippedHealth(root)
	if err != nil {
		return nil, err
	}
	if err := l.addPrintedHealth(ctx, settings); err != nil {
		return nil, err
	}
	every, err := resync()
	if err != nil {
		return nil, fmt.Errorf("E2E_RESYNC: %w", err)
	}
	server := argocd.Server{Config: l.cluster.Config, Kubeconfig: l.cluster.Kubeconfig, URL: l.cluster.URL, Token: l.cluster.Token}
	if l.argo, err = argocd.Start(ctx, server, l.dir, l.bin, argocd.Options{Settings: settings, Resync: every}); err != nil {
		return nil, err
	}
	if l.native, err = served(l.cluster); err != nil {
		return nil, err
	}
	return l, l.cluster.Keep(ctx)
}

// served asks the API server for the kinds that it serves.
func served(c *cluster.Cluster) (map[schema.GroupKind]bool, error) {
	client, err := discovery.NewDiscoveryClientForConfig(c.Config)
	if err != nil {
		return nil, err
	}
	_, lists, err := client.ServerGroupsAndResources()
	if err != nil {
		return nil, err
	}
	kinds := map[schema.GroupKind]bool{}
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, r := range list.APIResources {
			if !strings.Contains(r.Name, "/") {
				kinds[schema.GroupKind{Group: version.Group, Kind: r.Kind}] = r.Namespaced
			}
		}
	}
	return kinds, nil
}

// nativeGroups are the groups of native kinds.
func (l *lab) nativeGroups() map[string]bool {
	groups := map[string]bool{}
	for gk := range l.native {
		groups[gk.Group] = true
	}
	return groups
}

// waiting is what the cluster double waits for in some namespaces, and for
// cluster-scoped objects.
func (l *lab) waiting(namespaces []string) string {
	var lines []string
	for _, w := range l.double.Waiting() {
		if w.Of.Namespace == "" || slices.Contains(namespaces, w.Of.Namespace) {
			lines = append(lines, "  "+w.String())
		}
	}
	return strings.Join(lines, "\n")
}

func (l *lab) close() error {
	if l.argo != nil {
		l.argo.Stop()
	}
	if l.double != nil {
		l.double.Stop()
	}
	if l.cluster == nil {
		return nil
	}
	return l.cluster.Stop()
}
