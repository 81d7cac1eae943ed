package fetch

import (
	"crypto/x509"
	"fmt"
	"sync"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// TrustPublicRoots makes TLS trust these certificates if the system has none. The system's
// certificates take precedence; SSL_CERT_FILE and SSL_CERT_DIR locate them. It must
// be called in each process that connects. It is not an init function, since it
// takes milliseconds, and most commands and all workers use no network.
var TrustPublicRoots = sync.OnceFunc(func() {
	pool := x509.NewCertPool()
	for root := range bundle.Roots() {
		cert, err := x509.ParseCertificate(root.Certificate)
		switch {
		case err != nil:
			panic(fmt.Sprintf("an embedded CA certificate: %v", err)) // of the library; a test of cmd/cmp parses all
		case root.Constraint != nil:
			pool.AddCertWithConstraint(cert, root.Constraint)
		default:
			pool.AddCert(cert)
		}
	}
	x509.SetFallbackRoots(pool)
})
