package node

import (
	"context"
	"crypto/rand"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"text/template"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/ladder-cmp/ladder/e2e/cluster"
)

// Users of the API server; each may do everything. The audit log tells by them what a
// suite, Argo CD and the programs of the node itself have written.
const (
	admin    = cluster.Admin
	argoCD   = cluster.ArgoCD
	programs = "node"
)

//go:embed config
var config embed.FS

// PodNetwork is the configuration of the Pod network, a file of /etc/cni/net.d.
//
//go:embed config/cni.conflist
var PodNetwork string

// writeFiles writes what the node's programs read at their start.
func (n *Node) writeFiles(context.Context) error {
	for _, dir := range []string{"pki", "etcd", "kubelet", "containerd", "pods", "containers", "cni", "cni-state", "certs.d/_default", "proc", "volumes"} {
		if err := os.MkdirAll(n.file(dir), 0o755); err != nil {
			return err
		}
	}
	var err error
	if n.CA, err = writePKI(n.file("pki")); err != nil {
		return fmt.Errorf("making certificates: %w", err)
	}
	if err := n.writeTokens(); err != nil {
		return err
	}
	n.Kubeconfig = n.file("kubeconfig")
	if err := n.writeKubeconfig(n.Kubeconfig, n.URL, admin); err != nil {
		return err
	}
	if err := n.writeKubeconfig(n.file("inside.kubeconfig"), "https://127.0.0.1:6443", programs); err != nil {
		return err
	}
	for _, of := range []struct{ name, to string }{
		{"containerd.toml", "containerd.toml"}, {"hosts.toml", "certs.d/_default/hosts.toml"},
		{"kubelet.yaml", "kubelet.yaml"}, {"kube-proxy.yaml", "kube-proxy.yaml"}, {"resolv.conf", "resolv.conf"},
		{"Corefile", "Corefile"},
	} {
		if err := n.writeConfig(of.name, n.file(of.to)); err != nil {
			return err
		}
	}
	if !n.opts.NoNetwork {
		if err := os.WriteFile(n.file("cni/10-bridge.conflist"), []byte(PodNetwork), 0o644); err != nil {
			return err
		}
	}
	if err := os.WriteFile(n.file("audit-policy.yaml"), cluster.AuditPolicy, 0o600); err != nil {
		return err
	}
	return n.writeProc()
}

func (n *Node) writeTokens() error {
	n.tokens = map[string]string{}
	csv := ""
	for _, user := range []string{admin, argoCD, programs} {
		random := make([]byte, 16)
		rand.Read(random)
		n.tokens[user] = hex.EncodeToString(random)
		csv += fmt.Sprintf("%s,%s,%s,system:masters\n", n.tokens[user], user, user)
	}
	return os.WriteFile(n.file("tokens.csv"), []byte(csv), 0o600)
}

func (n *Node) writeKubeconfig(file, url, user string) error {
	return clientcmd.WriteToFile(api.Config{
		Clusters:       map[string]*api.Cluster{nodeName: {Server: url, CertificateAuthorityData: n.CA}},
		AuthInfos:      map[string]*api.AuthInfo{user: {Token: n.tokens[user]}},
		Contexts:       map[string]*api.Context{nodeName: {Cluster: nodeName, AuthInfo: user}},
		CurrentContext: nodeName,
	}, file)
}

func (n *Node) writeConfig(name, file string) error {
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
	return t.Execute(out, struct{ Dir, Runc, Address string }{n.Dir, n.bin.Runc, nodeAddress})
}

// kernelSettings are those that the kubelet sets for the whole machine. It gets files
// in their place that hold what it wants.
var kernelSettings = map[string]string{
	"vm/overcommit_memory": "1",
	"kernel/panic":         "10",
	"kernel/panic_on_oops": "1",
}

func (n *Node) writeProc() error {
	for name, value := range kernelSettings {
		if err := os.WriteFile(n.procFile(name), []byte(value+"\n"), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (n *Node) procFile(name string) string {
	return n.file(filepath.Join("proc", filepath.Base(name)))
}

// binds are what the node sees in place of the machine's.
func (n *Node) binds() map[string]string {
	binds := map[string]string{
		"/var/lib/kubelet":        n.file("kubelet"),
		"/var/lib/containerd":     n.content(),
		"/var/lib/cni":            n.file("cni-state"),
		"/var/log/pods":           n.file("pods"),
		"/var/log/containers":     n.file("containers"),
		"/etc/cni/net.d":          n.file("cni"),
		"/etc/containerd/certs.d": n.file("certs.d"),
		"/etc/resolv.conf":        n.file("resolv.conf"),
	}
	for name := range kernelSettings {
		binds["/proc/sys/"+name] = n.procFile(name)
	}
	return binds
}

func (n *Node) etcdArgs() []string {
	return []string{
		"--name=etcd", "--data-dir=" + n.file("etcd"), "--unsafe-no-fsync",
		"--listen-client-urls=http://127.0.0.1:2379", "--advertise-client-urls=http://127.0.0.1:2379",
		"--listen-peer-urls=http://127.0.0.1:2380", "--initial-advertise-peer-urls=http://127.0.0.1:2380",
		"--initial-cluster=etcd=http://127.0.0.1:2380",
	}
}

func (n *Node) apiserverArgs() []string {
	pki := func(name string) string { return n.file(filepath.Join("pki", name)) }
	return []string{
		"--etcd-servers=http://127.0.0.1:2379",
		"--advertise-address=" + nodeAddress, "--bind-address=0.0.0.0", "--secure-port=6443",
		"--tls-cert-file=" + pki("apiserver.crt"), "--tls-private-key-file=" + pki("apiserver.key"),
		"--client-ca-file=" + pki("ca.crt"),
		"--token-auth-file=" + n.file("tokens.csv"),
		"--authorization-mode=Node,RBAC",
		"--allow-privileged=true",
		"--service-cluster-ip-range=10.96.0.0/16",
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + pki("accounts.key"), "--service-account-signing-key-file=" + pki("accounts.key"),
		"--kubelet-preferred-address-types=InternalIP", "--kubelet-certificate-authority=" + pki("ca.crt"),
		"--requestheader-client-ca-file=" + pki("ca.crt"), "--requestheader-allowed-names=front-proxy",
		"--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + pki("front-proxy.crt"), "--proxy-client-key-file=" + pki("front-proxy.key"),
		"--audit-policy-file=" + n.file("audit-policy.yaml"), "--audit-log-path=" + string(n.AuditLog),
		// In megabytes; a log that rotates loses what came before.
		"--audit-log-maxsize=1000000",
	}
}

func (n *Node) controllerManagerArgs() []string {
	pki := func(name string) string { return n.file(filepath.Join("pki", name)) }
	return []string{
		"--kubeconfig=" + n.file("inside.kubeconfig"),
		"--service-account-private-key-file=" + pki("accounts.key"), "--root-ca-file=" + pki("ca.crt"),
		"--cluster-signing-cert-file=" + pki("ca.crt"), "--cluster-signing-key-file=" + pki("ca.key"),
		"--use-service-account-credentials", "--leader-elect=false",
	}
}
