package random

import (
	"crypto"
	//lint:ignore SA1019 charts can ask for such keys
	"crypto/dsa"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/x509"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// Keys caches RSA keys and bcrypt hashes, each of which takes as long to derive as the
// rest of a chart. The cache keys are derived from the secret of the Application, too.
type Keys struct {
	mu  sync.Mutex
	all *simplelru.LRU[string, any]
}

// NewKeys returns a cache for the given number of recently used keys.
func NewKeys(count int) *Keys {
	all, err := simplelru.NewLRU[string, any](count, nil)
	if err != nil {
		panic(err) // a count of 0
	}
	return &Keys{all: all}
}

// cached returns what is cached under a name, or derives it. No two values of different types have
// the same name.
func cached[T any](k *Keys, name string, derive func() (T, error)) (T, error) {
	if k == nil {
		return derive()
	}
	k.mu.Lock()
	value, known := k.all.Get(name)
	k.mu.Unlock()
	if known {
		return value.(T), nil
	}
	derived, err := derive()
	if err == nil {
		k.mu.Lock()
		k.all.Add(name, derived)
		k.mu.Unlock()
	}
	return derived, err
}

// draw is a call whose value is read from several streams.
type draw struct {
	chart    *Chart
	identity []string
}

func (c *Chart) draw(function string, args ...any) draw {
	c.note(function)
	return draw{c, c.identity(function, args...)}
}

func (d draw) bytes(of string, count int) []byte {
	return d.chart.rendering.source.Key.Stream(append(d.identity, of)...).Bytes(count)
}

// name is that of the call's value in Keys.
func (d draw) name() string { return string(d.bytes("name", 32)) }

func (c *Chart) rsa(bits int, d draw) (crypto.Signer, error) {
	source := c.rendering.source
	if source.OnlyCompared {
		return source.Key.Stream(append(d.identity, "key")...).ECDSA()
	}
	return cached(source.Keys, d.name(), func() (*rsa.PrivateKey, error) {
		return source.Key.Stream(append(d.identity, "key")...).RSA(bits)
	})
}

// dsaKey is the encoding of a DSA key (OpenSSL's traditional form).
type dsaKey struct {
	Version       int
	P, Q, G, Y, X *big.Int
}

// encodeKey encodes a private key like Helm's functions.
func encodeKey(key any) (string, error) {
	var block *pem.Block
	switch k := key.(type) {
	case *rsa.PrivateKey:
		block = &pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(k)}
	case *ecdsa.PrivateKey:
		der, err := x509.MarshalECPrivateKey(k)
		if err != nil {
			return "", err
		}
		block = &pem.Block{Type: "EC PRIVATE KEY", Bytes: der}
	case *dsa.PrivateKey:
		der, err := asn1.Marshal(dsaKey{0, k.P, k.Q, k.G, k.Y, k.X})
		if err != nil {
			return "", err
		}
		block = &pem.Block{Type: "DSA PRIVATE KEY", Bytes: der}
	default:
		der, err := x509.MarshalPKCS8PrivateKey(k)
		if err != nil {
			return "", err
		}
		block = &pem.Block{Type: "PRIVATE KEY", Bytes: der}
	}
	return string(pem.EncodeToMemory(block)), nil
}

// decodeKey decodes a private key that can sign certificates.
func decodeKey(text string) (crypto.Signer, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errors.New("no PEM data in input")
	}
	var key any
	var err error
	switch kind := strings.TrimSuffix(block.Type, "PRIVATE KEY"); kind {
	case "":
		key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	case "RSA ":
		key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	case "EC ":
		key, err = x509.ParseECPrivateKey(block.Bytes)
	default:
		return nil, fmt.Errorf("certificates cannot be made with a PEM block of type %s", block.Type)
	}
	if err != nil {
		return nil, fmt.Errorf("decode the private key: %w", err)
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("a private key of type %T cannot sign", key)
	}
	return signer, nil
}
