package double

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"strings"
	"sync"
	"time"
)

// authority signs all certificates that the double issues.
type authority struct {
	certificate []byte // PEM
	parsed      *x509.Certificate
	key         *ecdsa.PrivateKey

	mu     sync.Mutex
	issued map[string]issued // by host names
}

type issued struct{ certificate, key []byte }

func newAuthority() (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making a CA: %w", err)
	}
	template := x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: UserAgent},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("making a CA: %w", err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("making a CA: %w", err)
	}
	return &authority{certificate: inPEM("CERTIFICATE", der), parsed: parsed, key: key, issued: map[string]issued{}}, nil
}

// issue signs a certificate for host names; the same one when asked again.
func (a *authority) issue(hosts []string) (issued, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	name := strings.Join(hosts, ",")
	if known, ok := a.issued[name]; ok {
		return known, nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return issued{}, err
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(int64(len(a.issued) + 2)), DNSNames: hosts,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, a.parsed, key.Public(), a.key)
	if err != nil {
		return issued{}, err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return issued{}, err
	}
	made := issued{inPEM("CERTIFICATE", der), inPEM("PRIVATE KEY", secret)}
	a.issued[name] = made
	return made, nil
}

// secret is the content of a Secret with a certificate; without what a host name
// forbids, there is none.
func (a *authority) secret(hosts []string) map[string][]byte {
	made, err := a.issue(hosts)
	if err != nil {
		return nil
	}
	return map[string][]byte{"tls.crt": made.certificate, "tls.key": made.key, "ca.crt": a.certificate}
}

// pair is a certificate for host names, to serve with.
func (a *authority) pair(hosts []string) pair {
	made, err := a.issue(hosts)
	if err != nil {
		return pair{ca: a.certificate}
	}
	certificate, err := tls.X509KeyPair(made.certificate, made.key)
	if err != nil {
		return pair{ca: a.certificate}
	}
	return pair{certificate, a.certificate}
}

func inPEM(name string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: name, Bytes: der})
}
