package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gofrs/flock"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/ladder-cmp/ladder/e2e/cluster"
	"github.com/ladder-cmp/ladder/e2e/node/inside/protocol"
)

// What the first machine calls itself, inside its own network, and where the images are.
const (
	nodeName        = "node"
	nodeAddress     = "10.200.0.2"
	registryAddress = nodeAddress + ":5000"
)

// Node is a running node with its control plane, and its workers if it has any.
type Node struct {
	Config     *rest.Config // as an administrator, without a limit on requests
	Kubeconfig string       // file, as an administrator
	Token      string       // bearer token of Argo CD's user
	URL        string       // https://127.0.0.1:port
	CA         []byte       // PEM
	Dir        string       // files and logs
	cluster.AuditLog
	*cluster.Cleaner

	client    kubernetes.Interface
	tokens    map[string]string // by user
	bin       Binaries
	opts      Options
	lock      *flock.Flock // of Options.Content
	providers *providers
	machines  []*machine // the first one has the control plane
	images    *images
	door      *door
}

// Options are what nodes differ in.
type Options struct {
	// LoadBalancers gives Services of type LoadBalancer an address that leads to their
	// Pods. Without it they wait for one, as on a machine of one's own.
	LoadBalancers bool
	// Content is a directory for the images that containerd has pulled and unpacked,
	// which the next node that is given it need not pull again. One node at a time can
	// have it. If it is empty they go with the node's directory.
	Content string
	// NoNetwork leaves out the configuration of the Pod network, so that the node is not
	// Ready when Start returns: Pods that are not on the host network wait until
	// something writes [PodNetwork] into /etc/cni/net.d.
	NoNetwork bool
	// Workers are further nodes without a control plane, called worker1, worker2 and so
	// on. All nodes share the directories of volumes.
	Workers int
}

// Start runs a node with its files and logs in dir. Unless it has no network, it is
// Ready when Start returns. Several can run at once.
func Start(ctx context.Context, dir string, bin Binaries, opts Options) (_ *Node, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	n := &Node{Dir: dir, AuditLog: cluster.AuditLog(filepath.Join(dir, "audit.log")), bin: bin, opts: opts}
	defer func() {
		if err != nil {
			err = fmt.Errorf("starting a node: %w", errors.Join(err, n.Stop()))
		}
	}()
	for _, step := range []func(context.Context) error{
		n.open, n.lockContent, n.describe, n.writeFiles, n.enter, n.startContainerd, n.startControlPlane, n.startKubelets, n.startDNS,
		n.startProviders, n.waitUntilReady, n.settle,
	} {
		if err := step(ctx); err != nil {
			return n, err
		}
	}
	return n, nil
}

// open opens what is outside of the node: the ways in and out.
func (n *Node) open(context.Context) (err error) {
	if err := os.MkdirAll(n.Dir, 0o755); err != nil {
		return err
	}
	if n.door, err = openDoor(); err != nil {
		return err
	}
	n.URL = "https://" + n.door.address()
	n.images, err = serveImages(filepath.Join(n.Dir, "images"), n.door.registrySocket())
	return err
}

func (n *Node) describe(context.Context) error {
	n.machines = newMachines(n.Dir, n.opts.Content, n.bin.Runc, n.opts.Workers)
	return nil
}

func (n *Node) first() *machine { return n.machines[0] }

// enter starts process 1 of each machine in its namespaces. The first machine leads into
// and out of their networks.
func (n *Node) enter(context.Context) error {
	if err := n.first().enter(n.bin, nil, map[string]string{
		n.door.apiserverSocket(): "127.0.0.1:6443",
		n.door.dnsSocket():       nodeAddress + ":8181",
		registryAddress:          n.door.registrySocket(),
	}); err != nil {
		return err
	}
	for _, worker := range n.machines[1:] {
		if err := worker.enter(n.bin, n.first(), nil); err != nil {
			return err
		}
	}
	return nil
}

func (n *Node) startContainerd(context.Context) error {
	if err := n.servePause(); err != nil {
		return err
	}
	for _, m := range n.machines {
		if err := m.startContainerd(n.bin); err != nil {
			return err
		}
	}
	return nil
}

func (n *Node) startControlPlane(ctx context.Context) error {
	if err := n.first().inside.run("etcd", n.bin.Etcd, n.etcdArgs()...); err != nil {
		return err
	}
	// The API server takes most of a node's CPU time, a quarter of it for the collection of
	// garbage; memory is cheaper.
	if err := n.first().inside.request(
		protocol.Run{Name: "kube-apiserver", Path: n.bin.APIServer, Args: n.apiserverArgs(), Env: []string{"GOGC=400"}}); err != nil {
		return err
	}
	n.Config = &rest.Config{Host: n.URL, BearerToken: n.tokens[admin], QPS: -1, TLSClientConfig: rest.TLSClientConfig{CAData: n.CA}}
	n.Token = n.tokens[argoCD]
	var err error
	if n.client, err = kubernetes.NewForConfig(n.Config); err != nil {
		return err
	}
	if err := n.first().inside.await(ctx, "the API server", func(ctx context.Context) error {
		return n.client.CoreV1().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
	}); err != nil {
		return err
	}
	if err := n.first().inside.run("kube-controller-manager", n.bin.ControllerManager, n.controllerManagerArgs()...); err != nil {
		return err
	}
	return n.first().inside.run("kube-scheduler", n.bin.Scheduler, "--kubeconfig="+n.file("inside.kubeconfig"), "--leader-elect=false")
}

func (n *Node) startKubelets(context.Context) error {
	for _, m := range n.machines {
		if err := m.startKubelet(n.bin); err != nil {
			return err
		}
	}
	return nil
}

// servePause creates the image that keeps a Pod's namespaces open.
func (n *Node) servePause() error {
	image, err := Program("/pause", map[string]string{"/pause": n.bin.Pause})
	if err != nil {
		return err
	}
	return n.Serve("registry.k8s.io/pause", image)
}

// Serve lets Pods have an image as any version of a repository, whatever tag they ask
// for. A tag in the name is ignored. The registry's log names the images that Pods ask
// for in vain.
func (n *Node) Serve(repository string, image v1.Image) error { return n.images.put(repository, image) }

// Stop ends the node with everything that runs on it. Its files stay in Dir.
func (n *Node) Stop() error {
	var faults []error
	if n.providers != nil {
		faults = append(faults, n.providers.stop())
	}
	for _, m := range slices.Backward(n.machines) {
		faults = append(faults, m.stop())
	}
	if n.images != nil {
		faults = append(faults, n.images.close())
	}
	if n.door != nil {
		faults = append(faults, n.door.close())
	}
	if n.lock != nil {
		faults = append(faults, n.lock.Unlock())
	}
	return errors.Join(faults...)
}

func (n *Node) file(name string) string { return filepath.Join(n.Dir, name) }

// startTimeout is how long each part of a node may take to start.
const startTimeout = 2 * time.Minute
