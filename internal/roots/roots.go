// Package roots has the public CA certificates with it that Mozilla trusts: the image
// holds the program and nothing else.
package roots

import (
	"crypto/x509"
	"fmt"
	"sync"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// Trust gives https these certificates, where the system has none. Those of the
// system win; SSL_CERT_FILE and SSL_CERT_DIR name them. It is for each process that
// connects, and no init function, since it takes milliseconds, and most commands and
// all workers reach no network.
var Trust = sync.OnceFunc(func() {
	pool := x509.NewCertPool()
	for root := range bundle.Roots() {
		cert, err := x509.ParseCertificate(root.Certificate)
		switch {
		case err != nil:
			panic(fmt.Sprintf("an embedded CA certificate: %v", err)) // of the library; a test of cmd/cmp reads all
		case root.Constraint != nil:
			pool.AddCertWithConstraint(cert, root.Constraint)
		default:
			pool.AddCert(cert)
		}
	}
	x509.SetFallbackRoots(pool)
})
