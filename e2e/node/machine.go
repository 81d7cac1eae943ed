package node

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/ladder-cmp/ladder/e2e/node/inside/protocol"
)

// machine is what Kubernetes calls a node: a kubelet with containerd and kube-proxy, in
// namespaces and cgroups of its own. The first one has the control plane, too.
type machine struct {
	name             string
	address, gateway string // in a network of its own, which the first machine is the way out of
	pods             string // subnet of its Pods
	server           string // URL of the API server, as seen from this machine
	dir              string // files and logs
	content          string // directory for images
	runc             string

	cgroups *cgroups
	inside  *inside
}

// newMachines describes the first machine and as many workers.
func newMachines(dir, content, runc string, workers int) []*machine {
	var machines []*machine
	for i := range workers + 1 {
		m := &machine{
			name:    nodeName,
			address: fmt.Sprintf("10.200.%d.2", i), gateway: fmt.Sprintf("10.200.%d.1", i), pods: podSubnet(i),
			server: "https://127.0.0.1:6443", dir: dir, content: content, runc: runc,
		}
		if i > 0 {
			m.name = fmt.Sprintf("worker%d", i)
			m.server = "https://" + nodeAddress + ":6443"
			m.dir = filepath.Join(dir, m.name)
			if content != "" {
				m.content = filepath.Join(content, m.name)
			}
		}
		if m.content == "" {
			m.content = m.file("containerd")
		}
		machines = append(machines, m)
	}
	return machines
}

func podSubnet(machine int) string { return fmt.Sprintf("10.244.%d.0/24", machine) }

func (m *machine) file(name string) string { return filepath.Join(m.dir, name) }

// writeFiles writes what the machine's programs read at their start.
func (m *machine) writeFiles(network bool) error {
	for _, dir := range []string{"kubelet", "pods", "containers", "cni", "cni-state", "certs.d/_default", "proc"} {
		if err := os.MkdirAll(m.file(dir), 0o755); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(m.content, 0o755); err != nil {
		return err
	}
	for _, of := range []struct{ name, to string }{
		{"containerd.toml", "containerd.toml"}, {"hosts.toml", "certs.d/_default/hosts.toml"},
		{"kubelet.yaml", "kubelet.yaml"}, {"kube-proxy.yaml", "kube-proxy.yaml"}, {"resolv.conf", "resolv.conf"},
	} {
		if err := m.writeConfig(of.name, m.file(of.to)); err != nil {
			return err
		}
	}
	if network {
		if err := os.WriteFile(m.file("cni/10-bridge.conflist"), []byte(podNetwork(m.pods)), 0o644); err != nil {
			return err
		}
	}
	return m.writeProc()
}

func (m *machine) writeConfig(name, file string) error {
	text, err := fs.ReadFile(config, "config/"+name)
	if err != nil {
		return err
	}
	t, err := template.New(name).Parse(string(text))
	if err != nil {
		return err
	}
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	defer out.Close()
	return t.Execute(out, struct{ Dir, Runc, Name, Address, Registry string }{m.dir, m.runc, m.name, m.address, registryAddress})
}

// podNetwork is the configuration of the network of a machine's Pods.
func podNetwork(subnet string) string {
	text, err := config.ReadFile("config/cni.conflist")
	if err != nil {
		panic(err) // it is embedded
	}
	return strings.ReplaceAll(string(text), "{{.Pods}}", subnet)
}

// kernelSettings are those that the kubelet sets for the whole machine. It gets files
// in their place that hold what it wants.
var kernelSettings = map[string]string{
	"vm/overcommit_memory": "1",
	"kernel/panic":         "10",
	"kernel/panic_on_oops": "1",
}

func (m *machine) writeProc() error {
	for name, value := range kernelSettings {
		if err := os.WriteFile(m.procFile(name), []byte(value+"\n"), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (m *machine) procFile(name string) string {
	return m.file(filepath.Join("proc", filepath.Base(name)))
}

// binds are what the programs see in place of the host's.
func (m *machine) binds() map[string]string {
	binds := map[string]string{
		"/var/lib/kubelet":        m.file("kubelet"),
		"/var/lib/containerd":     m.content,
		"/var/lib/cni":            m.file("cni-state"),
		"/var/log/pods":           m.file("pods"),
		"/var/log/containers":     m.file("containers"),
		"/etc/cni/net.d":          m.file("cni"),
		"/etc/containerd/certs.d": m.file("certs.d"),
		"/etc/resolv.conf":        m.file("resolv.conf"),
	}
	for name := range kernelSettings {
		binds["/proc/sys/"+name] = m.procFile(name)
	}
	return binds
}

// enter starts the machine's process 1 in its namespaces. Another machine that is its
// router gives it a link; the first one has no router.
func (m *machine) enter(bin Binaries, router *machine, forwards map[string]string) (err error) {
	if m.cgroups, err = newCgroups(); err != nil {
		return err
	}
	spec := protocol.Spec{
		Hostname:    m.name,
		Cgroups:     m.cgroups.dirs,
		Controllers: m.cgroups.controllers,
		Binds:       m.binds(),
		Address:     m.address + "/24",
		Gateway:     m.gateway,
		Sysctls:     map[string]string{"net.ipv4.ip_forward": "1", "net.ipv4.conf.all.rp_filter": "0"},
		Forwards:    forwards,
	}
	if router != nil {
		spec.Router = &protocol.Router{Dir: router.dir, Link: m.name, Address: m.gateway + "/24", Pods: m.pods, Via: m.address}
	}
	text, err := json.Marshal(spec)
	if err != nil {
		return err
	}
	if err := os.WriteFile(m.file("node.json"), text, 0o644); err != nil {
		return err
	}
	m.inside, err = enter(bin.Inside, m.dir, filepath.Dir(bin.Shim))
	return err
}

func (m *machine) startContainerd(bin Binaries) error {
	return m.inside.run("containerd", bin.Containerd, "-c", m.file("containerd.toml"))
}

// startKubelet starts what makes the machine a node of the cluster.
func (m *machine) startKubelet(bin Binaries) error {
	if err := m.inside.run("kube-proxy", bin.KubeProxy, "--config="+m.file("kube-proxy.yaml")); err != nil {
		return err
	}
	return m.inside.request(protocol.Run{Name: "kubelet", Path: bin.Kubelet, After: "/run/containerd/containerd.sock", Args: []string{
		"--config=" + m.file("kubelet.yaml"), "--kubeconfig=" + m.file("inside.kubeconfig"), "--hostname-override=" + m.name,
		"--node-ip=" + m.address,
	}})
}

// stop ends everything that runs on the machine.
func (m *machine) stop() error {
	var faults []error
	if m.inside != nil {
		faults = append(faults, m.inside.stop())
	}
	if m.cgroups != nil {
		faults = append(faults, m.cgroups.remove())
	}
	return errors.Join(faults...)
}
