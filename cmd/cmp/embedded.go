package main

// The image holds the program and nothing else, and a worker reads no files. So the
// program has with it what Go looks for in the system:
import (
	// Public CA certificates, for https. Those of the system win, where it has any
	// (SSL_CERT_FILE and SSL_CERT_DIR name them).
	_ "golang.org/x/crypto/x509roots/fallback"
	// Time zones, for templates: without them dateInZone means UTC.
	_ "time/tzdata"
)
