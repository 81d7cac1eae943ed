package node

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// writePKI writes the certificates of a control plane to dir: a CA, the API server's
// certificate, the front proxy's (for aggregated APIs) and the key that signs tokens. Each
// machine gets the certificate of its kubelet. It returns the CA's certificate as PEM.
func writePKI(dir string, machines []*machine) ([]byte, error) {
	caKey, err := newKey()
	if err != nil {
		return nil, err
	}
	ca, err := cert.NewSelfSignedCACert(cert.Config{CommonName: "node-ca"}, caKey)
	if err != nil {
		return nil, err
	}
	server := &x509.Certificate{
		Subject:     pkix.Name{CommonName: "kube-apiserver"},
		DNSNames:    []string{"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local", "localhost"},
		IPAddresses: []net.IP{net.ParseIP("10.96.0.1"), net.ParseIP(nodeAddress), net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	proxy := &x509.Certificate{
		Subject:     pkix.Name{CommonName: "front-proxy"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	// Programs that check tokens by themselves expect RSA, as most clusters have it.
	tokens, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	for _, write := range []func() error{
		func() error { return writePair(dir, "ca", ca.Raw, caKey) },
		func() error { return issue(dir, "apiserver", server, ca, caKey) },
		func() error { return issue(dir, "front-proxy", proxy, ca, caKey) },
		func() error { return writeKey(filepath.Join(dir, "accounts.key"), tokens) },
	} {
		if err := write(); err != nil {
			return nil, err
		}
	}
	for _, m := range machines {
		if err := m.writeCertificate(ca, caKey); err != nil {
			return nil, err
		}
	}
	return os.ReadFile(filepath.Join(dir, "ca.crt"))
}

// writeCertificate writes the kubelet's certificate.
func (m *machine) writeCertificate(ca *x509.Certificate, caKey crypto.Signer) error {
	if err := os.MkdirAll(m.file("pki"), 0o755); err != nil {
		return err
	}
	return issue(m.file("pki"), "kubelet", &x509.Certificate{
		Subject:     pkix.Name{CommonName: "kubelet"},
		DNSNames:    []string{m.name},
		IPAddresses: []net.IP{net.ParseIP(m.address)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, ca, caKey)
}

// newKey makes a key that takes no time, unlike RSA's.
func newKey() (*ecdsa.PrivateKey, error) { return ecdsa.GenerateKey(elliptic.P256(), rand.Reader) }

// issue writes a certificate of a CA, and its key.
func issue(dir, name string, template, ca *x509.Certificate, caKey crypto.Signer) error {
	key, err := newKey()
	if err != nil {
		return err
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, big.NewInt(1<<62)); err != nil {
		return err
	}
	template.NotBefore = time.Now().Add(-time.Hour)
	template.NotAfter = time.Now().Add(30 * 24 * time.Hour)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, ca, key.Public(), caKey)
	if err != nil {
		return err
	}
	return writePair(dir, name, der, key)
}

func writePair(dir, name string, der []byte, key crypto.Signer) error {
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		return err
	}
	text, err := cert.EncodeCertificates(parsed)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, name+".crt"), text, 0o600); err != nil {
		return err
	}
	return writeKey(filepath.Join(dir, name+".key"), key)
}

func writeKey(file string, key crypto.Signer) error {
	text, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o600)
}
