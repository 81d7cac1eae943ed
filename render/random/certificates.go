package random

import (
	"crypto"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"reflect"
	"text/template"
	"time"

	"github.com/Masterminds/sprig/v3"
)

// Certificate is a certificate in templates, which use its field names.
type Certificate struct {
	Cert string
	Key  string
}

// request is the request of a template for a certificate.
type request struct {
	function string
	name     string
	ips, dns []any
	days     int
	// isCA marks a certificate authority; ca is the signer, nil if self-signed; key
	// is the private key, empty to create one.
	isCA bool
	ca   *Certificate
	key  string
}

// certificates returns the functions that create certificates, with RSA-2048 keys.
func (c *Chart) certificates() template.FuncMap {
	build := reflect.ValueOf(sprig.TxtFuncMap()["buildCustomCert"])
	signed := func(function, name string, ips, dns []any, days int, by any, key string) (Certificate, error) {
		ca, err := certificateOf(by)
		if err != nil {
			return Certificate{}, err
		}
		return c.certificate(request{function: function, name: name, ips: ips, dns: dns, days: days, ca: &ca, key: key})
	}
	return template.FuncMap{
		"genCA": func(name string, days int) (Certificate, error) {
			return c.certificate(request{function: "genCA", name: name, days: days, isCA: true})
		},
		"genCAWithKey": func(name string, days int, key string) (Certificate, error) {
			return c.certificate(request{function: "genCAWithKey", name: name, days: days, isCA: true, key: key})
		},
		"genSelfSignedCert": func(name string, ips, dns []any, days int) (Certificate, error) {
			return c.certificate(request{function: "genSelfSignedCert", name: name, ips: ips, dns: dns, days: days})
		},
		"genSelfSignedCertWithKey": func(name string, ips, dns []any, days int, key string) (Certificate, error) {
			return c.certificate(request{function: "genSelfSignedCertWithKey", name: name, ips: ips, dns: dns, days: days, key: key})
		},
		"genSignedCert": func(name string, ips, dns []any, days int, by any) (Certificate, error) {
			return signed("genSignedCert", name, ips, dns, days, by, "")
		},
		"genSignedCertWithKey": func(name string, ips, dns []any, days int, by any, key string) (Certificate, error) {
			return signed("genSignedCertWithKey", name, ips, dns, days, by, key)
		},
		// This is not random, but the other functions accept its result.
		"buildCustomCert": func(cert, key string) (Certificate, error) {
			out := build.Call([]reflect.Value{reflect.ValueOf(cert), reflect.ValueOf(key)})
			if err, failed := out[1].Interface().(error); failed {
				return Certificate{}, err
			}
			return certificateOf(out[0].Interface())
		},
	}
}

// certificateOf converts any value with the fields of a Certificate.
func certificateOf(v any) (Certificate, error) {
	of := reflect.Indirect(reflect.ValueOf(v))
	if of.IsValid() && of.Kind() == reflect.Struct {
		cert, key := of.FieldByName("Cert"), of.FieldByName("Key")
		if cert.IsValid() && cert.Kind() == reflect.String && key.IsValid() && key.Kind() == reflect.String {
			return Certificate{cert.String(), key.String()}, nil
		}
	}
	return Certificate{}, fmt.Errorf("a certificate cannot be signed by a value of type %T; "+
		"fix: pass what genCA or buildCustomCert returned", v)
}

// certificate creates a certificate whose bytes are stable until it is renewed, at
// two thirds of its validity: the current period is part of what they are derived
// from. Certificates with the same validity are renewed together. A certificate is
// renewed with its authority, because the authority is one of its arguments.
func (c *Chart) certificate(r request) (Certificate, error) {
	ips, err := addresses(r.ips)
	if err != nil {
		return Certificate{}, err
	}
	dns, err := names(r.dns)
	if err != nil {
		return Certificate{}, err
	}
	begins, renews := c.validity(r.days)
	args := []any{r.name, r.ips, r.dns, r.days, r.key, int(begins.Unix())}
	if r.ca != nil {
		args = append(args, r.ca.Cert, r.ca.Key)
	}
	d := c.draw(r.function, args...)
	own, err := c.privateKey(r, d)
	if err != nil {
		return Certificate{}, err
	}
	cert := &x509.Certificate{
		SerialNumber:          new(big.Int).SetBytes(d.bytes("serial", 16)),
		Subject:               pkix.Name{CommonName: r.name},
		IPAddresses:           ips,
		DNSNames:              dns,
		NotBefore:             begins,
		NotAfter:              begins.AddDate(0, 0, r.days),
		KeyUsage:              x509.KeyUsageKeyEncipherment | x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		BasicConstraintsValid: true,
		IsCA:                  r.isCA,
	}
	if r.isCA {
		cert.KeyUsage |= x509.KeyUsageCertSign
	}
	parent, signer := cert, own
	if r.ca != nil {
		if parent, signer, err = authority(*r.ca); err != nil {
			return Certificate{}, err
		}
	}
	made, err := encode(cert, parent, own, signer)
	if err == nil && r.days > 0 {
		c.rendering.noteRenewal(Renewal{Template: c.template, Name: r.name, Renews: renews, NotAfter: cert.NotAfter})
	}
	return made, err
}

// validity returns the start of a certificate's validity and the time of its
// renewal. A certificate with zero days is not renewed.
func (c *Chart) validity(days int) (begins, renews time.Time) {
	if days <= 0 {
		return year, year
	}
	// For validities that time.Duration cannot hold, the start is renewed more
	// often than necessary.
	const most = 100 * 365
	length := time.Duration(min(days, most)) * 24 * time.Hour / 3 * 2
	begins = c.period(length)
	return begins, begins.Add(length)
}

// privateKey returns the private key that a template provides, or a derived one.
func (c *Chart) privateKey(r request, d draw) (crypto.Signer, error) {
	if r.key != "" {
		return decodeKey(r.key)
	}
	return c.rsa(2048, d)
}

// authority parses a certificate that signs others.
func authority(ca Certificate) (*x509.Certificate, crypto.Signer, error) {
	block, _ := pem.Decode([]byte(ca.Cert))
	if block == nil {
		return nil, nil, errors.New("unable to decode certificate")
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, nil, fmt.Errorf("parse the certificate of the authority: %w", err)
	}
	key, err := decodeKey(ca.Key)
	return cert, key, err
}

// encode signs a certificate. Signatures without a source of randomness are
// deterministic: RSA (PKCS #1 v1.5) and Ed25519 always are, and ECDSA follows RFC
// 6979.
func encode(cert, parent *x509.Certificate, key, signer crypto.Signer) (Certificate, error) {
	der, err := x509.CreateCertificate(nil, cert, parent, key.Public(), signer)
	if err != nil {
		return Certificate{}, fmt.Errorf("create the certificate: %w", err)
	}
	text, err := encodeKey(key)
	return Certificate{string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), text}, err
}

func addresses(texts []any) ([]net.IP, error) {
	var all []net.IP
	for _, t := range texts {
		text, ok := t.(string)
		if !ok {
			return nil, fmt.Errorf("error parsing ip: %v is not a string", t)
		}
		ip := net.ParseIP(text)
		if ip == nil {
			return nil, fmt.Errorf("error parsing ip: %s", text)
		}
		all = append(all, ip)
	}
	return all, nil
}

func names(texts []any) ([]string, error) {
	var all []string
	for _, t := range texts {
		text, ok := t.(string)
		if !ok {
			return nil, fmt.Errorf("error processing alternate dns name: %v is not a string", t)
		}
		all = append(all, text)
	}
	return all, nil
}
