// Package certificate has the requests for certificates that Traefik would make.
package certificate

import (
	"context"

	"github.com/go-acme/lego/v5/certcrypto"
)

// Resource is a certificate.
type Resource struct {
	ID          string
	Domains     []string
	PrivateKey  []byte
	Certificate []byte
}

// ObtainRequest asks for a certificate.
type ObtainRequest struct {
	Domains          []string
	Bundle           bool
	EmailAddresses   []string
	Profile          string
	PreferredChain   string
	EnableCommonName bool
	KeyType          certcrypto.KeyType
}

// RenewOptions asks for a certificate again.
type RenewOptions struct {
	Bundle           bool
	EmailAddresses   []string
	Profile          string
	PreferredChain   string
	EnableCommonName bool
}

// Certifier would ask for certificates. No client has one.
type Certifier struct{}

// Obtain is never called.
func (*Certifier) Obtain(context.Context, ObtainRequest) (*Resource, error) { return nil, nil }

// Renew is never called.
func (*Certifier) Renew(context.Context, Resource, *RenewOptions) (*Resource, error) { return nil, nil }
