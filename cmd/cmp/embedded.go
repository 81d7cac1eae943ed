package main

import (
	"crypto/x509"
	"fmt"
	"sync"
	_ "time/tzdata" // a worker reads no files, and the image has none: dateInZone knew UTC only

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// trustPublicRoots gives https the public CA certificates that Mozilla trusts, where
// the system has none, as in the image. Those of the system win; SSL_CERT_FILE and
// SSL_CERT_DIR name them. It is no init function, since it takes milliseconds, and most
// commands and all workers reach no network.
var trustPublicRoots = sync.OnceFunc(func() {
	pool := x509.NewCertPool()
	for root := range bundle.Roots() {
		cert, err := x509.ParseCertificate(root.Certificate)
		switch {
		case err != nil:
			panic(fmt.Sprintf("an embedded CA certificate: %v", err))
		case root.Constraint != nil:
			pool.AddCertWithConstraint(cert, root.Constraint)
		default:
			pool.AddCert(cert)
		}
	}
	x509.SetFallbackRoots(pool)
})
