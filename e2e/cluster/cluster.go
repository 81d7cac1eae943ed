package cluster

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/ladder-cmp/ladder/e2e/program"
)

// Users of the API server, both with all permissions. There are two so that the audit
// log shows who wrote what.
const (
	Admin  = "admin"  // of Config and Kubeconfig
	ArgoCD = "argocd" // of Token
)

// Cluster is a running API server.
type Cluster struct {
	Config     *rest.Config // as Admin, without a limit on requests
	Kubeconfig string       // file, as Admin
	Token      string       // bearer token of ArgoCD, for the cluster Secret that Argo CD deploys with
	URL        string       // https://127.0.0.1:port
	CA         []byte       // PEM, the certificate to trust
	Dir        string       // files and logs of the servers
	AuditLog
	*Cleaner

	etcd, apiserver *program.Process
	network         *network
}

// Start runs etcd and kube-apiserver with their files and logs in dir, on free
// ports of loopback. The API server is ready when it returns.
func Start(ctx context.Context, dir string, bin Binaries) (*Cluster, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("starting a cluster: %w", err)
	}
	// A free port can be taken before a server listens on it.
	for try := 1; ; try++ {
		c, err := startOnce(ctx, filepath.Join(dir, fmt.Sprintf("servers-%d", try)), bin)
		if err == nil || try == 3 || !strings.Contains(err.Error(), "address already in use") {
			return c, err
		}
	}
}

func startOnce(ctx context.Context, dir string, bin Binaries) (_ *Cluster, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("starting a cluster: %w", err)
	}
	ports, err := program.FreePorts(3)
	if err != nil {
		return nil, fmt.Errorf("starting a cluster: %w", err)
	}
	c := &Cluster{Dir: dir, AuditLog: AuditLog(filepath.Join(dir, "audit.log")), URL: "https://" + address(ports[0])}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Stop())
		}
	}()
	if c.network, err = newNetwork(); err != nil {
		return nil, err
	}
	tokens, err := c.writeFiles()
	if err != nil {
		return nil, fmt.Errorf("writing the API server's files: %w", err)
	}
	if c.etcd, err = program.Start(dir, "etcd", bin.Etcd, etcdArgs(dir, ports[1], ports[2])...); err != nil {
		return nil, err
	}
	if c.apiserver, err = program.Start(dir, "kube-apiserver", bin.APIServer,
		apiserverArgs(dir, string(c.AuditLog), ports[0], ports[1])...); err != nil {
		return nil, err
	}
	return c, c.waitUntilReady(ctx, tokens)
}

func etcdArgs(dir string, client, peer int) []string {
	return []string{
		"--name=etcd",
		"--data-dir=" + filepath.Join(dir, "etcd"),
		"--listen-client-urls=http://" + address(client),
		"--advertise-client-urls=http://" + address(client),
		"--listen-peer-urls=http://" + address(peer),
		"--initial-advertise-peer-urls=http://" + address(peer),
		"--initial-cluster=etcd=http://" + address(peer),
	}
}

func apiserverArgs(dir, auditLog string, port, etcd int) []string {
	in := func(name string) string { return filepath.Join(dir, name) }
	return []string{
		"--etcd-servers=http://" + address(etcd),
		"--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", port),
		"--cert-dir=" + in("certs"),
		"--token-auth-file=" + in("tokens.csv"),
		"--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + in("accounts.pem"),
		"--service-account-signing-key-file=" + in("accounts.pem"),
		"--service-cluster-ip-range=10.96.0.0/16",
		"--disable-admission-plugins=ServiceAccount",
		"--allow-privileged=true",
		// A loopback address cannot be an endpoint.
		"--endpoint-reconciler-type=none",
		"--egress-selector-config-file=" + in("egress.yaml"),
		"--audit-policy-file=" + in("audit-policy.yaml"),
		"--audit-log-path=" + auditLog,
		// In megabytes; a log that rotates loses what came before.
		"--audit-log-maxsize=1000000",
	}
}

