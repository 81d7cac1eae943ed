package node

import (
	"context"
	"crypto/rand"
	"embed"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"

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

// PodNetwork is the configuration of the Pod network of a node without workers, a file of
// /etc/cni/net.d.
var PodNetwork = podNetwork(podSubnet(0))

// writeFiles writes what the node's programs read at their start.
func (n *Node) writeFiles(context.Context) error {
	for _, dir := range []string{"pki", "etcd", "volumes"} {
		if err := os.MkdirAll(n.file(dir), 0o755); err != nil {
			return err
		}
	}
	var err error
	if n.CA, err = writePKI(n.file("pki"), n.machines); err != nil {
		return fmt.Errorf("making certificates: %w", err)
	}
	if err := n.writeTokens(); err != nil {
		return err
	}
	n.Kubeconfig = n.file("kubeconfig")
	if err := n.writeKubeconfig(n.Kubeconfig, n.URL, admin); err != nil {
		return err
	}
	for _, m := range n.machines {
		if err := m.writeFiles(!n.opts.NoNetwork); err != nil {
			return err
		}
		if err := n.writeKubeconfig(m.file("inside.kubeconfig"), m.server, programs); err != nil {
			return err
		}
	}
	if err := n.first().writeConfig("Corefile", n.file("Corefile")); err != nil {
		return err
	}
	return os.WriteFile(n.file("audit-policy.yaml"), cluster.AuditPolicy, 0o600)
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
