package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// keys are what a webhook serves with.
type keys struct {
	ca     []byte // certificate in PEM; nil if it is somebody else's
	server tls.Certificate
	data   map[string][]byte // as in the Secret
}

// makeKeys makes a CA and a certificate for a host, good for a year.
func makeKeys(host string, now time.Time) (keys, error) {
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "beacon-ca"}, IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(1, 0, 0),
	}
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return keys{}, err
	}
	caBytes, err := x509.CreateCertificate(rand.Reader, ca, ca, caKey.Public(), caKey)
	if err != nil {
		return keys{}, err
	}
	server := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: host}, DNSNames: []string{host},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		NotBefore: ca.NotBefore, NotAfter: ca.NotAfter,
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return keys{}, err
	}
	serverBytes, err := x509.CreateCertificate(rand.Reader, server, ca, key.Public(), caKey)
	if err != nil {
		return keys{}, err
	}
	keyBytes, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return keys{}, err
	}
	return keysFrom(map[string][]byte{
		"ca.crt":  pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: caBytes}),
		"tls.crt": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: serverBytes}),
		"tls.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyBytes}),
	})
}

// keysOf reads a Secret. One without data gives no keys.
func keysOf(secret *unstructured.Unstructured) (keys, error) {
	text, _, _ := unstructured.NestedStringMap(secret.Object, "data")
	if len(text) == 0 {
		return keys{}, nil
	}
	data := map[string][]byte{}
	for name, value := range text {
		decoded, err := base64.StdEncoding.DecodeString(value)
		if err != nil {
			return keys{}, fmt.Errorf("data.%s: %w", name, err)
		}
		data[name] = decoded
	}
	return keysFrom(data)
}

func keysFrom(data map[string][]byte) (keys, error) {
	server, err := tls.X509KeyPair(data["tls.crt"], data["tls.key"])
	if err != nil {
		return keys{}, fmt.Errorf("tls.crt and tls.key: %w", err)
	}
	return keys{ca: data["ca.crt"], server: server, data: data}, nil
}

func (k keys) secret(name string) map[string]any {
	data := map[string]any{}
	for key, value := range k.data {
		data[key] = base64.StdEncoding.EncodeToString(value)
	}
	return map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": name}, "data": data}
}
