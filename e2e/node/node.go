package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/ladder-cmp/ladder/e2e/node/inside/protocol"
)

// What a node calls itself, inside its own network.
const (
	nodeName    = "node"
	nodeAddress = "10.200.0.2"
	nodeGateway = "10.200.0.1"
)

// Node is a running node.
type Node struct {
	Config     *rest.Config // as an administrator, without a limit on requests
	Kubeconfig string       // file, as an administrator
	Token      string       // bearer token of Argo CD's user
	URL        string       // https://127.0.0.1:port
	CA         []byte       // PEM
	AuditLog   string       // file
	Dir        string       // files and logs

	client  kubernetes.Interface
	tokens  map[string]string // by user
	bin     Binaries
	cgroups *cgroups
	inside  *inside
	images  *images
	door    *door
}

// Start runs a node with its files and logs in dir. It is Ready when Start returns.
// There can be one at a time.
func Start(ctx context.Context, dir string, bin Binaries) (_ *Node, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	n := &Node{Dir: dir, AuditLog: filepath.Join(dir, "audit.log"), bin: bin}
	defer func() {
		if err != nil {
			err = fmt.Errorf("starting a node: %w", errors.Join(err, n.Stop()))
		}
	}()
	for _, step := range []func(context.Context) error{
		n.open, n.writeFiles, n.enter, n.startControlPlane, n.startNode, n.waitUntilReady,
	} {
		if err := step(ctx); err != nil {
			return n, err
		}
	}
	return n, nil
}

// open opens what is outside of the node: the ways in and out, and its cgroups.
func (n *Node) open(context.Context) (err error) {
	if err := os.MkdirAll(n.Dir, 0o755); err != nil {
		return err
	}
	if n.door, err = openDoor(); err != nil {
		return err
	}
	n.URL = "https://" + n.door.address()
	if n.images, err = serveImages(filepath.Join(n.Dir, "images"), n.door.registrySocket()); err != nil {
		return err
	}
	n.cgroups, err = newCgroups("ladder-" + nodeName)
	return err
}

// enter starts process 1 of the node in its namespaces.
func (n *Node) enter(context.Context) error {
	spec := protocol.Spec{
		Hostname:    nodeName,
		Cgroups:     n.cgroups.dirs,
		Controllers: n.cgroups.controllers,
		Binds:       n.binds(),
		Address:     nodeAddress + "/24",
		Gateway:     nodeGateway,
		Sysctls:     map[string]string{"net.ipv4.ip_forward": "1", "net.ipv4.conf.all.rp_filter": "0"},
		Forwards: map[string]string{
			n.door.apiserverSocket(): "127.0.0.1:6443",
			nodeAddress + ":5000":    n.door.registrySocket(),
		},
	}
	text, err := json.Marshal(spec)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(n.Dir, "node.json"), text, 0o644); err != nil {
		return err
	}
	n.inside, err = enter(n.bin.Inside, n.Dir, filepath.Dir(n.bin.Shim))
	return err
}

func (n *Node) startControlPlane(ctx context.Context) error {
	if err := n.inside.run("etcd", n.bin.Etcd, n.etcdArgs()...); err != nil {
		return err
	}
	if err := n.inside.run("kube-apiserver", n.bin.APIServer, n.apiserverArgs()...); err != nil {
		return err
	}
	n.Config = &rest.Config{Host: n.URL, BearerToken: n.tokens[admin], QPS: -1, TLSClientConfig: rest.TLSClientConfig{CAData: n.CA}}
	n.Token = n.tokens[argoCD]
	var err error
	if n.client, err = kubernetes.NewForConfig(n.Config); err != nil {
		return err
	}
	if err := n.inside.await(ctx, "the API server", func(ctx context.Context) error {
		return n.client.CoreV1().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
	}); err != nil {
		return err
	}
	if err := n.inside.run("kube-controller-manager", n.bin.ControllerManager, n.controllerManagerArgs()...); err != nil {
		return err
	}
	return n.inside.run("kube-scheduler", n.bin.Scheduler, "--kubeconfig="+n.file("inside.kubeconfig"), "--leader-elect=false")
}

func (n *Node) startNode(ctx context.Context) error {
	if err := n.servePause(); err != nil {
		return err
	}
	if err := n.inside.run("kube-proxy", n.bin.KubeProxy, "--config="+n.file("kube-proxy.yaml")); err != nil {
		return err
	}
	if err := n.inside.run("containerd", n.bin.Containerd, "-c", n.file("containerd.toml")); err != nil {
		return err
	}
	return n.inside.run("kubelet", n.bin.Kubelet, "--config="+n.file("kubelet.yaml"), "--kubeconfig="+n.file("inside.kubeconfig"),
		"--hostname-override="+nodeName, "--node-ip="+nodeAddress)
}

func (n *Node) waitUntilReady(ctx context.Context) error {
	// Pods are refused before their ServiceAccount exists.
	if err := n.inside.await(ctx, "the controller-manager", func(ctx context.Context) error {
		_, err := n.client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
		return err
	}); err != nil {
		return err
	}
	return n.inside.await(ctx, "the node", func(ctx context.Context) error {
		node, err := n.client.CoreV1().Nodes().Get(ctx, nodeName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, c := range node.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
				return nil
			}
		}
		return errors.New("the kubelet does not report Ready")
	})
}

// servePause makes the image that holds a Pod's namespaces open.
func (n *Node) servePause() error {
	image, err := Program("/pause", map[string]string{"/pause": n.bin.Pause})
	if err != nil {
		return err
	}
	return n.Serve("registry.k8s.io/pause:3.10", image)
}

// Serve lets Pods have an image by the name that they ask for.
func (n *Node) Serve(ref string, image v1.Image) error { return n.images.put(ref, image) }

// Stop ends the node with everything that runs on it. Its files stay in Dir.
func (n *Node) Stop() error {
	var faults []error
	if n.inside != nil {
		faults = append(faults, n.inside.stop())
	}
	if n.cgroups != nil {
		faults = append(faults, n.cgroups.remove())
	}
	if n.images != nil {
		faults = append(faults, n.images.close())
	}
	if n.door != nil {
		faults = append(faults, n.door.close())
	}
	return errors.Join(faults...)
}

func (n *Node) file(name string) string { return filepath.Join(n.Dir, name) }

// startTimeout is how long each part of a node may take to start.
const startTimeout = 2 * time.Minute

// door leads connections to a port of loopback into the node's network, through a
// Unix socket, which is not part of any network.
type door struct {
	dir      string // of sockets; their paths must be short
	listener net.Listener
}

func openDoor() (*door, error) {
	dir, err := os.MkdirTemp("", "node")
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	d := &door{dir: dir, listener: listener}
	go d.serve()
	return d, nil
}

func (d *door) address() string         { return d.listener.Addr().String() }
func (d *door) apiserverSocket() string { return filepath.Join(d.dir, "apiserver") }
func (d *door) registrySocket() string  { return filepath.Join(d.dir, "registry") }
func (d *door) close() error            { return errors.Join(d.listener.Close(), os.RemoveAll(d.dir)) }

func (d *door) serve() {
	for {
		client, err := d.listener.Accept()
		if err != nil {
			return
		}
		go protocol.Connect(client, d.apiserverSocket())
	}
}
