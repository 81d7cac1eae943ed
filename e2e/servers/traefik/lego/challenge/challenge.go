// Package challenge has the challenges that Traefik would answer.
package challenge

import "context"

// Provider answers a challenge.
type Provider interface {
	Present(ctx context.Context, domain, token, keyAuth string) error
	CleanUp(ctx context.Context, domain, token, keyAuth string) error
}

// Option changes how a challenge is met.
type Option func()

// Solvers would meet challenges. No client has one.
type Solvers struct{}

// SetDNS01Provider is never called.
func (*Solvers) SetDNS01Provider(Provider, ...Option) error { return nil }

// SetHTTP01Provider is never called.
func (*Solvers) SetHTTP01Provider(Provider, ...Option) error { return nil }

// SetTLSALPN01Provider is never called.
func (*Solvers) SetTLSALPN01Provider(Provider, ...Option) error { return nil }
