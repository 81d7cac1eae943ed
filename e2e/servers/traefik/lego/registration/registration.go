// Package registration has the accounts that Traefik would open.
package registration

import (
	"context"

	"github.com/go-acme/lego/v5/acme"
)

// RegisterOptions opens an account.
type RegisterOptions struct{ TermsOfServiceAgreed bool }

// RegisterEABOptions opens an account that is bound to another.
type RegisterEABOptions struct {
	TermsOfServiceAgreed bool
	Kid                  string
	HmacEncoded          string
}

// Registrar would open accounts. No client has one.
type Registrar struct{}

// Register is never called.
func (*Registrar) Register(context.Context, RegisterOptions) (*acme.ExtendedAccount, error) {
	return nil, nil
}

// RegisterWithExternalAccountBinding is never called.
func (*Registrar) RegisterWithExternalAccountBinding(context.Context, RegisterEABOptions) (*acme.ExtendedAccount, error) {
	return nil, nil
}
