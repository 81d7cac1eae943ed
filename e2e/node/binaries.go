package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"

	"github.com/ladder-cmp/ladder/e2e/program"
)

// Binaries are the programs that a node consists of.
type Binaries struct {
	APIServer, ControllerManager, Scheduler, Kubelet, KubeProxy string // of Kubernetes
	Containerd, Shim                                            string // of containerd
	CoreDNS                                                     string
	Inside                                                      string // process 1 of the node
	Pause                                                       string // process 1 of each Pod
	Etcd, Runc                                                  string // of the machine
}

// minimumDisk is what the first build leaves in Go's build cache and in its own, in
// bytes, with room for images.
const minimumDisk = 12 << 30

// Build builds what a node consists of and finds what the machine has of it. The
// first build takes some half an hour on two cores; its result is kept in cacheDir.
// The error names all that the machine lacks.
func Build(ctx context.Context, cacheDir string) (Binaries, error) {
	var b Binaries
	if err := b.find(cacheDir); err != nil {
		return b, err
	}
	for _, of := range []struct {
		path   *string
		source program.Source
	}{
		{&b.APIServer, program.Kubernetes("kube-apiserver")},
		{&b.ControllerManager, program.Kubernetes("kube-controller-manager")},
		{&b.Scheduler, program.Kubernetes("kube-scheduler")},
		{&b.Kubelet, program.Kubernetes("kubelet")},
		{&b.KubeProxy, program.Kubernetes("kube-proxy")},
		{&b.Containerd, containerd("containerd")},
		{&b.Shim, containerd("containerd-shim-runc-v2")},
		{&b.CoreDNS, coreDNS()},
	} {
		var err error
		if *of.path, err = program.Build(ctx, of.source, cacheDir); err != nil {
			return b, err
		}
	}
	var err error
	if b.Inside, err = program.BuildOwn(ctx, "node/inside", cacheDir); err != nil {
		return b, err
	}
	b.Pause, err = program.BuildOwn(ctx, "node/pause", cacheDir)
	return b, err
}

func containerd(name string) program.Source {
	const module = "github.com/containerd/containerd/v2"
	return program.Source{Dir: "servers/containerd", Module: module, Package: module + "/cmd/" + name, Static: true,
		Flags: func(string) []string { return []string{"-ldflags", "-s -w"} }}
}

// coreDNS is a main package of ours, with few plugins.
func coreDNS() program.Source {
	return program.Source{Dir: "servers/coredns", Module: "github.com/coredns/coredns",
		Package: "github.com/ladder-cmp/ladder/e2e/servers/coredns", Static: true,
		Flags: func(string) []string { return []string{"-ldflags", "-s -w"} }}
}

// find looks for what cannot be built.
func (b *Binaries) find(cacheDir string) error {
	var unused string
	faults := []error{program.Find(
		program.OfMachine{Path: &b.Etcd, Name: "etcd", Package: "etcd-server"},
		program.OfMachine{Path: &b.Runc, Name: "runc", Package: "runc"},
		program.OfMachine{Path: &unused, Name: "/usr/lib/cni/bridge", Package: "containernetworking-plugins"},
		program.OfMachine{Path: &unused, Name: "ip", Package: "iproute2"},
		program.OfMachine{Path: &unused, Name: "nsenter", Package: "util-linux"},
		program.OfMachine{Path: &unused, Name: "nft", Package: "nftables"},
		program.OfMachine{Path: &unused, Name: "iptables", Package: "iptables"},
		program.OfMachine{Path: &unused, Name: "conntrack", Package: "conntrack"},
	)}
	if runtime.GOOS != "linux" {
		faults = append(faults, errors.New("a node runs on Linux only"))
	}
	if os.Geteuid() != 0 {
		faults = append(faults, errors.New("a node needs root, for namespaces, mounts and cgroups; fix: run the tests as root"))
	}
	faults = append(faults, freeDisk(cacheDir))
	return errors.Join(faults...)
}

func freeDisk(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil {
		return fmt.Errorf("reading the free space of %s: %w", dir, err)
	}
	if free := fs.Bavail * uint64(fs.Bsize); free < minimumDisk {
		return fmt.Errorf("%s has %d MiB of free space; fix: free %d MiB", dir, free>>20, minimumDisk>>20)
	}
	return nil
}
