package real_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/ladder-cmp/ladder/e2e/argocd"
	"github.com/ladder-cmp/ladder/e2e/node"
	"github.com/ladder-cmp/ladder/e2e/program"
	"github.com/ladder-cmp/ladder/e2e/real/images"
)

// workshop is what all cases share.
type workshop struct {
	root   string // of the repository
	dir    string // of logs
	node   node.Binaries
	argocd argocd.Binaries
	images *images.Table
	health map[string]string // settings of Argo CD
	cases  map[string]component
	// contents are directories for the images of nodes. Each node has one while it runs, so
	// that later nodes find what earlier ones have pulled.
	contents chan string
	// others is held for writing by a test that runs alone.
	others sync.RWMutex
}

// join waits while another test runs alone. It lasts until the test has stopped its nodes.
func (w *workshop) join(t *testing.T) {
	w.others.RLock()
	t.Cleanup(w.others.RUnlock)
}

// alone waits until no other test has nodes, and keeps others from starting some.
func (w *workshop) alone(t *testing.T) {
	w.others.Lock()
	t.Cleanup(w.others.Unlock)
}

var shop *workshop

// allRetries turns off what makes the suite shorter.
var allRetries = flag.Bool("patient", false,
	"give an order that does not sync all of Argo CD's retries, and three minutes until it counts as hanging")

func TestMain(m *testing.M) {
	flag.Parse()
	code, err := inWorkshop(m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, "reality:", err)
		code = 1
	}
	os.Exit(code)
}

func inWorkshop(tests func() int) (int, error) {
	var err error
	if shop, err = openWorkshop(context.Background()); err != nil {
		return 1, err
	}
	code := tests()
	fmt.Printf("\n%s\nlogs: %s\n", results.table(), shop.dir)
	return code, os.RemoveAll(filepath.Join(shop.dir, contentDir)) // some gigabytes of images
}

func openWorkshop(ctx context.Context) (*workshop, error) {
	root, err := filepath.Abs("../..")
	if err != nil {
		return nil, err
	}
	cache, err := program.Cache()
	if err != nil {
		return nil, err
	}
	w := &workshop{root: root}
	if w.cases, err = components(); err != nil {
		return nil, err
	}
	if w.node, err = node.Build(ctx, cache); err != nil {
		return nil, err
	}
	if w.argocd, err = argocd.Build(ctx, root, cache); err != nil {
		return nil, err
	}
	if w.images, err = images.Open(ctx, cache); err != nil {
		return nil, err
	}
	if w.health, err = argocd.ShippedHealth(root); err != nil {
		return nil, err
	}
	if w.dir, err = os.MkdirTemp("", "ladder-real-"); err != nil {
		return nil, err
	}
	w.contents, err = contents(filepath.Join(w.dir, contentDir))
	return w, err
}

// contentDir has the images of nodes, in the directory of the logs.
const contentDir = "content"

// contents makes as many directories as tests run at once, which go test -parallel says.
func contents(dir string) (chan string, error) {
	n, err := strconv.Atoi(flag.Lookup("test.parallel").Value.String())
	if err != nil {
		return nil, err
	}
	all := make(chan string, n)
	for i := range n {
		all <- filepath.Join(dir, strconv.Itoa(i))
	}
	return all, nil
}

// lab is a cluster with nothing in it but Argo CD.
type lab struct {
	node   *node.Node
	argo   *argocd.ArgoCD
	client kubernetes.Interface
}

// resync is shorter than Argo CD's default, as in the other suites.
const resync = 15 * time.Second

// openLab creates a cluster for one case in one order, which ends with the test. The
// settings are those of Argo CD. The name is that of its directory.
func openLab(ctx context.Context, t *testing.T, name string, opt node.Options, settings map[string]string) *lab {
	t.Helper()
	l, err := withoutArgoCD(startNode(ctx, t, name, opt))
	if err != nil {
		t.Fatal(err)
	}
	l.argo = startArgoCD(ctx, t, l.node, name, settings)
	return l
}

// labDir creates the directory of a lab and returns its name, with a number if there is one
// already: with -count, each run has an empty database, and the logs of all runs stay.
func labDir(t *testing.T, name string) string {
	t.Helper()
	for n, dir := 1, name; ; {
		err := os.Mkdir(filepath.Join(shop.dir, dir), 0o755)
		if err == nil {
			return dir
		}
		if !errors.Is(err, fs.ErrExist) {
			t.Fatal(err)
		}
		n++
		dir = fmt.Sprintf("%s-%d", name, n)
	}
}

// withoutArgoCD is a lab on a node without Argo CD.
func withoutArgoCD(n *node.Node) (*lab, error) {
	client, err := kubernetes.NewForConfig(n.Config)
	return &lab{node: n, client: client}, err
}

// startNode starts a node that ends with the test.
func startNode(ctx context.Context, t *testing.T, name string, opt node.Options) *node.Node {
	t.Helper()
	opt.Content = <-shop.contents
	t.Cleanup(func() { shop.contents <- opt.Content })
	n, err := node.Start(ctx, filepath.Join(shop.dir, name, "node"), shop.node, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Stop(); err != nil {
			t.Error(err)
		}
	})
	return n
}

// startArgoCD starts an Argo CD that ends with the test.
func startArgoCD(ctx context.Context, t *testing.T, n *node.Node, name string, settings map[string]string) *argocd.ArgoCD {
	t.Helper()
	server := argocd.Server{Config: n.Config, Kubeconfig: n.Kubeconfig, URL: n.URL, Token: n.Token}
	argo, err := argocd.Start(ctx, server, filepath.Join(shop.dir, name, "argocd"), shop.argocd,
		argocd.Options{Settings: settings, Resync: resync})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(argo.Stop)
	return argo
}

// restarts counts how often programs were restarted.
func (l *lab) restarts(ctx context.Context) (int, error) {
	all, err := l.node.Restarts(ctx, metav1.NamespaceAll)
	n := 0
	for _, r := range all {
		n += r.Count
	}
	return n, err
}
