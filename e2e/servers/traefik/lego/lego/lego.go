// Package lego stands for the ACME client of Traefik, which compiles the clients of a
// hundred DNS providers, of whom the module proxy lacks several. It has what Traefik
// calls of it and asks no server: a Traefik with a certificate resolver says so in its
// log, and one without never calls it.
package lego

import (
	"crypto/x509"
	"errors"
	"net/http"
	"time"

	"github.com/go-acme/lego/v5/certificate"
	"github.com/go-acme/lego/v5/challenge"
	"github.com/go-acme/lego/v5/registration"
)

// DirectoryURLLetsEncrypt is the server that Traefik's configuration names by default.
const DirectoryURLLetsEncrypt = "https://acme-v02.api.letsencrypt.org/directory"

// Config is the configuration of a client.
type Config struct {
	CADirURL    string
	UserAgent   string
	HTTPClient  *http.Client
	Certificate CertificateConfig
}

// CertificateConfig says how certificates are asked for.
type CertificateConfig struct{ Timeout time.Duration }

// Client would ask an ACME server.
type Client struct {
	Certificate  *certificate.Certifier
	Challenge    *challenge.Solvers
	Registration *registration.Registrar
}

// NewConfig returns an empty configuration.
func NewConfig(any) *Config { return &Config{} }

// NewClient always fails.
func NewClient(*Config) (*Client, error) {
	return nil, errors.New("this Traefik is built without ACME; fix: use certificates that are there already")
}

// CreateCertPool always fails.
func CreateCertPool([]string, bool) (*x509.CertPool, error) {
	return nil, errors.New("this Traefik is built without ACME")
}