// writeFiles writes what the API server reads at its start and returns the
// token of each user.
func (c *Cluster) writeFiles() (map[string]string, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	accounts := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	tokens, csv := map[string]string{}, ""
	for _, user := range []string{Admin, ArgoCD} {
		random := make([]byte, 16)
		rand.Read(random)
		tokens[user] = hex.EncodeToString(random)
		csv += fmt.Sprintf("%s,%s,%s,system:masters\n", tokens[user], user, user)
	}
	egress := fmt.Sprintf(`apiVersion: apiserver.k8s.io/v1beta1
kind: EgressSelectorConfiguration
egressSelections:
- name: cluster
  connection:
    proxyProtocol: HTTPConnect
    transport: {uds: {udsName: %q}}
`, c.network.socket)
	for name, content := range map[string][]byte{
		"accounts.pem": accounts, "tokens.csv": []byte(csv), "egress.yaml": []byte(egress), "audit-policy.yaml": AuditPolicy, "audit.log": nil,
	} {
		if err := os.WriteFile(filepath.Join(c.Dir, name), content, 0o600); err != nil {
			return nil, err
		}
	}
	return tokens, nil
}

func (c *Cluster) waitUntilReady(ctx context.Context, tokens map[string]string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	if err := c.wait(ctx, func() (err error) {
		// The API server has made the certificate itself; it comes with its CA.
		c.CA, err = os.ReadFile(filepath.Join(c.Dir, "certs", "apiserver.crt"))
		return err
	}); err != nil {
		return err
	}
	c.Config = &rest.Config{
		Host: c.URL, BearerToken: tokens[Admin], QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{CAData: c.CA},
	}
	c.Token = tokens[ArgoCD]
	client, err := kubernetes.NewForConfig(c.Config)
	if err != nil {
		return fmt.Errorf("starting a cluster: %w", err)
	}
	if err := c.wait(ctx, func() error {
		return client.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
	}); err != nil {
		return err
	}
	if c.Cleaner, err = NewCleaner(ctx, c.Config, nil); err != nil {
		return err
	}
	return c.writeKubeconfig()
}

// wait repeats a check until it succeeds, as long as the servers run.
func (c *Cluster) wait(ctx context.Context, ask func() error) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ask()
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-c.etcd.Ended:
			return c.etcd.Died()
		case <-c.apiserver.Ended:
			return c.apiserver.Died()
		case <-ctx.Done():
			return fmt.Errorf("the API server does not become ready (%w); its log is %s", err, c.apiserver.Log)
		}
	}
}

func (c *Cluster) writeKubeconfig() error {
	c.Kubeconfig = filepath.Join(c.Dir, "kubeconfig")
	err := clientcmd.WriteToFile(api.Config{
		Clusters:       map[string]*api.Cluster{"e2e": {Server: c.URL, CertificateAuthorityData: c.CA}},
		AuthInfos:      map[string]*api.AuthInfo{Admin: {Token: c.Config.BearerToken}},
		Contexts:       map[string]*api.Context{"e2e": {Cluster: "e2e", AuthInfo: Admin}},
		CurrentContext: "e2e",
	}, c.Kubeconfig)
	if err != nil {
		return fmt.Errorf("writing the kubeconfig: %w", err)
	}
	return nil
}

// Route passes the API server's connections to Services to dial. Without it, they fail.
// A nil dial removes the route.
func (c *Cluster) Route(dial DialFunc) { c.network.route(dial) }

// Stop ends the servers. Their files stay in Dir.
func (c *Cluster) Stop() error {
	var errs []error
	for _, p := range []*program.Process{c.apiserver, c.etcd} {
		if p != nil {
			errs = append(errs, p.Stop())
		}
	}
	if c.network != nil {
		errs = append(errs, c.network.close())
	}
	return errors.Join(errs...)
}

func address(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
